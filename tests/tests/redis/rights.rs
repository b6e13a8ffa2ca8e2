//! Users with few rights.

use std::time::Duration;

use idem_redis::{ConnectError, RedisBackend};
use idem_runtime::Source;
use idem_tests::{RedisServer, eventually};

use crate::kit::process_with;

/// The rights that `docs/redis.md` asks for.
const RIGHTS: [&str; 14] = [
    "~shop:*",
    "&shop:*",
    "+set",
    "+get",
    "+pttl",
    "+evalsha",
    "+script|load",
    "+setrange",
    "+pexpire",
    "+del",
    "+time",
    "+spublish",
    "+ssubscribe",
    "+sunsubscribe",
];

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
    let backend = connect(&user(&server, &RIGHTS)).await.unwrap();
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

/// Without the right to publish, an outcome is stored all the same; without the right to subscribe,
/// whoever waits gets it by polling.
#[tokio::test]
async fn without_channels_outcomes_are_stored_and_waits_end() {
    let server = RedisServer::start();
    let url = user(&server, &["~*", "resetchannels", "+@all"]);
    let backend = connect(&url).await.unwrap();
    let owner = process_with(backend.clone(), |builder| builder);
    let waiter = process_with(backend, |builder| builder);
    let (first, second) = tokio::join!(
        owner.call_until("a", 1, async {
            eventually("a waiter has looked", || server.calls("pttl") > 0).await;
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
    let backend = connect(&user(&server, &RIGHTS)).await.unwrap();
    let process = process_with(backend, |builder| builder);
    process.call("a", 1).await.unwrap();
    user(&server, &["~other:*", "+@all"]);
    let error = process.call("b", 2).await.unwrap_err();
    assert_eq!(error.kind(), idem_runtime::ErrorKind::Backend);
    assert!(!process.events.has("run_unprotected"));
    user(&server, &RIGHTS);
    assert_eq!(process.call("b", 2).await.unwrap().source, Source::Fresh);
}
