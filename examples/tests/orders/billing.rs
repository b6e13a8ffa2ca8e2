//! Whole runs, with consumers that are killed.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use idem_tests::RedisServer;
use serde_json::json;

use crate::kit::{Desk, Said, orders};

/// Longer than any step takes on a busy machine; only a failure waits for so long.
const PATIENCE: Duration = Duration::from_secs(60);
const STREAMS: &str = "examples:orders:*";

/// What holds of every run, whoever was killed when. The bills are counted by somebody else.
fn is_as_it_must(desk: &Desk, said: &Said, orders: usize, kills: usize) {
    said.is_well();
    let bills = desk.bills();
    assert_eq!(bills.len(), orders);
    assert!(bills.values().all(|times| *times == 1), "{bills:?}");
    assert_eq!((said.count("orders:"), said.count("bills,")), (orders as u64, orders as u64));
    assert_eq!((said.count("pending,"), said.count("dead\n")), (0, 0));
    assert_eq!((said.kills(), said.count("consumers killed")), (kills, kills as u64));
}

#[test]
fn ten_kills_lose_nothing_and_repeat_nothing() {
    let desk = Desk::new();
    let said = desk.run(&["--orders", "40", "--kills", "10", "--slow", "3s"]);
    is_as_it_must(&desk, &said, 40, 10);
    assert!(said.count("orders reclaimed") > 0, "{}", said.stdout);
    assert!(said.stdout.contains(" pending, "), "a line a second: {}", said.stdout);
    assert!(!said.stdout.contains('\u{1b}'), "nothing for terminals in a pipe: {}", said.stdout);
}

/// Handlers that take three times as long as a silent consumer's orders are left to it.
#[test]
fn with_nobody_killed_nothing_is_taken_over() {
    let desk = Desk::new();
    let said = desk.run(&["--orders", "6", "--kills", "0", "--slow", "3s"]);
    is_as_it_must(&desk, &said, 6, 0);
    assert!(said.count("renewed") >= 6, "{}", said.stdout);
    let others = ["orders reclaimed", "lost", "deliveries failed"].map(|words| said.count(words));
    assert_eq!(others, [0; 3], "{}", said.stdout);
}

/// Of each consumer that is killed some bills are out that nobody was told of.
#[test]
fn many_quick_orders_on_a_server_that_is_there() {
    let (desk, server) = (Desk::new(), RedisServer::start());
    let args = ["--orders", "3000", "--kills", "4", "--slow", "100ms", "--concurrency", "16"];
    let said = desk.run(&[&args[..], &["--backend", &server.url()]].concat());
    is_as_it_must(&desk, &said, 3_000, 4);
    assert!(said.count("bills were found") > 0, "{}", said.stdout);
    let streams: Vec<String> = server.ask(&["KEYS", STREAMS]);
    assert_eq!(streams, [""; 0]);
}

/// The proof looks at the server too: somebody adds what no consumer can read.
#[test]
fn a_dead_letter_is_told_and_ends_with_one() {
    let (desk, server) = (Desk::new(), RedisServer::start());
    let args = ["--orders", "4", "--kills", "1", "--slow", "2s", "--backend", &server.url()];
    let child = desk.command(&args).stdout(Stdio::piped()).spawn().expect("it starts");
    let began = Instant::now();
    let stream = loop {
        let streams: Vec<String> = server.ask(&["KEYS", STREAMS]);
        match streams.into_iter().find(|stream| !stream.ends_with(":dead")) {
            Some(stream) => break stream,
            None => assert!(began.elapsed() < PATIENCE, "there is no stream"),
        }
        sleep(Duration::from_millis(10));
    };
    let _: String = server.ask(&["XADD", &stream, "*", "id", "no cents"]);
    let ended = child.wait_with_output().expect("it ends");
    let said = Said::from(ended);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert!(said.stdout.contains("\n! 1 orders are in the dead letters\n"), "{}", said.stdout);
    assert!(said.stdout.ends_with("\nnot proved: 1 faults\n"), "{}", said.stdout);
}

/// No consumer outlives the program that started it, however that ended; and it says what it has done.
#[test]
fn a_consumer_ends_with_its_standard_input() {
    let (desk, server) = (Desk::new(), RedisServer::start());
    let _: String =
        server.ask(&["XADD", "examples:orders:{b}", "*", "id", "b-000000", "cents", "500"]);
    let mut consumer = orders(&["--consumer"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = consumer.stdin.take().expect("a pipe");
    let slow = json!({"secs": 0, "nanos": 0});
    let settings = json!({
        "name": "c1", "url": server.url(), "batch": "b", "ledger": desk.ledger(),
        "concurrency": 1, "slow": slow, "kills": 0,
    });
    writeln!(stdin, "{settings}").expect("it reads");
    let mut told = BufReader::new(consumer.stdout.take().expect("a pipe")).lines();
    let is_done = |line: String| line.contains(r#""done":1,"#);
    assert!(told.any(|line| is_done(line.expect("a line"))), "it bills nothing");
    assert!(consumer.try_wait().expect("a process").is_none(), "it works until it is told");
    drop(stdin);
    assert!(consumer.wait().expect("it ends").success());
    assert_eq!(desk.bills().into_iter().collect::<Vec<_>>(), [("b-000000".to_owned(), 1)]);
}
