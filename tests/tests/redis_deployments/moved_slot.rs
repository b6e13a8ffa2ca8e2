//! A slot is moved from node to node while a lease in it is held and calls go on.

use std::time::Duration;

use idem_runtime::{ErrorKind, OnDuplicate, Source};
use idem_tests::{LEASE, RedisCluster, eventually};

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
    let mut command = vec!["ACL", "SETUSER", "idem", "on", ">secret", "~shop:*", "&shop:*"];
    let rights = "+set +get +pttl +evalsha +script|load +setrange +pexpire +del +time +spublish \
                  +ssubscribe +sunsubscribe +cluster|slots +asking";
    command.extend(rights.split_whitespace());
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
