//! A server that refuses to write: its memory is full, and it forgets nothing to make room, or it
//! lacks its replicas.

use std::time::Duration;

use idem_runtime::protocol::transition::{
    CompleteReply, FenceReply, ReleaseReply, RenewReply, ReplaceReply,
};
use idem_runtime::{Backend, ErrorKind, OnOutage, Source};
use idem_tests::RedisServer;

use crate::kit::{
    LONG, connect, outcome, process_with, record_key, renewal, reservation, reserved,
};

/// A server that is full from now on.
fn fill(server: &RedisServer) {
    let _: String = server.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    let _: String = server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
}

#[tokio::test]
async fn what_is_stored_is_replayed_and_nothing_new_begins() {
    let server = RedisServer::start();
    let backend = connect(&server).await;
    let process = process_with(backend, |builder| builder.on_outage(OnOutage::Run));
    process.call("known", 1).await.unwrap();
    fill(&server);
    let again = process.call("known", 2).await.unwrap();
    assert_eq!((again.value, again.source), (1, Source::Replayed));
    // An answer that is an error is no outage: `run` does not apply.
    let error = process.call("new", 3).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Backend);
    let why = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    assert!(format!("{error} {why}").contains("maxmemory"), "{error}: {why}");
    assert!(!process.events.has("run_unprotected"));
    let _: String = server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(process.call("new", 3).await.unwrap().source, Source::Fresh);
}

/// What runs when the memory is full goes on: its lease is renewed, its outcome stored.
#[tokio::test]
async fn what_runs_is_completed() {
    let server = RedisServer::start();
    let process = process_with(connect(&server).await, |builder| builder);
    let outcome = process.call_until("a", 1, async {
        fill(&server);
        // Two leases.
        tokio::time::sleep(Duration::from_secs(2)).await;
    });
    let outcome = outcome.await.unwrap();
    assert!(outcome.stored && !outcome.lapsed);
    assert_eq!(process.call("a", 2).await.unwrap().source, Source::Replayed);
}

#[tokio::test]
async fn every_operation_on_what_stands_works_save_a_takeover() {
    let server = RedisServer::start();
    let backend = connect(&server).await;
    let (key, other) = (record_key("a"), record_key("b"));
    let (owner, releases) = (reserved(&backend, &key).await, reserved(&backend, &other).await);
    fill(&server);
    // Arming writes the retention anew.
    let mut arming = renewal(&key, owner);
    arming.retention = LONG;
    let renewed = backend.renew(&[arming, renewal(&other, releases)]).await;
    assert!(renewed.into_iter().all(|reply| reply.unwrap() == RenewReply::Renewed));
    assert!(matches!(backend.fence(&key, owner).await.unwrap(), FenceReply::Fence(1..)));
    assert_eq!(backend.release(&other, releases).await.unwrap(), ReleaseReply::Released);
    let new = reservation(idem_runtime::record::Owner::fresh());
    let refused = backend.replace(&key, reservation(owner).head(), &new, LONG, None).await;
    assert!(refused.unwrap_err().is_answer());
    let done = outcome(owner, &[7; 10_000]);
    assert_eq!(backend.complete(&key, &done, LONG).await.unwrap(), CompleteReply::Stored);
    let found = backend.peek(&key).await.unwrap().unwrap();
    assert_eq!(found.standing.record(), Some(&done));
    let _: String = server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    let replaced = backend.replace(&key, done.head(), &new, LONG, None).await.unwrap();
    assert_eq!(replaced, ReplaceReply::Replaced);
}

/// The other refusals of a server that can still be read are dealt with alike.
#[tokio::test]
async fn without_the_replicas_it_asks_for_it_is_read_all_the_same() {
    let server = RedisServer::start();
    let process = process_with(connect(&server).await, |builder| builder);
    process.call("known", 1).await.unwrap();
    let _: String = server.ask(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    assert_eq!(process.call("known", 2).await.unwrap().source, Source::Replayed);
    assert_eq!(process.call("new", 3).await.unwrap_err().kind(), ErrorKind::Backend);
    let _: String = server.ask(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    assert_eq!(process.call("new", 3).await.unwrap().source, Source::Fresh);
}
