//! The ledger and the proof: lines that are whole, counted from the disk, with honest reasons.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::kit::{Desk, Said, os_error, shown};

#[test]
fn lines_are_added_to_a_ledger_that_exists() {
    let desk = Desk::new();
    desk.feed(&[], "{\"id\":\"a\"}\n").is_well();
    let said = desk.feed(&[], "{\"id\":\"b\"}\n");
    said.is_well();
    assert!(said.stdout.contains("1 lines before this run, 1 since"), "{}", said.stdout);
    assert_eq!(said.verdict(), "2 events, 2 ledger lines, no event twice");
}

#[test]
fn a_second_run_says_that_the_memory_backend_forgot() {
    let desk = Desk::new();
    desk.feed(&[], "{\"id\":\"a\"}\n{\"id\":\"b\"}\n").is_well();
    let said = desk.feed(&[], "{\"id\":\"b\"}\n");
    assert_eq!((said.code, &*said.stderr, said.count("handled")), (Some(4), "", 1));
    assert!(said.stdout.contains(
        "2 events, 3 ledger lines\n1 events with more than one ledger line:\n  b: 2 lines\n"
    ));
    assert!(
        said.verdict()
            .starts_with("1 of them had a line before this run began: the memory backend forgets")
    );
}

#[cfg(unix)]
#[test]
fn a_crash_is_after_the_effect_and_the_second_run_finds_it() {
    use std::os::unix::process::ExitStatusExt;
    const ABORTED: i32 = 6;

    let desk = Desk::new();
    let crashed =
        desk.command(&["--crash-after", "5"]).stdin(Stdio::null()).output().expect("it runs");
    assert_eq!(crashed.status.signal(), Some(ABORTED));
    assert!(crashed.stdout.is_empty());
    let said = Said::from(crashed).stderr;
    assert!(
        said.starts_with("webhooks: --crash-after 5: the process ends here")
            && said.lines().count() == 1,
        "{said}"
    );
    assert_eq!(desk.booked().values().copied().collect::<Vec<_>>(), [1; 5]);

    let said = desk.run(&[]);
    assert_eq!((said.code, said.count("handled")), (Some(4), 255));
    assert!(
        said.stdout
            .contains("255 events, 260 ledger lines\n5 events with more than one ledger line:\n")
    );
    assert!(
        said.verdict()
            .starts_with("5 of them had a line before this run began: the memory backend forgets")
    );
}

#[test]
fn a_crash_that_is_not_reached_changes_nothing() {
    Desk::new().feed(&["--crash-after", "2"], "{\"id\":\"a\"}\n").is_well();
}

#[test]
fn what_is_twice_in_an_old_ledger_is_found() {
    let desk = Desk::new();
    desk.file("ledger.jsonl", "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"a\"}\n");
    let said = desk.feed(&[], "");
    assert_eq!((said.code, &*said.stderr), (Some(4), ""));
    assert!(
        said.stdout.contains("1 events with more than one ledger line:\n  a: 2 lines\n"),
        "{}",
        said.stdout
    );
    assert_eq!(said.verdict(), "1 of them had more than one line before this run began.");
}

#[test]
fn of_many_offenders_the_first_are_listed() {
    let desk = Desk::new();
    let lines: String =
        (0..25).map(|nth| format!("{{\"id\":\"e{nth:02}\"}}\n").repeat(2)).collect();
    desk.file("ledger.jsonl", lines);
    let said = desk.feed(&[], "");
    assert_eq!(said.code, Some(4));
    assert!(said.stdout.contains("  e19: 2 lines\n  and 5 more\n"), "{}", said.stdout);
}

#[test]
fn a_torn_line_is_found_and_nothing_runs_into_it() {
    let desk = Desk::new();
    desk.file("ledger.jsonl", "{\"id\":\"a\"}\n{\"id\":\"to");
    let said = desk.feed(&[], "{\"id\":\"b\"}\n");
    assert_eq!((said.code, &*said.stderr), (Some(4), ""));
    assert!(
        said.stdout
            .contains("1 damaged ledger lines:\n  line 2: not JSON: EOF while parsing a string")
    );
    assert_eq!(
        said.verdict(),
        "2 events, 3 ledger lines, no event twice among the lines that are whole"
    );
    assert!(fs::read_to_string(desk.ledger()).expect("a ledger").ends_with("\n{\"id\":\"b\"}\n"));
}

#[test]
fn a_ledger_that_loses_lines_is_found_out() {
    let desk = Desk::new();
    let mut child = desk.start(&["-"]);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"{\"id\":\"a\"}\n").expect("it is read");
    desk.wait_for_lines(1);
    desk.file("ledger.jsonl", "");
    drop(stdin);
    let said = Said::from(child.wait_with_output().expect("it ends"));
    assert_eq!((said.code, said.count("handled")), (Some(4), 1));
    assert!(
        said.stdout.contains("1 lines were written, 0 are there: the ledger has lost lines"),
        "{}",
        said.stdout
    );
}

#[test]
fn a_ledger_that_is_gone_is_one_line() {
    let desk = Desk::new();
    let mut child = desk.start(&["-"]);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"{\"id\":\"a\"}\n").expect("it is read");
    desk.wait_for_lines(1);
    fs::remove_file(desk.ledger()).expect("it is there");
    drop(stdin);
    let said = Said::from(child.wait_with_output().expect("it ends"));
    said.failed(
        1,
        &format!("cannot read the ledger {} back: {}", shown(&desk.ledger()), os_error(2)),
    );
}

#[test]
fn processes_that_share_a_ledger_tear_no_line() {
    let desk = Desk::new();
    let lines = |whose: &str| -> String {
        (0..100)
            .map(|nth| format!("{{\"id\":\"{whose}{nth}\",\"data\":\"{}\"}}\n", "x".repeat(50_000)))
            .collect()
    };
    std::thread::scope(|scope| {
        for whose in ["a", "b", "c"] {
            let (desk, lines) = (&desk, lines(whose));
            scope.spawn(move || desk.feed(&[], lines).is_well());
        }
    });
    let booked = desk.booked();
    assert_eq!((booked.len(), booked.values().sum::<usize>()), (300, 300));
}

#[test]
fn a_ledger_that_cannot_be_opened_is_one_line() {
    let desk = Desk::new();
    fs::create_dir(desk.ledger()).expect("a directory");
    let ledger = shown(&desk.ledger());
    desk.run(&[]).failed(1, &format!("cannot write the ledger {ledger}: {}", os_error(21)));

    fs::remove_dir(desk.ledger()).expect("it is there");
    desk.file("file", "");
    let below = shown(&desk.path("file/ledger"));
    let said = run_with_ledger(&desk, &below);
    said.failed(1, &format!("cannot write the ledger {below}: {}", os_error(20)));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_line_and_the_table_says_what_was_done() {
    let desk = Desk::new();
    let said = run_with_ledger(&desk, "/dev/full");
    said.failed(1, &format!("cannot write the ledger /dev/full: {}", os_error(28)));
    assert_eq!(said.count("handled"), 0);
    assert!(said.count("failed") <= 16, "reading stops at the first failure: {}", said.stdout);
}

#[cfg(unix)]
#[test]
fn a_ledger_that_keeps_nothing_proves_nothing() {
    let desk = Desk::new();
    let said = run_with_ledger(&desk, "/dev/null");
    said.failed(1, "cannot read the ledger /dev/null back: it is not a regular file");
}

fn run_with_ledger(desk: &Desk, ledger: &str) -> Said {
    let deliveries = shown(&desk.file(
        "deliveries.jsonl",
        (0..500).map(|nth| format!("{{\"id\":\"{nth}\"}}\n")).collect::<String>(),
    ));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_webhooks"));
    command.args([&*deliveries, "--ledger", ledger]).output().expect("it runs").into()
}
