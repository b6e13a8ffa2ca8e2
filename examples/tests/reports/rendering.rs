//! Whole runs, with workers that are killed.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use idem_tests::RedisServer;
use serde_json::json;

use crate::kit::{Desk, Said, reports};

/// Longer than any step takes on a busy machine; only a failure waits for so long.
const PATIENCE: Duration = Duration::from_secs(60);
/// About as many as there are renderings.
const KILLS: &str = "12";

/// What holds of every run, whoever was killed when.
fn is_as_it_must(desk: &Desk, said: &Said, requests: usize) {
    said.is_well();
    let [asked, new, replays, refused] = said.totals();
    assert_eq!((asked, refused), (new + replays, 0), "{}", said.stdout);
    assert!(replays > new, "{}", said.stdout);

    let begun = desk.noted("begun");
    let rendered = ["done", "failed", "cancelled", "killed", "lost"].map(|fate| said.count(fate));
    assert_eq!(rendered.iter().sum::<usize>(), begun.len(), "{}", said.stdout);
    let [done, failed, cancelled, killed, _] = rendered;
    assert_eq!((done, desk.noted("cancelled").len()), (requests, 1), "{}", said.stdout);
    // What is cancelled between its worker's first command and its body is not rendered.
    assert!(failed >= failing(requests) && cancelled <= 1, "{}", said.stdout);
    assert!(killed > 0 && killed <= desk.noted("killed").len(), "{}", said.stdout);

    // The effects, counted by somebody else.
    let mut mails = BTreeMap::new();
    for mail in desk.noted("mail") {
        *mails.entry(mail["request"].to_string()).or_insert(0) += 1;
    }
    assert_eq!(mails.len(), requests);
    assert!(mails.values().all(|times| *times == 1), "{mails:?}");
    assert!(desk.noted("mail_answered").len() > requests, "{}", said.stdout);
    assert_eq!(desk.noted("received").len(), requests);
    desk.check_again().is_well();
}

/// How many are to fail once.
fn failing(requests: usize) -> usize {
    (requests + 2) / 4
}

#[test]
fn in_this_process_with_tasks_that_are_stopped() {
    let desk = Desk::new();
    let said = desk.run(&["--requests", "10", "--kills", KILLS]);
    is_as_it_must(&desk, &said, 10);
}

#[test]
fn on_redis_with_processes_that_are_killed() {
    let (desk, server) = (Desk::new(), RedisServer::start());
    let args = ["--requests", "10", "--kills", KILLS, "--backend", &server.url()];
    is_as_it_must(&desk, &desk.run(&args), 10);
    let queues: Vec<String> = server.ask(&["KEYS", "examples:reports:*"]);
    assert_eq!(queues, [""; 0]);
}

#[test]
fn with_nobody_killed_each_run_ends_by_itself() {
    let desk = Desk::new();
    let said = desk.run(&["--requests", "4", "--workers", "4", "--kills", "0"]);
    said.is_well();
    let ended = ["killed", "failed", "cancelled"].map(|what| desk.noted(what).len());
    assert_eq!((ended, said.count("done")), ([0, 1, 1], 4), "{}", said.stdout);
    assert_eq!(said.totals()[1], 4 + 1 + 1, "{}", said.stdout);
}

#[test]
fn the_same_words_are_a_replay_and_verbose_says_of_which_run() {
    let desk = Desk::new();
    let said = desk.run(&["--requests", "1", "--kills", "0", "--verbose"]);
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    let told = |what: &str| said.stderr.lines().filter(|line| line.contains(what)).count();
    assert_eq!(told(": new run "), said.totals()[1], "{}", said.stderr);
    assert_eq!(told(": replay: run "), said.totals()[2], "{}", said.stderr);
    assert_eq!((told(": cancelled run "), told(" pages of run ")), (1, 1), "{}", said.stderr);
}

/// No worker outlives the program that started it, however that ended.
#[test]
fn a_worker_ends_with_its_standard_input() {
    const QUEUE: &str = "examples:reports:b";
    let (desk, server) = (Desk::new(), RedisServer::start());
    let _: String = server.ask(&["XGROUP", "CREATE", QUEUE, "workers", "0", "MKSTREAM"]);
    // Of a run of which nothing is known: it is done with.
    let request = json!({"id": "r", "pages": 5, "fails_once": false});
    let order = json!({"run": "0".repeat(32), "request": request}).to_string();
    let _: String = server.ask(&["XADD", QUEUE, "*", "order", &order]);

    let mut worker = reports(&["--worker"]).stdin(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = worker.stdin.take().expect("a pipe");
    let (url, ledger) = (server.url(), desk.ledger());
    let settings = json!({"name": "w1", "url": url, "batch": "b", "ledger": ledger});
    writeln!(stdin, "{settings}").expect("it reads");
    let began = Instant::now();
    let has_taken_it = || {
        let workers: Vec<redis::Value> = server.ask(&["XINFO", "CONSUMERS", QUEUE, "workers"]);
        !workers.is_empty()
    };
    while !has_taken_it() {
        assert!(worker.try_wait().expect("a process").is_none(), "it works until it is told");
        assert!(began.elapsed() < PATIENCE, "it takes no order");
        sleep(Duration::from_millis(20));
    }
    drop(stdin);
    assert!(worker.wait().expect("it ends").success());
}
