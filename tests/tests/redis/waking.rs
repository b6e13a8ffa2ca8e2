//! Two processes on one server: who waits is told, and need not ask.

use std::time::Duration;

use futures_util::future::join_all;
use idem_runtime::{OnDuplicate, Source};
use idem_tests::{RedisServer, eventually};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::kit::{connect, process, process_with};

/// After two seconds those who wait read once in half a second to a second. Twenty that all have
/// their answer a quarter of a second after the end were told: by asking, that would be a matter of
/// chance with a probability below 10⁻⁹.
#[tokio::test]
async fn waiters_of_another_process_are_woken() {
    const WAITERS: u64 = 20;
    const TOLD_WITHIN: Duration = Duration::from_millis(250);
    let server = RedisServer::start();
    let (owner, waiter) = (process(&server).await, process(&server).await);
    let (end, ended) = watch::channel(false);
    let own = (0..WAITERS).map(|nth| {
        let mut ended = ended.clone();
        let end = async move { drop(ended.wait_for(|ended| *ended).await.unwrap()) };
        let owner = &owner;
        async move { owner.call_until(&format!("key {nth}"), nth, end).await.unwrap() }
    });
    let wait = async {
        eventually("all have begun", || server.calls("set") >= WAITERS).await;
        let calls = (0..WAITERS).map(|nth| {
            let waiter = &waiter;
            async move {
                let call = waiter.idem.call("charge").key(&format!("key {nth}"));
                let call = call.on_duplicate(OnDuplicate::WaitFor(Duration::from_secs(30)));
                let outcome =
                    call.run(|_| async { Ok::<_, idem_runtime::Error>(u64::MAX) }).await.unwrap();
                (outcome, Instant::now())
            }
        });
        join_all(calls).await
    };
    let conduct = async {
        sleep(Duration::from_secs(3)).await;
        let _ = end.send(true);
        Instant::now()
    };
    let (own, waited, at) = tokio::join!(join_all(own), wait, conduct);
    assert!(own.iter().all(|outcome| outcome.stored));
    for (nth, (outcome, when)) in (0..).zip(waited) {
        assert_eq!((outcome.value, outcome.source), (nth, Source::Waited));
        let after = when - at;
        assert!(after < TOLD_WITHIN, "key {nth} was answered only after {after:?}");
    }
}

/// One subscription connection for all that waits in a process, whatever it waits for.
#[tokio::test]
async fn all_watches_of_a_process_share_a_connection_and_leave_nothing() {
    use idem_runtime::Backend;

    let server = RedisServer::start();
    let backend = connect(&server).await;
    let keepers = backend.for_keeper().await.unwrap();
    let keys: Vec<_> = (0..50).map(|nth| crate::kit::record_key(&format!("key {nth}"))).collect();
    let watches = join_all(keys.iter().map(|key| backend.changed(key))).await;
    let more = join_all(keys.iter().map(|key| keepers.changed(key))).await;
    let subscribed = || {
        let clients: String = server.ask(&["CLIENT", "LIST", "TYPE", "PUBSUB"]);
        let channels: Vec<String> = server.ask(&["PUBSUB", "SHARDCHANNELS"]);
        (clients.lines().count(), channels.len())
    };
    assert_eq!(subscribed(), (1, 50));
    drop(watches);
    assert_eq!(subscribed(), (1, 50), "the keeper's watches still stand");
    drop(more);
    // The subscription that stays is what shows that the connection does.
    eventually("all channels are left", || subscribed().1 == 0).await;
    let watch = backend.changed(&keys[0]).await.unwrap();
    assert_eq!(subscribed(), (1, 1));
    drop((watch, backend, keepers));
    eventually("the connection ends with the backend", || subscribed().0 == 0).await;
}

/// A subscription connection that breaks costs a poll; the next look subscribes again.
#[tokio::test]
async fn a_broken_subscription_is_taken_again() {
    let server = RedisServer::start();
    let backend = connect(&server).await;
    let (owner, waiter) = (process_with(backend, |builder| builder), process(&server).await);
    let (first, second) = tokio::join!(
        owner.call_until("a", 1, async {
            eventually("subscribed", || server.calls("ssubscribe") == 1).await;
            let killed: u64 = server.ask(&["CLIENT", "KILL", "TYPE", "pubsub"]);
            assert_eq!(killed, 1);
            eventually("subscribed again", || server.calls("ssubscribe") == 2).await;
        }),
        async {
            eventually("the owner has begun", || server.calls("set") > 0).await;
            waiter.call("a", 2).await
        },
    );
    assert!(first.unwrap().stored);
    assert_eq!(second.unwrap().source, Source::Waited);
}
