//! A real Redis Cluster of a test's own: three masters, three replicas.

use std::thread::sleep;
use std::time::{Duration, Instant};

use redis::{Value, from_redis_value_ref};

use crate::{RedisServer, free_port};

/// Longer than a cluster takes to form or to fail over on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const SLOTS: u16 = 16_384;
const MASTERS: usize = 3;

/// A running cluster. Dropping it stops its nodes.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<RedisServer>,
}

impl RedisCluster {
    /// Three masters with a third of the slots each, and a replica of each. A master that does not
    /// answer for a second is held to be lost.
    ///
    /// # Panics
    /// If it does not form.
    #[must_use]
    pub fn start() -> Self {
        Self::start_of((0..2 * MASTERS).map(|_| node(&[])).collect())
    }

    /// The same with more settings of each node, made anew for each.
    ///
    /// # Panics
    /// If it does not form.
    #[must_use]
    pub fn start_with(settings: impl Fn() -> Vec<String>) -> Self {
        let node = |_| {
            let settings = settings();
            node(&settings.iter().map(String::as_str).collect::<Vec<_>>())
        };
        Self::start_of((0..2 * MASTERS).map(node).collect())
    }

    fn start_of(nodes: Vec<RedisServer>) -> Self {
        let cluster = Self { nodes };
        cluster.introduce();
        cluster.give_slots();
        cluster.give_replicas();
        cluster.wait_until("it has formed", Self::is_whole);
        cluster
    }

    /// Its address, by all its nodes.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("default", "")
    }

    /// Its address for a user of the nodes' access control lists.
    #[must_use]
    pub fn url_of(&self, user: &str, password: &str) -> String {
        let hosts: Vec<_> =
            self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        format!("redis-cluster://{user}:{password}@{}", hosts.join(","))
    }

    /// The nodes; the first three were the masters at first.
    #[must_use]
    pub fn nodes(&self) -> &[RedisServer] {
        &self.nodes
    }

    /// The node whose slots a record's is among, by its place.
    #[must_use]
    pub fn master_of(&self, record: &str) -> usize {
        let slot: u16 = self.alive().ask(&["CLUSTER", "KEYSLOT", record]);
        self.of_slot(slot)
    }

    /// The node that has a slot, by its place.
    ///
    /// # Panics
    /// If none of them has it.
    #[must_use]
    pub fn of_slot(&self, slot: u16) -> usize {
        let port = ranges(self.alive())
            .into_iter()
            .find_map(|(first, last, port)| (first..=last).contains(&slot).then_some(port));
        let place = self.nodes.iter().position(|node| Some(node.port()) == port);
        place.unwrap_or_else(|| panic!("nobody has slot {slot}"))
    }

    /// Begins to move a slot to another master: from now on what is not there yet is sent on.
    pub fn begin_to_move(&self, slot: u16, to: usize) {
        let from = self.of_slot(slot);
        let (from_id, to_id) = (self.id(from), self.id(to));
        let slot = slot.to_string();
        let _: String = self.nodes[to].ask(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]);
        let _: String = self.nodes[from].ask(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id]);
    }

    /// Moves the records of a slot that [`Self::begin_to_move`] has been called for.
    pub fn move_records(&self, slot: u16, to: usize) {
        let from = &self.nodes[self.of_slot(slot)];
        let port = self.nodes[to].port().to_string();
        loop {
            let records: Vec<Vec<u8>> =
                from.ask(&["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "100"]);
            if records.is_empty() {
                return;
            }
            let records: Vec<String> =
                records.into_iter().map(|record| String::from_utf8_lossy(&record).into()).collect();
            let mut command = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
            command.extend(records.iter().map(String::as_str));
            let _: String = from.ask(&command);
        }
    }

    /// Ends the move of a slot.
    pub fn end_to_move(&self, slot: u16, to: usize) {
        let (from, to_id) = (self.of_slot(slot), self.id(to));
        for node in [to, from].into_iter().chain(0..self.nodes.len()) {
            // Replicas refuse it, and learn of it from their master.
            if self.nodes[node].is_running() && self.is_master(node) {
                let _: String = self.nodes[node].ask(&[
                    "CLUSTER",
                    "SETSLOT",
                    &slot.to_string(),
                    "NODE",
                    &to_id,
                ]);
            }
        }
    }

    /// The slots of records.
    #[must_use]
    pub fn slots_of(&self, records: &[String]) -> Vec<u16> {
        self.alive().ask_each(&["CLUSTER", "KEYSLOT"], records)
    }

    /// A master without slots or a replica more; its place.
    pub fn add_master(&mut self) -> usize {
        self.nodes.push(node(&[]));
        let place = self.nodes.len() - 1;
        self.meet(place);
        self.wait_until("all know the new one", |cluster| cluster.all_know(place + 1));
        place
    }

    /// Kills a node.
    pub fn kill(&mut self, node: usize) {
        self.nodes[node].kill();
    }

    /// Waits until replicas have all that their masters have.
    pub fn wait_for_replicas(&self) {
        for node in &self.nodes[..MASTERS] {
            node.wait_for_replicas(1);
        }
    }

    /// Waits until a replica has taken over the slots of a node.
    pub fn wait_for_failover(&self, node: usize) {
        self.wait_until("a replica has taken over", |cluster| {
            let lost = cluster.nodes[node].port();
            ranges(cluster.alive()).iter().all(|(_, _, port)| *port != lost)
                && cluster.nodes.iter().filter(|node| node.is_running()).all(is_ok)
        });
    }

    /// Whether a node is a master.
    #[must_use]
    pub fn is_master(&self, node: usize) -> bool {
        let info: String = self.nodes[node].ask(&["INFO", "replication"]);
        info.contains("role:master")
    }

    fn id(&self, node: usize) -> String {
        self.nodes[node].ask(&["CLUSTER", "MYID"])
    }

    fn alive(&self) -> &RedisServer {
        let alive = self.nodes.iter().find(|node| node.is_running());
        alive.unwrap_or_else(|| panic!("no node is running"))
    }

    fn introduce(&self) {
        for (epoch, node) in self.nodes.iter().enumerate() {
            let epoch = (epoch + 1).to_string();
            let _: String = node.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]);
        }
        for node in 1..self.nodes.len() {
            self.meet(node);
        }
        self.wait_until("all know each other", |cluster| cluster.all_know(2 * MASTERS));
    }

    fn meet(&self, node: usize) {
        let (first, node) = (&self.nodes[0], &self.nodes[node]);
        let (_, bus): (String, String) = node.ask(&["CONFIG", "GET", "cluster-port"]);
        // Where it speaks encrypted with the others, that is its port to them.
        let (_, encrypted): (String, u16) = node.ask(&["CONFIG", "GET", "tls-port"]);
        let port = if encrypted == 0 { node.port() } else { encrypted }.to_string();
        let _: String = first.ask(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
    }

    fn all_know(&self, count: usize) -> bool {
        self.nodes.iter().all(|node| {
            let known: String = node.ask(&["CLUSTER", "NODES"]);
            known.lines().filter(|line| !line.contains("handshake")).count() == count
        })
    }

    fn give_slots(&self) {
        let share = SLOTS / 3;
        for (nth, master) in (0..).zip(&self.nodes[..MASTERS]) {
            let (first, last) =
                (nth * share, if nth == 2 { SLOTS - 1 } else { (nth + 1) * share - 1 });
            let _: String =
                master.ask(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]);
        }
    }

    fn give_replicas(&self) {
        for (master, replica) in self.nodes[MASTERS..].iter().enumerate() {
            let _: String = replica.ask(&["CLUSTER", "REPLICATE", &self.id(master)]);
        }
    }

    fn is_whole(&self) -> bool {
        let in_sync = |node: &RedisServer| {
            let info: String = node.ask(&["INFO", "replication"]);
            info.contains("master_link_status:up")
        };
        self.nodes.iter().all(is_ok) && self.nodes[MASTERS..].iter().all(in_sync)
    }

    fn wait_until(&self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while !condition(self) {
            assert!(start.elapsed() < PATIENCE, "the cluster: not in a minute: {what}");
            sleep(Duration::from_millis(20));
        }
    }
}

fn node(settings: &[&str]) -> RedisServer {
    let bus = free_port().to_string();
    let of_cluster = ["--cluster-enabled", "yes", "--cluster-port", &bus];
    let in_time = ["--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0"];
    RedisServer::start_with(&[&of_cluster, &in_time, settings].concat())
}

/// The ranges of slots that are served, and the port of who serves them.
fn ranges(node: &RedisServer) -> Vec<(u16, u16, u16)> {
    // With each range come its replicas, in any number.
    let ranges: Vec<Vec<Value>> = node.ask(&["CLUSTER", "SLOTS"]);
    let read = |range: &Vec<Value>| {
        let [first, last, master, ..] = range.as_slice() else { return None };
        let Value::Array(master) = master else { return None };
        let number = |value: &Value| from_redis_value_ref(value).ok();
        Some((number(first)?, number(last)?, number(master.get(1)?)?))
    };
    ranges.iter().filter_map(read).collect()
}

fn is_ok(node: &RedisServer) -> bool {
    let info: String = node.ask(&["CLUSTER", "INFO"]);
    info.contains("cluster_state:ok")
}
