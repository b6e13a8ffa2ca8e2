//! Records and a replica that takes over.

use idem_redis::Severity::{Degrades, Endangers};
use idem_redis::Topic;
use idem_tests::{RedisServer, eventually};

use crate::kit::{about, builder, healthy, is_well, look, look_until, only, set};

/// A replica that is up to date.
async fn replica_of(master: &RedisServer) -> RedisServer {
    let of_master = format!("127.0.0.1 {}", master.port());
    let replica =
        RedisServer::start_with(&["--replicaof", &of_master, "--repl-diskless-sync-delay", "0"]);
    eventually("the replica is up to date", || {
        let info: String = master.ask(&["INFO", "replication"]);
        info.contains("state=online")
    })
    .await;
    replica
}

#[tokio::test]
async fn writes_that_are_taken_without_the_replicas() {
    let server = healthy();
    // Nobody would make a replica of this one the master.
    is_well(&look(&server.url()).await);
    let _replica = replica_of(&server).await;
    let findings = look(&server.url()).await;
    let finding = only(&findings, Topic::Replication, Endangers);
    assert!(finding.advice.contains("`min-replicas-to-write 1`"), "{finding}");
    // The replica says that it is there once a second.
    set(&server, "min-replicas-to-write", "1");
    look_until(&server.url(), "in time", |findings| about(findings, Topic::Replication).is_empty())
        .await;
    set(&server, "min-replicas-to-write", "2");
    let findings = look(&server.url()).await;
    assert!(only(&findings, Topic::Replication, Endangers).what.contains("refuses to write"));
}

/// Without a limit to how far behind it may be, the server goes on.
#[tokio::test]
async fn a_replica_that_is_behind() {
    let server = healthy();
    let replica = replica_of(&server).await;
    set(&server, "min-replicas-to-write", "1");
    set(&server, "min-replicas-max-lag", "3600");
    replica.pause();
    // It is behind after ten seconds.
    let findings = look_until(&server.url(), "it is behind", |findings| {
        !about(findings, Topic::Replication).is_empty()
    })
    .await;
    let finding = only(&findings, Topic::Replication, Degrades);
    assert!(finding.what.contains(&replica.port().to_string()), "{finding}");
    replica.resume();
}

/// Somebody has made another server the master.
#[tokio::test]
async fn a_server_that_was_demoted() {
    let (server, other) = (healthy(), healthy());
    let backend = builder(&server.url()).connect().await.unwrap();
    is_well(&backend.doctor().await.unwrap());
    let _: String = server.ask(&["REPLICAOF", "127.0.0.1", &other.port().to_string()]);
    let findings = backend.doctor().await.unwrap();
    assert!(only(&findings, Topic::Replication, Endangers).what.contains("read replica now"));
}
