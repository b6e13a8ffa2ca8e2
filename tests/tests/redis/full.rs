//! A server that refuses to write: its memory is full, and it forgets nothing to make room, or it
//! lacks its replicas.

use std::time::Duration;

use idem_runtime::protocol::transition::{
    CompleteReply, FenceReply, ReleaseReply, RenewReply, ReplaceReply,
};
use idem_runtime::record::Owner;
use idem_runtime::{Backend, Error, ErrorKind, OnOutage, Source};
use idem_tests::{RedisServer, eventually};

use crate::kit::{
    LONG, connect, outcome, process_with, record_key, renewal, reservation, reserved,
};

/// A server that is full from now on.
fn fill(server: &RedisServer) {
    let _: String = server.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    let _: String = server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
}

/// How often it has refused for want of memory.
fn refusals(server: &RedisServer) -> u64 {
    let stats: String = server.ask(&["INFO", "errorstats"]);
    let count = stats.split_once("errorstat_OOM:count=");
    count.map_or(0, |(_, count)| count.lines().next().unwrap().parse().unwrap())
}

/// A server that has room again.
fn empty(server: &RedisServer) {
    let _: String = server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
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
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Backend, false));
    let why = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    assert!(format!("{error} {why}").contains("maxmemory"), "{error}: {why}");
    assert!(!process.events.has("run_unprotected"));
    empty(&server);
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
    let new = reservation(Owner::fresh());
    let refused = backend.replace(&key, reservation(owner).head(), &new, LONG, None).await;
    assert!(refused.unwrap_err().is_answer());
    let done = outcome(owner, &[7; 10_000]);
    assert_eq!(backend.complete(&key, &done, LONG).await.unwrap(), CompleteReply::Stored);
    let found = backend.peek(&key).await.unwrap().unwrap();
    assert_eq!(found.standing.record(), Some(&done));
    empty(&server);
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

fn forget(server: &RedisServer) {
    let forgotten: u64 = server.ask(&["DEL", "shop:charge:a"]);
    assert_eq!(forgotten, 1);
}

/// The record of a running action is gone, and there is no room for another: its keeper goes on trying,
/// and has the key again as soon as there is.
#[tokio::test]
async fn what_runs_is_reserved_again_once_there_is_room() {
    let server = RedisServer::start();
    let process = process_with(connect(&server).await, |builder| builder);
    let outcome = process.call_until("a", 1, async {
        fill(&server);
        forget(&server);
        eventually("the keeper finds nothing", || process.events.has("lease_gone")).await;
        eventually("it is at risk", || process.events.has("lease_at_risk")).await;
        assert!(!server.ask::<bool>(&["EXISTS", "shop:charge:a"]));
        empty(&server);
        eventually("reserved again", || server.ask(&["EXISTS", "shop:charge:a"])).await;
    });
    let outcome = outcome.await.unwrap();
    assert!(outcome.stored && outcome.lapsed);
    assert_eq!(process.call("a", 2).await.unwrap().source, Source::Replayed);
}

/// The same, and the action ends before there is room: its caller has the value, and the outcome is
/// stored once it can be.
#[tokio::test]
async fn an_outcome_without_its_reservation_is_stored_once_there_is_room() {
    let server = RedisServer::start();
    // The keeper does not look before the end.
    let process =
        process_with(connect(&server).await, |builder| builder.lease(Duration::from_secs(60)));
    let outcome = process.call_until("a", 1, async {
        fill(&server);
        forget(&server);
    });
    let outcome = outcome.await.unwrap();
    assert_eq!((outcome.value, outcome.stored, outcome.lapsed), (1, false, true));
    assert!(process.events.has("completion_deferred"));
    // The caller's try, and two of the keeper at least.
    eventually("it is refused again", || refusals(&server) > 2).await;
    empty(&server);
    eventually("it is stored", || process.events.has("deferred_stored")).await;
    assert_eq!(process.call("a", 2).await.unwrap().source, Source::Replayed);
}

/// A crash is not forgotten for want of memory: its takeover is refused, and comes about later.
#[tokio::test]
async fn a_takeover_waits_for_room() {
    let server = RedisServer::start();
    let backend = connect(&server).await;
    let process = process_with(backend.clone(), |builder| builder);
    let crashed = reservation(Owner::fresh()).remembered_for(LONG);
    backend.begin(&record_key("a"), &crashed, Duration::from_millis(1)).await.unwrap();
    fill(&server);
    let takes_over = || {
        let call = process.idem.call("charge").key("a");
        let happened = async { Ok::<_, Error>(Some(1_u64)) };
        call.run_reconciling(happened, |_| async { Err(Error::of_kind(ErrorKind::NotKept, "ran")) })
    };
    let error = takes_over().await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Backend, false));
    assert!(error.to_string().contains("maxmemory"), "{error}");
    empty(&server);
    let outcome = takes_over().await.unwrap();
    assert_eq!((outcome.value, outcome.source, outcome.attempt), (1, Source::Reconciled, 2));
}
