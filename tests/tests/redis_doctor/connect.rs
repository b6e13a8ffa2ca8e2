//! What is logged when a backend connects.

use std::fmt::{self, Write};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use idem_redis::RedisBackend;
use idem_tests::{RedisCluster, RedisServer};
use tokio::time::Instant;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, SubscriberExt};

use crate::between::{Twist, between};
use crate::kit::{builder, healthy, set};

/// Every warning of the process, as a line: whose it is shows from the port in it.
static LINES: LazyLock<Mutex<Vec<String>>> = LazyLock::new(|| {
    let subscriber = tracing_subscriber::registry().with(Warnings);
    tracing::subscriber::set_global_default(subscriber).unwrap();
    Mutex::default()
});

struct Warnings;

#[derive(Default)]
struct Line(String);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Warnings {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() == tracing::Level::WARN {
            let mut line = Line::default();
            event.record(&mut line);
            LINES.lock().unwrap_or_else(PoisonError::into_inner).push(line.0);
        }
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

/// What is logged of a port while connecting to it.
async fn logged(port: u16, url: &str) -> Vec<String> {
    LazyLock::force(&LINES);
    builder(url).connect().await.unwrap();
    lines_of(port)
}

fn lines_of(port: u16) -> Vec<String> {
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    let of_port = format!(":{port}\"");
    lines.iter().filter(|line| line.contains(&of_port)).cloned().collect()
}

#[tokio::test]
async fn what_endangers_the_promises_is_logged() {
    let server = RedisServer::start_with(&[
        "--maxmemory",
        "100mb",
        "--maxmemory-policy",
        "volatile-lru",
        "--appendfsync",
        "no",
    ]);
    let lines = logged(server.port(), &server.url()).await;
    let [persistence, memory] = &*lines else { panic!("{lines:#?}") };
    assert!(persistence.contains("appendonly yes") && persistence.contains("topic=persistence"));
    assert!(memory.contains("volatile-lru") && memory.contains("noeviction"), "{memory}");
}

#[tokio::test]
async fn what_does_not_is_not() {
    let server = healthy();
    // It degrades only.
    set(&server, "maxmemory-policy", "volatile-lru");
    assert_eq!(logged(server.port(), &server.url()).await, [""; 0]);
}

/// A user without the right to ask is not in the server's log of denials for it.
#[tokio::test]
async fn a_right_that_is_missing_is_no_matter() {
    let server = RedisServer::start();
    let user = ["ACL", "SETUSER", "idem", "on", ">secret", "~*", "&*", "+@all", "-info"];
    let _: String = server.ask(&user);
    assert_eq!(logged(server.port(), &server.url_of("idem", "secret")).await, [""; 0]);
    let denied: Vec<redis::Value> = server.ask(&["ACL", "LOG"]);
    assert!(denied.is_empty(), "{denied:?}");
}

/// A node that stands still keeps the others from nothing.
#[tokio::test]
async fn every_node_that_is_there_is_looked_at() {
    let cluster = RedisCluster::start();
    cluster.nodes()[2].pause();
    LazyLock::force(&LINES);
    RedisBackend::connect(&cluster.url()).await.unwrap();
    for node in &cluster.nodes()[..2] {
        let lines = lines_of(node.port());
        assert!(lines.iter().any(|line| line.contains("appendonly yes")), "{lines:#?}");
    }
    cluster.nodes()[2].resume();
}

/// The look takes no longer than one command may, and connecting succeeds without it.
#[tokio::test]
async fn an_answer_that_never_comes_does_not_hold_up_connecting() {
    let server = RedisServer::start();
    let deaf = between(server.port(), Twist::Swallow("aof_enabled")).await;
    let start = Instant::now();
    let url = format!("redis://127.0.0.1:{deaf}");
    RedisBackend::connect(&url).await.unwrap();
    // A second, and the rest for a busy machine.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(start.elapsed() >= Duration::from_millis(900), "it was asked: {:?}", start.elapsed());
}

/// Two answers, each in time for a command: the look has the time of one.
#[tokio::test]
async fn a_look_that_takes_too_long_is_given_up() {
    let server = RedisServer::start();
    // Each answer leaves a busy machine more than a second, and two of them are too late.
    let (late, limit) = (Duration::from_millis(1_700), Duration::from_secs(3));
    let port = between(server.port(), Twist::Late(late)).await;
    LazyLock::force(&LINES);
    let builder = RedisBackend::builder(format!("redis://127.0.0.1:{port}"));
    builder.connect_timeout(limit * 2).command_timeout(limit).connect().await.unwrap();
    assert_eq!(lines_of(port), [""; 0]);
}
