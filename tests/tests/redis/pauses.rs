//! A server that stands still for a while, as one that swaps or whose machine is suspended does.

use std::time::Duration;

use idem_runtime::{ErrorKind, Source};
use idem_tests::{RedisServer, eventually};
use tokio::time::sleep;

use crate::kit::{connect, process_with};

/// Stopped for less than a lease: nothing lapses. The lease is long enough that the renewals after
/// the pause come well before its deadline on a slow machine.
#[tokio::test]
async fn for_less_than_a_lease() {
    let server = RedisServer::start();
    let process =
        process_with(connect(&server).await, |builder| builder.lease(Duration::from_secs(6)));
    let outcome = process.call_until("a", 1, async {
        server.pause();
        // Longer than two renewals and than the client waits for an answer.
        sleep(Duration::from_secs(3)).await;
        server.resume();
        eventually("a renewal is answered", || process.events.has("renewed")).await;
    });
    let outcome = outcome.await.unwrap();
    assert!(outcome.stored && !outcome.lapsed);
    assert!(!process.events.has("lease_gone"));
    assert_eq!(process.call("a", 2).await.unwrap().source, Source::Replayed);
}

/// Stopped for longer than a lease while nobody else calls: the owner reserves again and completes.
#[tokio::test]
async fn store_away_for_a_lease() {
    let server = RedisServer::start();
    let process = process_with(connect(&server).await, |builder| builder);
    let outcome = process.call_until("a", 1, async {
        server.pause();
        sleep(Duration::from_secs(2)).await;
        server.resume();
        eventually("the keeper finds nothing", || process.events.has("lease_gone")).await;
    });
    let outcome = outcome.await.unwrap();
    assert!(outcome.stored && outcome.lapsed);
    assert!(process.events.has("lease_at_risk"));
    assert_eq!(process.call("a", 2).await.unwrap().source, Source::Replayed);
}

/// Stopped for longer than a lease, and another process calls meanwhile: its begin is what the server
/// finds when it goes on. It runs, and the first owner is told and stores nothing.
#[tokio::test]
async fn store_away_for_a_lease_and_another_calls() {
    let server = RedisServer::start();
    let a = process_with(connect(&server).await, |builder| builder);
    let b = process_with(connect(&server).await, |builder| {
        builder.store_timeout(Duration::from_secs(30)).lease(Duration::from_secs(60))
    });
    b.call("its connection is open", 0).await.unwrap();
    let second = std::cell::RefCell::new(None);
    let first = a.call_until("a", 1, async {
        server.pause();
        let resume = async {
            sleep(Duration::from_secs(2)).await;
            server.resume();
        };
        let (outcome, ()) = tokio::join!(b.call("a", 2), resume);
        *second.borrow_mut() = Some(outcome);
    });
    assert_eq!(first.await.unwrap_err().kind(), ErrorKind::LeaseLost);
    let second = second.into_inner().unwrap().unwrap();
    assert_eq!((second.value, second.source, second.stored), (2, Source::Fresh, true));
    assert_eq!(a.call("a", 3).await.unwrap().value, 2);
}

/// No operation hangs: each ends within its two times, and says that it may have been carried out.
#[tokio::test]
async fn no_call_waits_longer_than_its_time() {
    let server = RedisServer::start();
    let backend = idem_redis::RedisBackend::builder(server.url())
        .connect_timeout(Duration::from_millis(200))
        .command_timeout(Duration::from_millis(200))
        .connect()
        .await
        .unwrap();
    server.pause();
    for _ in 0..3 {
        use idem_runtime::Backend;
        let start = tokio::time::Instant::now();
        let error = backend.peek(&crate::kit::record_key("a")).await.unwrap_err();
        assert!(!error.is_answer(), "{error}");
        // Twice 200 ms and the pause of 50 ms; the rest is for a busy machine.
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    }
    server.resume();
    let process = process_with(backend, |builder| builder);
    assert_eq!(process.call("a", 1).await.unwrap().source, Source::Fresh);
}
