//! The server throws its clients out, again and again, while they work.

use std::time::Duration;

use idem_runtime::Source;
use idem_tests::{RedisServer, eventually};
use tokio::time::sleep;

use super::LONG_LEASE;
use super::load::Load;
use crate::kit::{connect, process, process_with};

/// Kills every client of a kind but the asking one; says how many those were.
fn kill(server: &RedisServer, kind: &str) -> u64 {
    server.ask(&["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"])
}

#[tokio::test]
async fn under_load() {
    let server = RedisServer::start();
    let one = process_with(connect(&server).await, |builder| builder.lease(LONG_LEASE));
    let other = process_with(connect(&server).await, |builder| builder.lease(LONG_LEASE));
    let load = Load::default();
    let mut killed = (0, 0);
    let trouble = async {
        while killed.0 < 40 || killed.1 < 2 {
            load.goes_on_for(1).await;
            killed.0 += kill(&server, "normal");
            killed.1 += kill(&server, "pubsub");
        }
        load.goes_on_for(1).await;
    };
    load.until([&one, &other], trouble).await;
    load.is_remembered_by(&process(&server).await).await;
    // The same handles go on without more ado.
    assert_eq!(one.call("last", 1).await.unwrap().source, Source::Fresh);
    assert_eq!(other.call("last", 2).await.unwrap().source, Source::Replayed);
    assert!(!one.events.has("failed") && !other.events.has("failed"));
}

/// While leases are held: each is renewed on a new connection, none lapses.
#[tokio::test]
async fn while_leases_are_held() {
    let server = RedisServer::start();
    let process =
        process_with(connect(&server).await, |builder| builder.lease(Duration::from_secs(4)));
    let server = &server;
    let calls = futures_util::future::join_all((0..20).map(async |nth| {
        let key = format!("key {nth}");
        let until = eventually("renewed often", || process.events.count("renewed") >= 100);
        process.call_until(&key, nth, until).await
    }));
    let (outcomes, ()) = tokio::join!(calls, async {
        while process.events.count("renewed") < 100 {
            kill(server, "normal");
            // A renewal that finds its connection killed fails, and the next opens another: of four
            // in a lease two may fail.
            sleep(Duration::from_millis(1_100)).await;
        }
    });
    for (nth, outcome) in (0..).zip(outcomes) {
        let outcome = outcome.unwrap();
        assert_eq!(outcome.value, nth);
        assert!(outcome.stored && !outcome.lapsed, "key {nth}");
    }
    assert!(!process.events.has("lease_at_risk") && !process.events.has("lease_gone"));
}
