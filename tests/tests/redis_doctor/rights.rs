//! What the user lacks.

use idem_redis::Severity::{Degrades, Endangers, Notes};
use idem_redis::{Finding, RedisBackend, Topic};
use idem_tests::{RedisServer, rights_asked_for};

use crate::kit::{builder, found, healthy, is_well, look, only};

async fn connect(server: &RedisServer, rights: &[&str]) -> RedisBackend {
    give(server, rights);
    builder(&server.url_of("idem", "secret")).connect().await.unwrap()
}

fn give(server: &RedisServer, rights: &[&str]) {
    let user = [&["ACL", "SETUSER", "idem", "reset", "on", ">secret"], rights].concat();
    let _: String = server.ask(&user);
}

/// Looking leaves no trace of what the user may not do.
fn nothing_was_denied(server: &RedisServer) {
    let denied: Vec<redis::Value> = server.ask(&["ACL", "LOG"]);
    assert!(denied.is_empty(), "{denied:?}");
}

async fn look_for(backend: &RedisBackend, prefix: &str) -> Vec<Finding> {
    backend.doctor().prefix(prefix).await.unwrap()
}

#[tokio::test]
async fn with_the_rights_that_are_asked_for_only_what_is_hidden_is_told() {
    let server = RedisServer::start();
    let findings = look_for(&connect(&server, &rights_asked_for()).await, "shop").await;
    let hidden = only(&findings, Topic::Rights, Notes);
    assert!(hidden.what.contains("`info`, `config|get`"), "{hidden}");
    assert_eq!(found(&findings).len(), 1, "{findings:#?}");
    nothing_was_denied(&server);
    // With these the server's settings show.
    let more = [&rights_asked_for()[..], &["+info", "+config|get"]].concat();
    let findings = look_for(&connect(&server, &more).await, "shop").await;
    only(&findings, Topic::Persistence, Endangers);
    assert_eq!(found(&findings).len(), 1, "{findings:#?}");
}

#[tokio::test]
async fn each_right_that_is_taken_away_is_named() {
    let server = healthy();
    let more = [&rights_asked_for()[..], &["+info", "+config|get"]].concat();
    let backend = connect(&server, &more).await;
    is_well(&look_for(&backend, "shop").await);
    for right in &more[2..] {
        let name = &right[1..];
        let rest: Vec<_> = more.iter().copied().filter(|other| other != right).collect();
        give(&server, &rest);
        let findings = look_for(&backend, "shop").await;
        let severity = match name {
            "time" | "spublish" | "ssubscribe" | "sunsubscribe" => Degrades,
            "info" | "config|get" | "ping" => Notes,
            _ => Endangers,
        };
        let finding = only(&findings, Topic::Rights, severity);
        assert_eq!(found(&findings).len(), 1, "{name}: {findings:#?}");
        // Without the right to run scripts nobody is asked.
        let told = if name == "evalsha" { "scripts are refused" } else { name };
        assert!(finding.what.contains(told), "{name}: {finding}");
        assert!(severity == Notes || finding.advice.contains(right), "{name}: {finding}");
        if name != "evalsha" {
            nothing_was_denied(&server);
        } else {
            let _: String = server.ask(&["ACL", "LOG", "RESET"]);
        }
    }
}

#[tokio::test]
async fn keys_and_channels_of_another_prefix() {
    let server = RedisServer::start();
    let backend = connect(&server, &rights_asked_for()).await;
    let findings = look_for(&backend, "shop-2").await;
    let told: Vec<_> =
        found(&findings)[..2].iter().map(|one| (one.severity, &*one.advice)).collect();
    let [(Endangers, keys), (Degrades, channels)] = *told else { panic!("{findings:#?}") };
    assert!(keys.contains("`~shop-2:*`") && channels.contains("`&shop-2:*`"), "{findings:#?}");
    // Without a prefix it is not known that this user has the right ones.
    let findings = backend.doctor().await.unwrap();
    let [first, _] = &*found(&findings) else { panic!("{findings:#?}") };
    assert!(first.severity == Notes && first.what.contains("without their prefix"), "{first}");
    nothing_was_denied(&server);
}

/// Users are made without channels unless they are given some.
#[tokio::test]
async fn wake_ups_are_off_for_a_user_without_channels() {
    let server = healthy();
    let backend = connect(&server, &["~*", "resetchannels", "+@all"]).await;
    for findings in [backend.doctor().await.unwrap(), look_for(&backend, "shop").await] {
        let finding = only(&findings, Topic::Rights, Degrades);
        assert!(finding.what.contains("wake-ups are off"), "{finding}");
        assert_eq!(found(&findings).len(), 1, "{findings:#?}");
    }
    give(&server, &["~*", "&shop:*", "+@all"]);
    is_well(&look_for(&backend, "shop").await);
    give(&server, &["~*", "&*", "+@all"]);
    is_well(&backend.doctor().await.unwrap());
}

/// A host of databases may have taken commands away for everybody.
#[tokio::test]
async fn commands_that_the_server_does_not_have() {
    let config = ["--appendonly", "yes", "--rename-command", "CONFIG", ""];
    let server = RedisServer::start_with(&config);
    let findings = look(&server.url()).await;
    assert!(only(&findings, Topic::Rights, Notes).what.contains("`config|get`"));
    let server =
        RedisServer::start_with(&["--appendonly", "yes", "--rename-command", "PEXPIRE", "x"]);
    let findings = look(&server.url()).await;
    let finding = only(&findings, Topic::Rights, Endangers);
    assert!(finding.what.contains("the server has no `pexpire`"), "{finding}");
}
