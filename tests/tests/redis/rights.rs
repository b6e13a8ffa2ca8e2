//! Users with few rights.

use std::time::Duration;

use idem_redis::{ConnectError, RedisBackend};
use idem_runtime::protocol::transition::{CompleteReply, DiscardReply, ReleaseReply, ReplaceReply};
use idem_runtime::record::Owner;
use idem_runtime::{Backend, Source};
use idem_tests::{RedisServer, eventually, rights_asked_for};

use crate::kit::{LONG, Process, outcome, process_with, record_key, reservation, reserved};

fn user(server: &RedisServer, rights: &[&str]) -> String {
    let user = [&["ACL", "SETUSER", "idem", "reset", "on", ">secret"], rights].concat();
    let _: String = server.ask(&user);
    server.url_of("idem", "secret")
}

async fn connect(url: &str) -> Result<RedisBackend, ConnectError> {
    RedisBackend::connect(url).await
}

#[tokio::test]
async fn the_rights_that_are_asked_for_are_enough() {
    let server = RedisServer::start();
    let backend = connect(&user(&server, &rights_asked_for())).await.unwrap();
    let owner = process_with(backend.clone(), |builder| builder);
    let waiter = process_with(backend, |builder| builder);
    let (first, second) = tokio::join!(
        owner.call_until("a", 1, async {
            eventually("a waiter subscribes", || server.calls("ssubscribe") > 0).await;
            // Renewed, with a fence, for longer than a lease.
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            idem_runtime::lease().unwrap().fence().await.unwrap();
        }),
        async {
            eventually("the owner has begun", || server.calls("set") > 0).await;
            waiter.call("a", 2).await
        },
    );
    assert!(first.unwrap().stored);
    assert_eq!(second.unwrap().source, Source::Waited);
    let denied: Vec<redis::Value> = server.ask(&["ACL", "LOG"]);
    assert!(denied.is_empty(), "{denied:?}");
}

/// The owner ends once the waiter has sent `command`, and the waiter gets its outcome.
async fn is_waited_for(server: &RedisServer, owner: &Process, waiter: &Process, command: &str) {
    let (first, second) = tokio::join!(
        owner.call_until("a", 1, async {
            eventually("the waiter waits", || server.calls(command) > 0).await;
        }),
        async {
            eventually("the owner has begun", || server.calls("set") > 0).await;
            waiter.call("a", 2).await
        },
    );
    assert!(first.unwrap().stored);
    let second = second.unwrap();
    assert_eq!((second.value, second.source), (1, Source::Waited));
}

/// Without the right to publish, an outcome is stored all the same; without the right to subscribe,
/// whoever waits gets it by polling.
#[tokio::test]
async fn without_channels_outcomes_are_stored_and_waits_end() {
    let server = RedisServer::start();
    let url = user(&server, &["~*", "resetchannels", "+@all"]);
    let backend = connect(&url).await.unwrap();
    let owner = process_with(backend.clone(), |builder| builder);
    let waiter = process_with(backend, |builder| builder);
    is_waited_for(&server, &owner, &waiter, "pttl").await;
}

#[tokio::test]
async fn a_user_that_may_not_run_scripts_is_told_at_connect() {
    let server = RedisServer::start();
    let told = |error: ConnectError| {
        assert!(matches!(error, ConnectError::Scripting(_)), "{error}");
        error.to_string()
    };
    let url = user(&server, &["~*", "&*", "+@all", "-script|load"]);
    assert!(told(connect(&url).await.unwrap_err()).contains("script|load"));
    let url = user(&server, &["~*", "&*", "+@all", "-evalsha"]);
    assert!(told(connect(&url).await.unwrap_err()).contains("evalsha"));
}

#[tokio::test]
async fn a_wrong_password_is_told_at_connect_and_not_repeated() {
    let server = RedisServer::start();
    user(&server, &["+@all"]);
    let error = connect(&server.url_of("idem", "hunter2")).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    let told = format!("{error} {error:?}");
    assert!(told.contains("authentication failed") && !told.contains("hunter2"), "{told}");
}

/// A right that is taken away later is an answer, with the advice to give it back.
#[tokio::test]
async fn a_right_taken_away_is_an_answer() {
    let server = RedisServer::start();
    let backend = connect(&user(&server, &rights_asked_for())).await.unwrap();
    let process = process_with(backend, |builder| builder);
    process.call("a", 1).await.unwrap();
    user(&server, &["~other:*", "+@all"]);
    let error = process.call("b", 2).await.unwrap_err();
    assert_eq!(error.kind(), idem_runtime::ErrorKind::Backend);
    assert!(!process.events.has("run_unprotected"));
    user(&server, &rights_asked_for());
    assert_eq!(process.call("b", 2).await.unwrap().source, Source::Fresh);
}

/// Without the right to publish, every step that would wake somebody is carried out and answered.
#[tokio::test]
async fn without_channels_every_step_is_applied() {
    let server = RedisServer::start();
    let backend = connect(&user(&server, &["~*", "resetchannels", "+@all"])).await.unwrap();
    let key = record_key("a");
    let owner = reserved(&backend, &key).await;
    let new = reservation(Owner::fresh());
    let replaced = backend.replace(&key, reservation(owner).head(), &new, LONG, None).await;
    assert_eq!(replaced.unwrap(), ReplaceReply::Replaced);
    let done = outcome(new.owner, b"done");
    assert_eq!(backend.complete(&key, &done, LONG).await.unwrap(), CompleteReply::Stored);
    let found = backend.peek(&key).await.unwrap().unwrap();
    assert_eq!(found.standing.record(), Some(&done));
    assert_eq!(backend.discard(&key, new.owner).await.unwrap(), DiscardReply::Discarded);
    let owner = reserved(&backend, &key).await;
    assert_eq!(backend.release(&key, owner).await.unwrap(), ReleaseReply::Released);
    assert!(!server.ask::<bool>(&["EXISTS", "shop:charge:a"]));
    // Each of the four has tried to.
    let denied: Vec<redis::Value> = server.ask(&["ACL", "LOG"]);
    assert!(format!("{denied:?}").contains("channel"), "{denied:?}");
    assert_eq!(server.calls("spublish"), 0);
}

/// The owner may not publish and the waiter may subscribe: it waits for a word that never comes, and
/// has the outcome by polling.
#[tokio::test]
async fn a_waiter_who_is_never_told_polls() {
    let server = RedisServer::start();
    let silent = connect(&user(&server, &["~*", "resetchannels", "+@all"])).await.unwrap();
    let owner = process_with(silent, |builder| builder);
    let waiter = process_with(connect(&server.url()).await.unwrap(), |builder| builder);
    is_waited_for(&server, &owner, &waiter, "ssubscribe").await;
    assert_eq!(server.calls("spublish"), 0);
}
