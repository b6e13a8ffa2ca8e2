//! A cluster in which nothing happens: where commands go, what they cost, and who is told.

use std::time::Duration;

use futures_util::future::join_all;
use idem_redis::{ConnectError, RedisBackend};
use idem_runtime::{Backend, OnDuplicate, Source};
use idem_tests::{RedisCluster, RedisServer, eventually};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::kit::{LONG, connect_to, process_with, record_key, renewal, reserved};

fn reset(cluster: &RedisCluster) {
    for node in cluster.nodes() {
        let _: String = node.ask(&["CONFIG", "RESETSTAT"]);
    }
}

/// What each master has carried out; replicas repeat it.
fn calls(cluster: &RedisCluster, command: &str) -> Vec<u64> {
    cluster.nodes()[..3].iter().map(|node| node.calls(command)).collect()
}

/// How often nodes have said that another one has the slot.
fn sent_on(cluster: &RedisCluster) -> usize {
    let errors = |node: &RedisServer| -> String { node.ask(&["INFO", "errorstats"]) };
    let lines = |node| errors(node).lines().filter(|line| line.contains("MOVED")).count();
    cluster.nodes().iter().map(lines).sum()
}

/// Every command goes to the node of its slot at once, so the costs are those of one server.
#[tokio::test]
async fn a_first_call_costs_two_commands_and_a_replay_one() {
    let cluster = RedisCluster::start();
    let process = process_with(connect_to(&cluster.url()).await, |builder| builder);
    reset(&cluster);
    for nth in 0..60 {
        assert!(process.call(&format!("key {nth}"), nth).await.unwrap().stored);
    }
    // The script that stores an outcome sets as well.
    let (set, evalsha) = (calls(&cluster, "set"), calls(&cluster, "evalsha"));
    assert_eq!((set.iter().sum::<u64>(), evalsha.iter().sum::<u64>()), (120, 60));
    assert!(set.iter().all(|count| *count > 0), "all masters have some: {set:?}");
    for nth in 0..60 {
        assert_eq!(process.call(&format!("key {nth}"), 0).await.unwrap().value, nth);
    }
    assert_eq!(calls(&cluster, "set").iter().sum::<u64>(), 180);
    assert_eq!(calls(&cluster, "evalsha"), evalsha);
    assert_eq!(sent_on(&cluster), 0);
}

/// A batch of renewals is taken apart by node, and every reply finds its renewal.
#[tokio::test]
async fn a_batch_is_taken_apart_by_node() {
    let cluster = RedisCluster::start();
    let backend = connect_to(&cluster.url()).await;
    let keys: Vec<_> = (0..60).map(|nth| record_key(&format!("key {nth}"))).collect();
    let owners = join_all(keys.iter().map(|key| reserved(&backend, key))).await;
    // Every third is released, and its renewal finds nothing.
    for (key, owner) in keys.iter().zip(&owners).step_by(3) {
        backend.release(key, *owner).await.unwrap();
    }
    let renewals: Vec<_> =
        keys.iter().zip(&owners).map(|(key, owner)| renewal(key, *owner)).collect();
    reset(&cluster);
    let replies = backend.renew(&renewals).await;
    use idem_runtime::protocol::transition::RenewReply::{Gone, Renewed};
    for (nth, reply) in replies.into_iter().enumerate() {
        assert_eq!(reply.unwrap(), if nth % 3 == 0 { Gone } else { Renewed }, "renewal {nth}");
    }
    assert_eq!(sent_on(&cluster), 0);
    let of_groups = |nth: usize| calls(&cluster, "evalsha")[nth];
    let mut groups: Vec<_> = keys.iter().map(|key| backend.group(key)).collect();
    groups.sort_unstable();
    let mut counted: Vec<u64> = Vec::new();
    for same in groups.chunk_by(|one, other| one == other) {
        counted.push(same.len() as u64);
    }
    counted.sort_unstable();
    let mut carried = vec![of_groups(0), of_groups(1), of_groups(2)];
    carried.sort_unstable();
    assert_eq!(counted, carried, "keys of a group are on one node");
}

/// Waiters are told by the node that has the record. After two seconds those who wait read once in half
/// a second to a second; twelve that all have their answer a quarter of a second after the end were told.
#[tokio::test]
async fn waiters_of_another_process_are_woken() {
    const WAITERS: u64 = 12;
    const TOLD_WITHIN: Duration = Duration::from_millis(250);
    let cluster = RedisCluster::start();
    let owner = process_with(connect_to(&cluster.url()).await, |builder| builder.lease(LONG));
    let waiter = process_with(connect_to(&cluster.url()).await, |builder| {
        builder.on_duplicate(OnDuplicate::WaitFor(LONG))
    });
    let (end, ended) = watch::channel(false);
    let own = (0..WAITERS).map(|nth| {
        let (owner, mut ended) = (&owner, ended.clone());
        let end = async move { drop(ended.wait_for(|ended| *ended).await.unwrap()) };
        async move { owner.call_until(&format!("key {nth}"), nth, end).await.unwrap() }
    });
    let wait = async {
        let begun = || calls(&cluster, "set").iter().sum::<u64>() >= WAITERS;
        eventually("all have begun", begun).await;
        join_all((0..WAITERS).map(|nth| {
            let waiter = &waiter;
            async move { (waiter.call(&format!("key {nth}"), 99).await.unwrap(), Instant::now()) }
        }))
        .await
    };
    let conduct = async {
        let subscribed = || calls(&cluster, "ssubscribe").iter().sum::<u64>() >= WAITERS;
        eventually("all wait", subscribed).await;
        sleep(Duration::from_secs(3)).await;
        end.send_replace(true);
        Instant::now()
    };
    let (own, waited, at) = tokio::join!(join_all(own), wait, conduct);
    assert!(own.iter().all(|outcome| outcome.stored));
    for (nth, (outcome, when)) in (0..).zip(waited) {
        assert_eq!((outcome.value, outcome.source), (nth, Source::Waited));
        let after = when - at;
        assert!(after < TOLD_WITHIN, "key {nth} was answered only after {after:?}");
    }
    let told_by = calls(&cluster, "spublish");
    assert!(told_by.iter().filter(|count| **count > 0).count() > 1, "{told_by:?}");
}

#[tokio::test]
async fn addresses_and_servers_that_do_not_go_together() {
    let cluster = RedisCluster::start();
    let alone = RedisServer::start();
    let node = RedisBackend::connect(&cluster.nodes()[0].url()).await.unwrap_err();
    assert!(node.to_string().contains("begins with `redis-cluster://`"), "{node}");
    let none = format!("redis-cluster://127.0.0.1:{}", alone.port());
    let none = RedisBackend::connect(&none).await.unwrap_err();
    assert!(matches!(none, ConnectError::Role { .. }), "{none}");
    assert!(none.to_string().contains("begins with `redis://`"), "{none}");
    let unready = RedisServer::start_with(&["--cluster-enabled", "yes"]);
    let unready = format!("redis-cluster://127.0.0.1:{}", unready.port());
    let unready = RedisBackend::connect(&unready).await.unwrap_err();
    assert!(matches!(unready, ConnectError::Unreachable { .. }), "{unready}");
}

/// One node of the address is enough, and a node that is away does not keep a service from starting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_away_does_not_keep_a_service_from_starting() {
    let mut cluster = RedisCluster::start();
    let all = cluster.url();
    tokio::task::block_in_place(|| cluster.kill(0));
    let process = process_with(connect_to(&all).await, |builder| {
        builder.lease(LONG).store_timeout(Duration::from_secs(30))
    });
    // Those of the lost node's slots as well, when its replica has taken them over.
    for nth in 0..12 {
        assert!(process.call(&format!("key {nth}"), nth).await.unwrap().stored);
    }
}
