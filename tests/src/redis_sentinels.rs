//! A real deployment with sentinels of a test's own: one master, two replicas, three sentinels.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::RedisServer;

/// Longer than a failover takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The name of the master.
const MASTER: &str = "shop";

/// A running deployment. Dropping it stops everything.
#[derive(Debug)]
pub struct RedisSentinels {
    servers: Vec<RedisServer>,
    sentinels: Vec<RedisServer>,
}

impl RedisSentinels {
    /// A master, two replicas in sync, and three sentinels that know of each other. A master that
    /// does not answer for a second is held to be lost.
    ///
    /// # Panics
    /// If it does not come about.
    #[must_use]
    pub fn start() -> Self {
        let master = RedisServer::start_with(&["--repl-diskless-sync-delay", "0"]);
        let of_master = format!("127.0.0.1 {}", master.port());
        let replica = || {
            RedisServer::start_with(&["--replicaof", &of_master, "--repl-diskless-sync-delay", "0"])
        };
        let servers = vec![replica(), replica()];
        let sentinels = (0..3).map(|_| sentinel(&master)).collect();
        let servers = std::iter::once(master).chain(servers).collect();
        let deployment = Self { servers, sentinels };
        deployment.wait_until("replicas and sentinels are known", Self::is_whole);
        deployment
    }

    /// Its address, by all its sentinels.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts: Vec<_> =
            self.sentinels.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        format!("redis-sentinel://{}/?master={MASTER}", hosts.join(","))
    }

    /// The sentinels.
    #[must_use]
    pub fn sentinels(&mut self) -> &mut [RedisServer] {
        &mut self.sentinels
    }

    /// The server that the sentinels hold for the master.
    #[must_use]
    pub fn master(&self) -> &RedisServer {
        &self.servers[self.named()]
    }

    /// Waits until both replicas have all that the master has.
    pub fn wait_for_replicas(&self) {
        self.master().wait_for_replicas(2);
    }

    /// Kills the master.
    pub fn kill_master(&mut self) {
        let master = self.named();
        self.servers[master].kill();
    }

    /// Waits until the sentinels name another master than the first, which is lost.
    pub fn wait_for_another_master(&self) {
        self.wait_until("another master is named", |deployment| {
            deployment.named() != 0 && role(deployment.master()) == "master"
        });
    }

    /// Has the sentinels name another master while the old one is well.
    pub fn fail_over(&self) {
        let old = self.named();
        // Sentinels that have just failed over refuse to do so again for a while.
        let _: String = self.sentinels[0].ask(&["SENTINEL", "FAILOVER", MASTER]);
        self.wait_until("another master is named", |deployment| {
            // Not asked of the old one, whose connections the sentinels close when they tell it.
            deployment.named() != old && follows(&deployment.servers[old], deployment.master())
        });
    }

    fn named(&self) -> usize {
        let sentinel = self.sentinels.iter().find(|sentinel| sentinel.is_running());
        let sentinel = sentinel.unwrap_or_else(|| panic!("no sentinel is running"));
        let (_, port): (String, u16) =
            sentinel.ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER]);
        let place = self.servers.iter().position(|server| server.port() == port);
        place.unwrap_or_else(|| panic!("no server is at {port}"))
    }

    fn is_whole(&self) -> bool {
        self.sentinels.iter().all(|sentinel| {
            let info: String = sentinel.ask(&["INFO", "sentinel"]);
            info.contains("status=ok") && info.contains("slaves=2,sentinels=3")
        }) && self.servers[1..].iter().all(|server| {
            let info: String = server.ask(&["INFO", "replication"]);
            info.contains("master_link_status:up")
        })
    }

    fn wait_until(&self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while !condition(self) {
            assert!(start.elapsed() < PATIENCE, "the sentinels: not in a minute: {what}");
            sleep(Duration::from_millis(20));
        }
    }
}

fn sentinel(master: &RedisServer) -> RedisServer {
    let sentinel = RedisServer::start_with(&["--sentinel"]);
    let port = master.port().to_string();
    let _: String = sentinel.ask(&["SENTINEL", "MONITOR", MASTER, "127.0.0.1", &port, "2"]);
    for (setting, value) in
        [("down-after-milliseconds", "1000"), ("failover-timeout", "5000"), ("parallel-syncs", "2")]
    {
        let _: String = sentinel.ask(&["SENTINEL", "SET", MASTER, setting, value]);
    }
    sentinel
}

fn role(server: &RedisServer) -> String {
    let role: Vec<redis::Value> = server.ask(&["ROLE"]);
    role.first().and_then(|role| redis::from_redis_value_ref(role).ok()).unwrap_or_default()
}

/// Whether a server is a replica that `master` knows of.
fn follows(server: &RedisServer, master: &RedisServer) -> bool {
    let info: String = master.ask(&["INFO", "replication"]);
    let is_known = format!("port={},state=online", server.port());
    info.lines().any(|line| line.starts_with("slave") && line.contains(&is_known))
}
