//! What calls cost, by the server's own count: a command that a script runs is counted as well.

use idem_runtime::Source;
use idem_tests::RedisServer;

use crate::kit::{
    LONG, connect, counts, expected, process_with, record_key, renewal, reserved, reset,
};
use idem_runtime::Backend;
use idem_runtime::protocol::transition::RenewReply;

#[tokio::test]
async fn a_first_call_is_one_set_and_one_script_and_a_replay_is_one_set() {
    let server = RedisServer::start();
    // Nothing is renewed within a test.
    let process = process_with(connect(&server).await, |builder| builder.lease(LONG));
    reset(&server);
    assert_eq!(process.call("a", 1).await.unwrap().source, Source::Fresh);
    // The script reads, stores and tells: its `set` is the second one.
    let first = [("evalsha", 1), ("get", 1), ("spublish", 1), ("set", 2)];
    assert_eq!(counts(&server), expected(&first));

    reset(&server);
    assert_eq!(process.call("a", 2).await.unwrap().source, Source::Replayed);
    assert_eq!(counts(&server), expected(&[("set", 1)]));
}

/// Duplicates in one process share what the seat finds out.
#[tokio::test]
async fn a_thousand_duplicates_in_one_process_cost_one_call() {
    let server = RedisServer::start();
    let process = process_with(connect(&server).await, |builder| builder.lease(LONG));
    reset(&server);
    let calls = (0..1_000).map(|nth| process.call("a", nth));
    let outcomes = futures_util::future::join_all(calls).await;
    let ran = outcomes.into_iter().filter(|one| one.as_ref().unwrap().source == Source::Fresh);
    assert_eq!(ran.count(), 1);
    let once = [("evalsha", 1), ("get", 1), ("spublish", 1), ("set", 2)];
    assert_eq!(counts(&server), expected(&once));
}

/// A batch of renewals is one pipeline of one script each, and writes nothing that has not changed.
#[tokio::test]
async fn a_renewal_is_one_script() {
    let server = RedisServer::start();
    let backend = connect(&server).await;
    let mut renewals = Vec::new();
    for nth in 0..10 {
        let key = record_key(&format!("key {nth}"));
        let owner = reserved(&backend, &key).await;
        renewals.push(renewal(&key, owner));
    }
    reset(&server);
    let renewed = backend.renew(&renewals).await;
    assert!(renewed.into_iter().all(|reply| reply.unwrap() == RenewReply::Renewed));
    assert_eq!(counts(&server), expected(&[("evalsha", 10), ("get", 10), ("pexpire", 10)]));
}
