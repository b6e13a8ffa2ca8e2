//! A slot is moved from node to node while a lease in it is held and calls go on.

use std::time::Duration;

use idem_runtime::{ErrorKind, OnDuplicate, Source};
use idem_tests::{LEASE, RedisCluster, eventually, rights_asked_for};
use tokio::sync::Notify;

use crate::kit::{LONG, connect_to, process_with};

/// As many keys in one slot; the slot, and the names of the keys.
fn keys_of_one_slot(cluster: &RedisCluster, count: usize) -> (u16, Vec<String>) {
    let keys: Vec<String> = (0..200_000).map(|nth| format!("{nth}")).collect();
    let records: Vec<_> = keys.iter().map(|key| format!("shop:charge:{key}")).collect();
    let slots = cluster.slots_of(&records);
    let slot = slots[0];
    let same = keys.into_iter().zip(slots).filter(|(_, other)| *other == slot);
    (slot, same.map(|(key, _)| key).take(count).collect())
}

/// The address for a user with those rights only that `docs/redis.md` asks for.
fn url_with_few_rights(cluster: &RedisCluster) -> String {
    let mut command = vec!["ACL", "SETUSER", "idem", "on", ">secret"];
    command.extend(rights_asked_for());
    command.extend(["+cluster|slots", "+asking"]);
    for node in cluster.nodes() {
        let _: String = node.ask(&command);
    }
    cluster.url_of("idem", "secret")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_is_moved_while_a_lease_is_held_and_calls_go_on() {
    let cluster = RedisCluster::start();
    let (slot, keys) = keys_of_one_slot(&cluster, 8);
    let from = cluster.of_slot(slot);
    let to = (from + 1) % 3;
    let url = url_with_few_rights(&cluster);
    // Renewed every second; at risk after 3.6, which a busy machine keeps to.
    let owner = process_with(connect_to(&url).await, |builder| builder.lease(LEASE * 4));
    let other =
        process_with(connect_to(&url).await, |builder| builder.on_duplicate(OnDuplicate::Reject));
    let done_before = owner.call(&keys[1], 1).await.unwrap();
    assert!(done_before.stored);

    let renewed_again = || async {
        let before = owner.events.count("renewed");
        eventually("the lease is renewed", || owner.events.count("renewed") > before + 1).await;
    };
    // What holds at every stage of the move.
    let goes_on = |new: String| {
        let (other, keys) = (&other, &keys);
        async move {
            let refused = other.call(&keys[0], 9).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InProgress);
            let replayed = other.call(&keys[1], 9).await.unwrap();
            assert_eq!((replayed.value, replayed.source), (1, Source::Replayed));
            let fresh = other.call(&new, 9).await.unwrap();
            assert!(fresh.source == Source::Fresh && fresh.stored);
            assert_eq!(other.call(&new, 8).await.unwrap().value, 9);
        }
    };
    let held = owner.call_until(&keys[0], 0, async {
        renewed_again().await;
        cluster.begin_to_move(slot, to);
        // A record that is not there is asked for at the other node, which has no scripts either.
        let _: String = cluster.nodes()[to].ask(&["SCRIPT", "FLUSH", "SYNC"]);
        goes_on(keys[2].clone()).await;
        renewed_again().await;
        cluster.move_records(slot, to);
        // All records are there, and the old node still has the slot.
        goes_on(keys[3].clone()).await;
        renewed_again().await;
        cluster.end_to_move(slot, to);
        goes_on(keys[4].clone()).await;
        renewed_again().await;
        assert_eq!(cluster.of_slot(slot), to);
    });
    let held = held.await.unwrap();
    let errors: String = cluster.nodes()[from].ask(&["INFO", "errorstats"]);
    assert!(errors.contains("errorstat_ASK") && errors.contains("errorstat_MOVED"), "{errors}");
    assert!(held.stored && !held.lapsed);
    assert!(!owner.events.has("lease_gone") && !owner.events.has("lease_at_risk"));
    for (nth, key) in keys[..5].iter().enumerate() {
        let value = if nth < 2 { nth as u64 } else { 9 };
        assert_eq!(other.call(key, 7).await.unwrap().value, value, "{key}");
    }
}

/// A waiter of a record that moves is told that it does, and subscribes at the new node.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_follows_its_slot() {
    let cluster = RedisCluster::start();
    let (slot, keys) = keys_of_one_slot(&cluster, 1);
    let from = cluster.of_slot(slot);
    let to = (from + 1) % 3;
    let owner = process_with(connect_to(&cluster.url()).await, |builder| builder.lease(LONG));
    let waiter = process_with(connect_to(&cluster.url()).await, |builder| {
        builder.on_duplicate(OnDuplicate::WaitFor(Duration::from_secs(60)))
    });
    let subscribed = |node: usize| {
        let channels: Vec<String> = cluster.nodes()[node].ask(&["PUBSUB", "SHARDCHANNELS"]);
        channels.len() == 1
    };
    let (own, waited) = tokio::join!(
        owner.call_until(&keys[0], 1, async {
            eventually("a waiter subscribes", || subscribed(from)).await;
            cluster.begin_to_move(slot, to);
            cluster.move_records(slot, to);
            cluster.end_to_move(slot, to);
            eventually("it subscribes at the new node", || subscribed(to)).await;
        }),
        async {
            let begun = || cluster.nodes()[from].calls("set") > 0;
            eventually("the owner has begun", begun).await;
            waiter.call(&keys[0], 2).await
        }
    );
    assert!(own.unwrap().stored);
    assert_eq!(waited.unwrap().source, Source::Waited);
}

/// A slot is on its way to a node that stands still: leases in other slots of the node that it comes
/// from are renewed in time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_do_not_wait_for_a_slot_that_is_stuck() {
    let cluster = RedisCluster::start();
    let (slot, keys) = keys_of_one_slot(&cluster, 1);
    let from = cluster.of_slot(slot);
    let to = (from + 1) % 3;
    let beside = (0..).map(|nth| format!("beside {nth}"));
    let mut beside = beside.filter(|key| cluster.master_of(&format!("shop:charge:{key}")) == from);
    let (stuck, well) = (&keys[0], beside.next().unwrap());
    // Renewed every second, each time within half a second; at risk after 3.6.
    let owner = process_with(connect_to(&cluster.url()).await, |builder| builder.lease(LEASE * 4));
    let (is_stuck, go_on) = (Notify::new(), Notify::new());
    let (first, second) = tokio::join!(
        owner.call_until(stuck, 1, async {
            cluster.begin_to_move(slot, to);
            cluster.move_records(slot, to);
            cluster.nodes()[to].pause();
            is_stuck.notify_one();
            go_on.notified().await;
        }),
        owner.call_until(&well, 2, async {
            is_stuck.notified().await;
            // Longer than a renewal that waited for the other node could be late.
            tokio::time::sleep(LEASE * 6).await;
            cluster.nodes()[to].resume();
            go_on.notify_one();
        }),
    );
    drop(first);
    let second = second.unwrap();
    assert!(second.stored && !second.lapsed, "{second:?}");
    let errors: String = cluster.nodes()[from].ask(&["INFO", "errorstats"]);
    assert!(errors.contains("errorstat_ASK"), "{errors}");
}

/// A slot goes to a node that had none, as when a cluster grows: one connection is enough for all that
/// is sent on to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_is_moved_to_a_new_master() {
    let mut cluster = RedisCluster::start();
    let new = cluster.add_master();
    let (slot, keys) = keys_of_one_slot(&cluster, 30);
    let process = process_with(connect_to(&cluster.url()).await, |builder| builder);
    cluster.begin_to_move(slot, new);
    let connected = || -> u64 { cluster.nodes()[new].info("stats", "total_connections_received") };
    let before = connected();
    for (nth, key) in (0..).zip(&keys) {
        assert!(process.call(key, nth).await.unwrap().stored);
    }
    // Those of the test itself, of the cluster, and of who looks for slots are a few; one for each call
    // would be sixty.
    assert!(connected() - before < 20, "{}", connected() - before);
    cluster.move_records(slot, new);
    cluster.end_to_move(slot, new);
    for (nth, key) in (0..).zip(&keys) {
        let replayed = process.call(key, 99).await.unwrap();
        assert_eq!((replayed.value, replayed.source), (nth, Source::Replayed));
    }
}
