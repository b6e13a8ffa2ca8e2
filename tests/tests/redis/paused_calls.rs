//! A server that stands still while a call begins, ends, or waits.

use std::time::Duration;

use idem_runtime::{ErrorKind, OnDuplicate, OnLost, OnOutage, Source};
use idem_tests::{LEASE, RedisServer, eventually};
use tokio::time::{Instant, sleep};

use crate::kit::{connect, process_with};

/// What a busy machine may add to a time that is bounded.
const BUSY: Duration = Duration::from_secs(10);
const STORE_TIMEOUT: Duration = Duration::from_millis(600);
/// Longer than a condition is waited for: nothing here comes about by a lease that ends.
const LONG_LEASE: Duration = Duration::from_secs(600);

/// The begins that the server finds when it goes on have nobody behind them: their key is freed.
#[tokio::test]
async fn a_begin_ends_in_its_time_and_leaves_nothing() {
    let server = RedisServer::start();
    let process = process_with(connect(&server).await, |builder| {
        builder.lease(LONG_LEASE).store_timeout(STORE_TIMEOUT)
    });
    process.call("its keeper has its connection", 0).await.unwrap();
    server.pause();
    let start = Instant::now();
    let error = process.call("a", 1).await.unwrap_err();
    assert!(start.elapsed() < STORE_TIMEOUT + BUSY, "{:?}", start.elapsed());
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Backend, true));
    assert!(!error.may_have_run());
    server.resume();
    eventually("the begin was carried out", || server.calls("set") > 2).await;
    let is_free = || !server.ask::<bool>(&["EXISTS", "shop:charge:a"]);
    eventually("the key is freed", is_free).await;
    assert_eq!(process.call("a", 2).await.unwrap().source, Source::Fresh);
}

/// Where that was asked for it runs without protection, and says so; afterwards it is protected again.
#[tokio::test]
async fn a_begin_may_run_unprotected() {
    let server = RedisServer::start();
    let process = process_with(connect(&server).await, |builder| {
        builder.lease(LONG_LEASE).store_timeout(STORE_TIMEOUT).on_outage(OnOutage::Run)
    });
    server.pause();
    let outcome = process.call("a", 1).await.unwrap();
    assert_eq!((outcome.value, outcome.source), (1, Source::Fresh));
    assert!(!outcome.stored && process.events.has("run_unprotected"));
    server.resume();
    let again = process.call("a", 2).await.unwrap();
    assert_eq!((again.value, again.source, again.stored), (2, Source::Fresh, true));
}

/// The action has ended: its caller has the value in a bounded time, and duplicates are refused until
/// the outcome is stored, not run.
#[tokio::test]
async fn a_completion_is_deferred() {
    let server = RedisServer::start();
    let process = process_with(connect(&server).await, |builder| {
        builder.lease(LONG_LEASE).store_timeout(STORE_TIMEOUT)
    });
    let start = Instant::now();
    let first = process.call_until("a", 1, async { server.pause() }).await.unwrap();
    assert!(start.elapsed() < STORE_TIMEOUT + BUSY, "{:?}", start.elapsed());
    assert_eq!((first.value, first.stored, first.lapsed), (1, false, false));
    assert!(process.events.has("completion_deferred"));
    // The keeper's first try has as long as the caller's: it has failed by then.
    sleep(STORE_TIMEOUT * 3).await;
    let duplicate = process.idem.call("charge").key("a").on_duplicate(OnDuplicate::Reject);
    let duplicate = duplicate.run(|_| async { Ok::<_, idem_runtime::Error>(2_u64) });
    assert_eq!(duplicate.await.unwrap_err().kind(), ErrorKind::InProgress);
    server.resume();
    eventually("it is stored", || process.events.has("deferred_stored")).await;
    let again = process.call("a", 3).await.unwrap();
    assert_eq!((again.value, again.source), (1, Source::Replayed));
}

/// For longer than a lease, under `cancel`: the action is dropped, its caller is told, and the key is
/// free for the next call.
#[tokio::test]
async fn an_action_at_risk_is_cancelled() {
    let server = RedisServer::start();
    let process = process_with(connect(&server).await, |builder| builder.on_lost(OnLost::Cancel));
    let error = process.call_until("a", 1, async {
        server.pause();
        std::future::pending::<()>().await;
    });
    let error = error.await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_run()), (ErrorKind::LeaseLost, true));
    eventually("its risk is told", || process.events.has("lease_at_risk")).await;
    server.resume();
    let again = process.call("a", 2).await.unwrap();
    assert_eq!((again.value, again.source), (2, Source::Fresh));
}

/// Whoever waits meanwhile has the outcome afterwards.
#[tokio::test]
async fn a_wait_goes_on() {
    let server = RedisServer::start();
    let backend = connect(&server).await;
    let owner = process_with(backend, |builder| builder.lease(LONG_LEASE));
    let waiter = process_with(connect(&server).await, |builder| builder.lease(LONG_LEASE));
    let (first, second) = tokio::join!(
        owner.call_until("a", 1, async {
            eventually("it waits", || server.calls("ssubscribe") > 0).await;
            server.pause();
            // Longer than the client waits for an answer, and than a waiter takes between two looks.
            sleep(LEASE * 3).await;
            server.resume();
        }),
        async {
            eventually("it has begun", || server.calls("set") > 0).await;
            waiter.call("a", 2).await
        },
    );
    let first = first.unwrap();
    assert!(first.stored && !first.lapsed);
    let second = second.unwrap();
    assert_eq!((second.value, second.source), (1, Source::Waited));
}
