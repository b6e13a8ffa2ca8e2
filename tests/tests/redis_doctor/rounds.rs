//! How long round trips take, and servers that do not answer.

use std::time::Duration;

use idem_redis::Severity::Degrades;
use idem_redis::{ConnectError, RedisBackend, Topic};

use crate::between::{Twist, between};
use crate::kit::{builder, healthy, is_well, only};

#[tokio::test]
async fn round_trips_that_are_slow() {
    let server = healthy();
    // More than a tenth of a second, the command timeout, and less than half of it.
    let slow = between(server.port(), Twist::Late(Duration::from_millis(150))).await;
    let backend = RedisBackend::connect(&format!("redis://127.0.0.1:{slow}")).await.unwrap();
    let findings = backend.doctor().await.unwrap();
    let finding = only(&findings, Topic::Latency, Degrades);
    assert!(finding.what.starts_with("10 round trips took 1"), "{finding}");
    // Slow is what the command timeout makes slow.
    let patient = builder(&format!("redis://127.0.0.1:{slow}")).connect().await.unwrap();
    is_well(&patient.doctor().await.unwrap());
}

#[tokio::test]
async fn a_command_that_is_not_answered() {
    let server = healthy();
    let deaf = between(server.port(), Twist::Swallow("*2\r\n$10\r\n")).await;
    let backend = RedisBackend::connect(&format!("redis://127.0.0.1:{deaf}")).await.unwrap();
    let findings = backend.doctor().await.unwrap();
    let finding = only(&findings, Topic::Latency, Degrades);
    assert!(finding.what.contains("one was not answered within 1s"), "{finding}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error() {
    let mut server = healthy();
    let backend = builder(&server.url()).connect().await.unwrap();
    server.kill();
    let error = backend.doctor().await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}
