//! What the proof would not let pass: ledgers that tell of it.

use serde_json::{Value, json};

use crate::kit::{Desk, run};

const A: &str = "0000000000000000000000000000000a";
const B: &str = "0000000000000000000000000000000b";

fn line(at_ms: u64, what: &str, more: Value) -> String {
    let mut line = json!({"at_us": at_ms * 1_000, "what": what});
    let Value::Object(more) = more else { panic!("fields, not {more}") };
    for (field, value) in more {
        line[field] = value;
    }
    line.to_string()
}

/// A sign of life of the rendering of a run by a worker that holds its lease for 900 ms more.
fn sign(at_ms: u64, what: &str, run: &str, worker: &str) -> String {
    let more = json!({"request": "r", "run": run, "worker": worker, "holds_us": 900_000});
    line(at_ms, what, more)
}

fn opened() -> String {
    line(0, "opened", json!({"hold_us": 2_000_000, "requests": ["r"]}))
}

fn of_run(at_ms: u64, what: &str, run: &str) -> String {
    line(at_ms, what, json!({"request": "r", "run": run}))
}

fn mail(at_ms: u64) -> String {
    line(at_ms, "mail", json!({"request": "r"}))
}

fn killed(at_ms: u64, worker: &str) -> String {
    line(at_ms, "killed", json!({"worker": worker}))
}

/// A run that is killed with its last sign of life at 200 ms, and another one that begins then.
fn two_runs(second_begins: u64) -> Vec<String> {
    vec![
        opened(),
        sign(100, "begun", A, "w1"),
        sign(200, "page", A, "w1"),
        mail(200),
        killed(300, "w1"),
        sign(second_begins, "begun", B, "w2"),
        sign(second_begins + 100, "done", B, "w2"),
        of_run(second_begins + 200, "received", B),
    ]
}

#[track_caller]
fn is_told(lines: &[String], told: &str) {
    let said = Desk::new().check(lines);
    assert_eq!((said.code, said.faults()), (Some(1), vec![told]), "{}", said.stderr);
    assert!(said.stdout.ends_with("not proved: 1 faults\n"), "{}", said.stdout);
    assert!(!said.stdout.contains("\nproved: "), "{}", said.stdout);
}

/// 200 ms and 900 ms of lease and 2 s of hold.
#[test]
fn a_rendering_before_the_earlier_run_was_lost() {
    let said = Desk::new().check(&two_runs(3_100));
    said.is_well();
    assert!(said.stdout.contains("2 renderings: 1 done, 1 killed"), "{}", said.stdout);
    assert!(said.stdout.contains("began 0.000 s after"), "{}", said.stdout);
    is_told(
        &two_runs(3_099),
        "r: w2 began 0.001 s before the run of w1 could not succeed any more",
    );
}

#[test]
fn a_run_that_failed_or_was_cancelled_is_not_waited_for() {
    for ended in [sign(250, "failed", A, "w1"), of_run(250, "cancelled", A)] {
        let mut lines = two_runs(251);
        lines.insert(4, ended.clone());
        Desk::new().check(&lines).is_well();
        let mut lines = two_runs(249);
        lines.insert(4, ended);
        is_told(&lines, "r: w2 began 0.001 s before the run of w1 could not succeed any more");
    }
}

/// A worker that has no lease any more, and still moves, claims nothing.
#[test]
fn a_sign_of_life_without_a_lease_is_none() {
    let mut lines = two_runs(3_100);
    let more = json!({"request": "r", "run": A, "worker": "w1", "holds_us": 0});
    lines.push(line(5_000, "page", more));
    Desk::new().check(&lines).is_well();
}

#[test]
fn a_rendering_after_the_report_was_there() {
    let mut lines = two_runs(3_100);
    lines.extend([sign(90_000, "begun", A, "w3"), killed(90_001, "w3")]);
    let said = Desk::new().check(&lines);
    assert_eq!(
        said.faults(),
        [
            &*format!("r: run {A} was rendered twice"),
            "r: w3 began, and the run of w2 had the report"
        ]
    );
    assert_eq!(said.code, Some(1));
}

#[test]
fn a_run_that_was_rendered_twice() {
    let mut lines = two_runs(3_100);
    lines.extend([sign(1, "begun", B, "w0"), sign(2, "failed", B, "w0")]);
    let said = Desk::new().check(&lines);
    assert!(said.faults().contains(&&*format!("r: run {B} was rendered twice")), "{}", said.stdout);
    assert_eq!(said.code, Some(1));
}

#[test]
fn an_e_mail_that_was_sent_twice_or_not() {
    let mut lines = two_runs(3_100);
    lines.push(mail(3_150));
    is_told(&lines, "r: its e-mail was sent 2 times");
    let mut lines = two_runs(3_100);
    lines.remove(3);
    is_told(&lines, "r: its e-mail was sent 0 times");
}

#[test]
fn a_request_without_its_report() {
    let mut lines = two_runs(3_100);
    let received = lines.pop().unwrap();
    is_told(&lines, "r: it has no report");
    lines.remove(6);
    lines.push(received.clone());
    is_told(&lines, &format!("r: its report is of run {B}, which was not rendered to its end"));
    let mut lines = two_runs(3_100);
    lines.push(received);
    is_told(&lines, "r: it has more than one report");
}

#[test]
fn lines_that_do_not_belong_there() {
    let strange =
        [mail(1).replace("\"r\"", "\"x\""), "{\"at_us\":".to_owned(), sign(1, "page", A, "w9")];
    for line in strange {
        let mut lines = two_runs(3_100);
        lines.push(line.clone());
        is_told(&lines, &format!("strange line 9: {line}"));
    }
}

#[test]
fn what_is_no_ledger_is_one_line() {
    let desk = Desk::new();
    let path = desk.ledger().display().to_string();
    desk.check_again().failed(2, &format!("cannot read the ledger {path}: "));
    for lines in [&[][..], &[mail(1)], &["nope".to_owned()]] {
        desk.check(lines).failed(2, &format!("{path} is no ledger of this program: "));
    }
    run(&["--check", "/"]).failed(2, "cannot read the ledger /: ");
}
