//! Records and a server that ends.

use idem_redis::Severity::{Degrades, Endangers};
use idem_redis::Topic;
use idem_tests::{RedisServer, eventually};

use crate::kit::{address, found, healthy, is_well, look, only, set};

#[tokio::test]
async fn without_persistence_and_with_snapshots_only() {
    let server = RedisServer::start();
    let findings = look(&server.url()).await;
    let finding = only(&findings, Topic::Persistence, Endangers);
    assert!(finding.what.contains("a restart forgets every"), "{finding}");
    assert_eq!((&*finding.server, found(&findings).len()), (&*address(&server), 1));
    set(&server, "save", "3600 1 300 100");
    let findings = look(&server.url()).await;
    let finding = only(&findings, Topic::Persistence, Endangers);
    assert!(finding.what.contains("`save 3600 1 300 100`"), "{finding}");
    set(&server, "appendonly", "yes");
    is_well(&look(&server.url()).await);
}

#[tokio::test]
async fn an_append_only_file_that_is_left_to_the_system() {
    let server = healthy();
    for fsync in ["everysec", "always"] {
        set(&server, "appendfsync", fsync);
        is_well(&look(&server.url()).await);
    }
    set(&server, "appendfsync", "no");
    let findings = look(&server.url()).await;
    assert!(only(&findings, Topic::Persistence, Degrades).what.contains("appendfsync no"));
}

/// A server whose folder is gone cannot write its snapshot.
#[tokio::test]
async fn a_snapshot_that_failed() {
    let server =
        RedisServer::start_with(&["--appendonly", "yes", "--enable-protected-configs", "yes"]);
    let folder = tempfile::tempdir().unwrap();
    set(&server, "dir", &folder.path().display().to_string());
    folder.close().unwrap();
    let _: String = server.ask(&["BGSAVE"]);
    eventually("it failed", || says(&server, "rdb_last_bgsave_status:err")).await;
    let findings = look(&server.url()).await;
    assert!(only(&findings, Topic::Persistence, Degrades).what.contains("snapshot failed"));
    set(&server, "save", "3600 1");
    let findings = look(&server.url()).await;
    assert!(only(&findings, Topic::Persistence, Endangers).what.contains("refuses to write"));
    assert!(refuses_to_write(&server));
}

/// A disk that is full, to which the server writes what it appends.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_append_only_file_that_cannot_be_written() {
    let server = RedisServer::start_with(&["--enable-protected-configs", "yes"]);
    let folder = tempfile::tempdir().unwrap();
    let appended = folder.path().join("appendonlydir");
    std::fs::create_dir(&appended).unwrap();
    std::os::unix::fs::symlink("/dev/full", appended.join("temp-appendonly.aof.incr")).unwrap();
    set(&server, "dir", &folder.path().display().to_string());
    set(&server, "appendonly", "yes");
    let _: String = server.ask(&["SET", "a", "1"]);
    eventually("it failed", || says(&server, "aof_last_write_status:err")).await;
    let findings = look(&server.url()).await;
    assert!(only(&findings, Topic::Persistence, Endangers).what.contains("cannot be written"));
    assert!(refuses_to_write(&server));
}

fn says(server: &RedisServer, line: &str) -> bool {
    let info: String = server.ask(&["INFO", "persistence"]);
    info.contains(line)
}

fn refuses_to_write(server: &RedisServer) -> bool {
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let written = redis::cmd("SET").arg("b").arg(1).query::<()>(&mut connection);
    written.is_err_and(|error| error.code() == Some("MISCONF"))
}
