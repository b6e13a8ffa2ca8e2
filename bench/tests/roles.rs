//! The processes that the suites `redis` and `keeper` start, each in its role for a moment: that they
//! do their part, not how fast.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use idem_processes::{Program, RedisServer};
use idem_redis::RedisBackend;
use idem_runtime::{Error, Idem};
use serde_json::{Value, json};
use tokio::time::sleep;

fn in_role(role: &Value) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_idem-bench"));
    command.args(["--role", &role.to_string()]);
    command
}

/// Renewals every second, each lease good for four: only a machine that stands still for two seconds
/// puts one at risk.
fn held(url: Option<&str>) -> Value {
    let hold = json!({
        "url": url,
        "leases": 200,
        "lease": { "secs": 4, "nanos": 0 },
        "rounds": 2,
        "round": { "secs": 1, "nanos": 500_000_000 },
    });
    let output = in_role(&json!({ "Holder": hold })).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn leases_are_held_on_either_store() {
    let server = RedisServer::start();
    for url in [None, Some(server.url())] {
        let held = held(url.as_deref());
        assert_eq!(held["lost"], 0, "{held}");
        let rounds = held["rounds"].as_array().unwrap();
        assert_eq!(rounds.len(), 2);
        for round in rounds {
            // Each is renewed once or twice in a round.
            assert!(round["renewals_a_second"].as_f64().unwrap() > 100.0, "{held}");
            assert!(round["least_left_ms"].as_f64().unwrap() > 0.0, "{held}");
        }
    }
}

#[tokio::test]
async fn a_waiter_tells_when_it_has_the_outcome_of_another_process() {
    let server = RedisServer::start();
    let role = json!({ "Waiter": { "url": server.url(), "prefix": "here" } });
    let mut waiter: Program<Value> = Program::start(&mut in_role(&role));
    waiter.hear("it is ready", |told| (told == "Ready").then_some(()));
    let backend = RedisBackend::connect(&server.url()).await.unwrap();
    let idem = Idem::builder().backend(backend).prefix("here").build().unwrap();
    let call = idem.call("bench.waited_for").key("a").run(async |_| {
        waiter.ask(&"a");
        until_somebody_waits(&server).await;
        Ok::<u64, Error>(7)
    });
    assert!(call.await.unwrap().stored);
    let at = waiter.hear("the answer", |told| told["Answered"]["at_ns"].as_u64());
    assert!(at > 0);
}

async fn until_somebody_waits(server: &RedisServer) {
    let watchers = || {
        let ask = ["PUBSUB", "SHARDNUMSUB", "here:bench.waited_for:a"];
        server.ask::<(String, u64)>(&ask).1
    };
    // Longer than a process takes to subscribe on a busy machine; only a failure takes as long.
    let until = Instant::now() + Duration::from_secs(20);
    while watchers() == 0 {
        assert!(Instant::now() < until, "nobody waits");
        sleep(Duration::from_millis(1)).await;
    }
}
