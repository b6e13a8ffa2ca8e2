//! What is wrong with an address or a server is told at connect.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use idem_redis::{ConnectError, RedisBackend};
use idem_tests::RedisServer;

async fn error(url: &str) -> ConnectError {
    RedisBackend::connect(url).await.unwrap_err()
}

#[tokio::test]
async fn addresses_that_are_none() {
    for url in ["", "localhost", "http://localhost", "redis://localhost/x", "redis://:secret@/"] {
        let error = error(url).await;
        assert!(matches!(error, ConnectError::Setting(_)), "{url}: {error}");
        assert!(!format!("{error}{error:?}").contains("secret"), "{error}");
    }
    let zero = RedisBackend::builder("redis://localhost").command_timeout(Duration::ZERO);
    assert!(matches!(zero.connect().await, Err(ConnectError::Setting(_))));
}

#[tokio::test]
async fn nobody_there() {
    let mut server = RedisServer::start();
    let url = server.url();
    server.kill();
    let error = error(&url).await;
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn somebody_there_who_never_answers() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", silent.local_addr().unwrap());
    let start = tokio::time::Instant::now();
    let error = error(&url).await;
    assert!(error.to_string().contains("no answer in time"), "{error}");
    // A second, and the rest for a busy machine.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// A server that says of itself that it is older, as far as connecting to it goes.
fn old_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = client.read(&mut bytes) {
            let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
            for _ in text.matches("SETINFO") {
                client.write_all(b"+OK\r\n").unwrap();
            }
            if text.contains("HELLO") {
                let hello = b"*4\r\n+server\r\n+redis\r\n+version\r\n+6.2.14\r\n";
                client.write_all(hello).unwrap();
            }
        }
    });
    url
}

#[tokio::test]
async fn a_server_that_is_too_old() {
    let error = error(&old_server()).await;
    assert_eq!(error.to_string(), "redis 6.2.14 is too old for idem: it needs 7.0 or later");
}

#[tokio::test]
async fn a_replica_and_a_node_of_a_cluster() {
    let master = RedisServer::start();
    let port = master.url().rsplit(':').next().unwrap().to_owned();
    let replica = RedisServer::start_with(&["--replicaof", &format!("127.0.0.1 {port}")]);
    let told = error(&replica.url()).await.to_string();
    assert!(told.contains("a read replica: connect to"), "{told}");
    let node = RedisServer::start_with(&["--cluster-enabled", "yes"]);
    let told = error(&node.url()).await.to_string();
    assert!(told.contains("a node of a cluster: use an address"), "{told}");
}

#[tokio::test]
async fn a_server_without_scripts_and_one_that_wants_a_password() {
    let server = RedisServer::start_with(&["--rename-command", "EVALSHA", ""]);
    let told = error(&server.url()).await;
    assert!(matches!(told, ConnectError::Scripting(_)), "{told}");
    let _: String = server.ask(&["CONFIG", "SET", "requirepass", "secret"]);
    let told = error(&server.url()).await;
    assert!(matches!(told, ConnectError::Unreachable { .. }), "{told}");
    assert!(told.to_string().contains("NOAUTH"), "{told}");
}
