//! What can be asked of the program, and where its output goes.

use std::process::{Command, Stdio};

#[cfg(target_os = "linux")]
use crate::kit::os_error;
use crate::kit::{Desk, Said};

fn help(flag: &str) -> Said {
    Command::new(env!("CARGO_BIN_EXE_webhooks")).arg(flag).output().expect("it runs").into()
}

#[test]
fn help_explains_everything() {
    let said = help("--help");
    said.is_well();
    for word in [
        "[FILE]",
        "--ledger",
        "--concurrency",
        "--backend",
        "--crash-after",
        "--verbose",
        "default: 16",
        "default: a new file",
        "Deliveries:",
        "simulate",
        "The table:",
        "replayed",
        "Exit status:",
        "130",
        "RUST_LOG",
    ] {
        assert!(said.stdout.contains(word), "{word} is missing: {}", said.stdout);
    }
    let short = help("-h");
    short.is_well();
    assert!(short.stdout.lines().count() < said.stdout.lines().count() / 2);
}

#[test]
fn the_memory_backend_is_the_default_and_others_are_unknown() {
    Desk::new().feed(&["--backend", "memory"], "{\"id\":\"a\"}\n").is_well();
    let said = Desk::new().run(&["--backend", "sled"]);
    said.failed(1, "there is no backend \"sled\": use --backend memory or redis://host:port");
}

#[test]
fn numbers_are_in_their_range() {
    for (flag, number) in [
        ("--concurrency", "0"),
        ("--concurrency", "5000"),
        ("--crash-after", "0"),
        ("--crash-after", "x"),
    ] {
        let said = Desk::new().run(&[flag, number]);
        assert_eq!((said.code, &*said.stdout), (Some(2), ""));
        assert!(said.stderr.contains(flag) && said.stderr.contains(number), "{}", said.stderr);
    }
}

#[test]
fn verbose_tells_of_each_delivery() {
    let deliveries = "{\"id\":\"a\"}\n{\"id\":\"a\"}\n{\"id\":\"a\",\"data\":1}\n\
        {\"id\":\"b\",\"simulate\":{\"fail\":\"for_good\"}}\n\
        {\"id\":\"c\\n\",\"simulate\":{\"fail\":\"once\"}}\n";
    let said = Desk::new().feed(&["--verbose", "--concurrency", "1"], deliveries);
    assert_eq!(said.code, Some(0));
    let lines: Vec<_> = said.stderr.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "webhooks: line 1: a: handled: booked at byte 0",
            "webhooks: line 2: a: replayed: booked at byte 0"
        ]
    );
    assert!(lines[2].starts_with("webhooks: line 3: a: refused: webhooks.handle"), "{}", lines[2]);
    assert!(lines[2].contains("this key was used before with other arguments"), "{}", lines[2]);
    assert_eq!(
        lines[3..],
        [
            "webhooks: line 4: b: failed for good: the event is rejected for good",
            "webhooks: line 5: c\\n: failed for now: the handler failed for now",
        ]
    );
}

#[test]
fn failures_for_good_are_replayed_and_those_for_now_run_again() {
    let good = "{\"id\":\"a\",\"simulate\":{\"fail\":\"for_good\"}}\n";
    let once = "{\"id\":\"b\",\"simulate\":{\"fail\":\"once\"}}\n";
    for concurrency in ["1", "16"] {
        let said =
            Desk::new().feed(&["--concurrency", concurrency], good.repeat(3) + &once.repeat(3));
        said.is_well();
        assert_eq!((said.count("failed"), said.count("handled")), (2, 1), "{}", said.stdout);
        assert_eq!(said.count("replayed") + said.count("waited"), 3, "{}", said.stdout);
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let desk = Desk::new();
    let mut child = desk.start(&[]);
    // As `head` does, only sooner: nobody reads when the table comes.
    drop(child.stdout.take());
    let said = Said::from(child.wait_with_output().expect("it ends"));
    assert_eq!((said.code, &*said.stderr), (Some(0), ""));
}

#[cfg(unix)]
#[test]
fn head_gets_its_line() {
    let desk = Desk::new();
    let mut webhooks =
        desk.command(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let table = webhooks.stdout.take().expect("a pipe");
    let head = Command::new("head").arg("-1").stdin(table).output().expect("head runs");
    assert_eq!(String::from_utf8_lossy(&head.stdout).trim_end(), "deliveries          393");
    let said = Said::from(webhooks.wait_with_output().expect("it ends"));
    assert_eq!((said.code, &*said.stderr), (Some(0), ""));
}

#[test]
fn nobody_listening_on_standard_error_is_no_failure() {
    let desk = Desk::new();
    let mut child = desk.start(&["-"]);
    drop(child.stderr.take());
    let mut stdin = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, b"nope\n{\"id\":\"a\"}\n").expect("it is read");
    drop(stdin);
    let said = Said::from(child.wait_with_output().expect("it ends"));
    assert_eq!((said.code, said.count("handled"), said.count("invalid lines")), (Some(3), 1, 1));
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_one_line() {
    let desk = Desk::new();
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
    let output = desk.command(&[]).stdin(Stdio::null()).stdout(full).output().expect("it runs");
    Said::from(output).failed(1, &format!("cannot write to standard output: {}", os_error(28)));
}

#[test]
fn what_idem_tells_is_there_for_the_asking() {
    let desk = Desk::new();
    let output = desk
        .command(&[])
        .stdin(Stdio::null())
        .env("RUST_LOG", "idem=trace")
        .output()
        .expect("it runs");
    let said = Said::from(output);
    assert_eq!(said.code, Some(0));
    assert!(
        said.stderr.contains("the memory backend protects this process only"),
        "{}",
        said.stderr
    );
}

/// The plain command can be run again: without --ledger each run has a new one, and says which.
#[test]
fn without_a_ledger_each_run_has_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let run = || {
        let mut webhooks = std::process::Command::new(env!("CARGO_BIN_EXE_webhooks"));
        let output = webhooks.env("TMPDIR", folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("webhooks-ledger-") && said.contains("0 lines before"), "{said}");
    };
    run();
    run();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    let missing = folder.path().join("missing");
    let mut webhooks = std::process::Command::new(env!("CARGO_BIN_EXE_webhooks"));
    let output = webhooks.env("TMPDIR", &missing).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--ledger"));
}
