//! Servers and connections that are lost.

use std::time::Duration;

use idem_runtime::{Backend, ErrorKind, OnOutage, Source};
use idem_tests::{RedisServer, eventually};

use crate::kit::{connect, process, process_with, record_key};

/// The server comes back empty while an action runs: its keeper reserves again, its outcome is
/// stored, and it is told that others may have run.
#[tokio::test]
async fn a_server_that_comes_back_empty() {
    let mut server = RedisServer::start();
    let process = process(&server).await;
    let outcome = process.call_until("a", 1, async {
        server.restart();
        eventually("the keeper finds nothing", || process.events.has("lease_gone")).await;
        eventually("it has reserved again", || server.ask(&["EXISTS", "shop:charge:a"])).await;
    });
    let outcome = outcome.await.unwrap();
    assert!(outcome.stored && outcome.lapsed);
    assert_eq!(process.call("a", 2).await.unwrap().source, Source::Replayed);
    assert_eq!(server.calls("set"), 3, "reserved again, stored, and asked for");
}

/// The server is empty when the outcome is to be stored: it is stored all the same.
#[tokio::test]
async fn a_server_that_comes_back_empty_at_completion() {
    let mut server = RedisServer::start();
    // The keeper does not look before the end.
    let process =
        process_with(connect(&server).await, |builder| builder.lease(Duration::from_secs(30)));
    let outcome = process.call_until("a", 1, async { server.restart() }).await.unwrap();
    assert!(outcome.stored && outcome.lapsed);
    assert_eq!(process.call("a", 2).await.unwrap().source, Source::Replayed);
}

/// The server is gone at begin: nothing runs, unless that was asked for; and nothing has to be
/// restarted when it is back.
#[tokio::test]
async fn a_server_that_is_gone() {
    let mut server = RedisServer::start();
    let backend = connect(&server).await;
    let refuses =
        process_with(backend.clone(), |builder| builder.store_timeout(Duration::from_millis(300)));
    let runs = process_with(backend.clone(), |builder| {
        builder.store_timeout(Duration::from_millis(300)).on_outage(OnOutage::Run)
    });
    server.kill();
    let refused = refuses.call("a", 1).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Backend);
    // That nobody listens, and not only that no answer came in time.
    let told = std::error::Error::source(&refused).unwrap().to_string();
    assert!(told.contains("Connection refused"), "{told}");
    let unprotected = runs.call("a", 2).await.unwrap();
    assert!(!unprotected.stored && runs.events.has("run_unprotected"));
    let error = backend.peek(&record_key("a")).await.unwrap_err();
    assert!(!error.is_answer(), "{error}");
    server.restart();
    assert_eq!(refuses.call("a", 3).await.unwrap().source, Source::Fresh);
    assert_eq!(runs.call("a", 4).await.unwrap().source, Source::Replayed);
}

/// Connections are cut, again and again: no call notices.
#[tokio::test]
async fn connections_that_are_cut() {
    let server = RedisServer::start();
    let process = process(&server).await;
    for nth in 0..10 {
        let key = format!("key {nth}");
        let outcome = process.call_until(&key, nth, async {
            let _: u64 = server.ask(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        });
        assert!(outcome.await.unwrap().stored);
        let _: u64 = server.ask(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        assert_eq!(process.call(&key, 0).await.unwrap().value, nth);
    }
    assert!(!process.events.has("failed") && !process.events.has("completion_deferred"));
}
