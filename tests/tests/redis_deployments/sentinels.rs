//! Sentinels fail over while leases are held.

use std::time::Duration;

use idem_redis::{ConnectError, RedisBackend};
use idem_runtime::{ErrorKind, Source};
use idem_tests::{RedisSentinels, RedisServer, eventually};
use tokio::task::block_in_place;
use tokio::time::Instant;

use crate::kit::{LONG, connect_to, process_with};

/// A failover takes one to five seconds here; the lease leaves room for a busy machine.
const LEASE: Duration = Duration::from_secs(30);

/// How a master is lost.
#[derive(Clone, Copy, PartialEq)]
enum Loss {
    Killed,
    StandsStill,
    Demoted,
}

/// A lease is held across the failover, outcomes are there after it, calls meanwhile fail with
/// `Backend` within their time, and nothing has to be restarted.
async fn a_master_is_lost(how: Loss) {
    let mut deployment = RedisSentinels::start();
    let process = process_with(connect_to(&deployment.url()).await, |builder| builder.lease(LEASE));
    let impatient = process_with(connect_to(&deployment.url()).await, |builder| {
        builder.store_timeout(Duration::from_millis(500))
    });
    assert!(process.call("before", 1).await.unwrap().stored);
    let held = process.call_until("held", 2, async {
        block_in_place(|| deployment.wait_for_replicas());
        block_in_place(|| match how {
            Loss::Killed => deployment.kill_master(),
            Loss::StandsStill => deployment.master().pause(),
            Loss::Demoted => {}
        });
        if how != Loss::Demoted {
            let start = Instant::now();
            let lost = impatient.call("meanwhile", 3).await;
            // Half a second of the call, a second each to connect and to answer, and the rest for a
            // busy machine. Where the sentinels were as quick, it has gone well.
            assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
            let kind = lost.map(|outcome| outcome.stored).map_err(|error| error.kind());
            assert!(matches!(kind, Ok(true) | Err(ErrorKind::Backend)), "{kind:?}");
        }
        block_in_place(|| match how {
            Loss::Demoted => deployment.fail_over(),
            _ => deployment.wait_for_another_master(),
        });
        let renewed = process.events.count("renewed");
        eventually("the lease is renewed", || process.events.count("renewed") > renewed).await;
    });
    let held = held.await.unwrap();
    assert!(held.stored && !held.lapsed, "{held:?}");
    for (key, value) in [("before", 1), ("held", 2)] {
        let replayed = impatient.call(key, 9).await.unwrap();
        assert_eq!((replayed.value, replayed.source), (value, Source::Replayed));
    }
    assert!(impatient.call("after", 4).await.unwrap().stored);
    let on_master: u64 = deployment.master().ask(&["EXISTS", "shop:charge:after"]);
    assert_eq!(on_master, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_is_killed() {
    a_master_is_lost(Loss::Killed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_stands_still() {
    a_master_is_lost(Loss::StandsStill).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_is_demoted() {
    a_master_is_lost(Loss::Demoted).await;
}

/// A sentinel by itself, and the address by it.
fn sentinel_of(master: &RedisServer) -> (RedisServer, String) {
    let sentinel = RedisServer::start_with(&["--sentinel"]);
    monitor(&sentinel, master);
    let url = format!("redis-sentinel://127.0.0.1:{}?master=shop", sentinel.port());
    (sentinel, url)
}

fn monitor(sentinel: &RedisServer, master: &RedisServer) {
    let port = master.port().to_string();
    let _: String = sentinel.ask(&["SENTINEL", "MONITOR", "shop", "127.0.0.1", &port, "1"]);
}

/// A sentinel that has not heard of a failover yet is not believed.
#[tokio::test]
async fn a_server_that_is_named_and_is_no_master() {
    let master = RedisServer::start();
    let of_master = format!("127.0.0.1 {}", master.port());
    let replica = RedisServer::start_with(&["--replicaof", &of_master]);
    let (_behind, behind) = sentinel_of(&replica);
    let error = RedisBackend::connect(&behind).await.unwrap_err().to_string();
    assert!(error.contains("which is no master now"), "{error}");
    // Another one that knows better is enough.
    let (knows, _) = sentinel_of(&master);
    let both = behind.replace('?', &format!(",127.0.0.1:{}?", knows.port()));
    let process = process_with(connect_to(&both).await, |builder| builder);
    assert!(process.call("a", 1).await.unwrap().stored);
    let there: u64 = master.ask(&["EXISTS", "shop:charge:a"]);
    assert_eq!(there, 1);
}

/// A sentinel that is cut off from the others names a master that is not there any more: who looks for
/// the master does not wait for it.
#[tokio::test]
async fn a_server_that_is_named_and_stands_still() {
    let (gone, master) = (RedisServer::start(), RedisServer::start());
    let ((_cut_off, url), (knows, _)) = (sentinel_of(&gone), sentinel_of(&master));
    gone.pause();
    let both = url.replace('?', &format!(",127.0.0.1:{}?", knows.port()));
    // The one that is cut off may be the first to answer, or the second.
    for _ in 0..5 {
        let start = Instant::now();
        let patient = RedisBackend::builder(&*both).connect_timeout(LONG);
        patient.connect().await.unwrap();
        assert!(start.elapsed() < LONG / 4, "{:?}", start.elapsed());
    }
    gone.resume();
}

/// Sentinels close the connections to a master that they demote. Where somebody else demotes it, its
/// refusal to write is what tells that there is another.
#[tokio::test]
async fn a_master_is_demoted_by_hand() {
    let (old, new) = (RedisServer::start(), RedisServer::start());
    let (sentinel, url) = sentinel_of(&old);
    let process = process_with(connect_to(&url).await, |builder| builder);
    assert!(process.call("before", 1).await.unwrap().stored);
    let _: String = sentinel.ask(&["SENTINEL", "REMOVE", "shop"]);
    monitor(&sentinel, &new);
    let _: String = old.ask(&["REPLICAOF", "127.0.0.1", &new.port().to_string()]);
    assert!(process.call("after", 2).await.unwrap().stored);
    let there: u64 = new.ask(&["EXISTS", "shop:charge:after"]);
    assert_eq!(there, 1);
}

/// A sentinel that is gone, or that does not answer, costs nothing.
#[tokio::test]
async fn sentinels_that_are_away() {
    let mut deployment = RedisSentinels::start();
    let url = deployment.url();
    deployment.sentinels()[0].kill();
    deployment.sentinels()[1].pause();
    let start = Instant::now();
    let patient = RedisBackend::builder(&*url).connect_timeout(LONG).command_timeout(LONG);
    let process = process_with(patient.connect().await.unwrap(), |builder| builder);
    // A fraction of what waiting for the one that stands still would take.
    assert!(start.elapsed() < LONG / 4, "{:?}", start.elapsed());
    assert!(process.call("a", 1).await.unwrap().stored);
    deployment.sentinels()[2].kill();
    let error = RedisBackend::connect(&url).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    // Who is connected to the master does not need them.
    assert_eq!(process.call("a", 2).await.unwrap().source, Source::Replayed);
    deployment.sentinels()[1].resume();
}

/// A user of the sentinels, and another one of the servers.
#[tokio::test]
async fn sentinels_have_users_of_their_own() {
    let mut deployment = RedisSentinels::start();
    for sentinel in deployment.sentinels() {
        let right = "+sentinel|get-master-addr-by-name";
        let _: String = sentinel.ask(&["ACL", "SETUSER", "asks", "on", ">who", right]);
    }
    let user = ["ACL", "SETUSER", "idem", "on", ">secret", "~*", "&*", "+@all"];
    let _: String = deployment.master().ask(&user);
    let url = deployment.url().replace("://", "://idem:secret@").replace("/?", "/2?");
    let process = connect_to(&format!("{url}&sentinel_user=asks&sentinel_password=who")).await;
    let process = process_with(process, |builder| builder);
    assert!(process.call("a", 1).await.unwrap().stored);
    let keyspace: String = deployment.master().ask(&["INFO", "keyspace"]);
    assert!(keyspace.contains("db2:keys=1"), "{keyspace}");
    let wrong = format!("{url}&sentinel_user=asks&sentinel_password=what");
    let error = RedisBackend::connect(&wrong).await.unwrap_err();
    assert!(error.to_string().contains("authentication failed"), "{error}");
    assert!(!error.to_string().contains("what"), "{error}");
}

#[tokio::test]
async fn a_master_that_nobody_knows_is_told_by_name() {
    let deployment = RedisSentinels::start();
    let url = deployment.url().replace("master=shop", "master=shelf");
    let error = RedisBackend::connect(&url).await.unwrap_err().to_string();
    assert!(error.contains("know no master named `shelf`"), "{error}");
    let port = deployment.master().port();
    let no_sentinel = format!("redis-sentinel://127.0.0.1:{port}?master=shop");
    let error = RedisBackend::connect(&no_sentinel).await.unwrap_err().to_string();
    assert!(error.contains("SENTINEL"), "{error}");
}
