//! What the program may be asked.

use idem_tests::RedisServer;

use crate::kit::{Desk, reports, run};

#[test]
fn help_explains_everything_and_not_what_is_for_workers_only() {
    let said = run(&["--help"]);
    assert_eq!((said.code, &*said.stderr), (Some(0), ""));
    for word in [
        "--requests",
        "--workers",
        "--kills",
        "--seed",
        "--backend",
        "--ledger",
        "--check",
        "--verbose",
        "The table",
        "replays",
        "What is proved",
        "Exit status:",
        "RUST_LOG",
    ] {
        assert!(said.stdout.contains(word), "{word} is missing: {}", said.stdout);
    }
    assert!(!said.stdout.contains("--worker "), "{}", said.stdout);
}

#[test]
fn a_wrong_command_line_ends_with_two() {
    for args in [
        &["--requests", "0"][..],
        &["--workers", "65"],
        &["--kills", "-1"],
        &["--seed", "x"],
        &["--check", "ledger", "--requests", "1"],
        &["--worker", "--kills", "1"],
        &["something"],
    ] {
        let said = run(args);
        assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{args:?}");
    }
}

#[test]
fn what_it_cannot_run_with_is_one_line() {
    let desk = Desk::new();
    desk.run(&["--backend", "sqlite"]).failed(2, "there is no backend \"sqlite\"");
    std::fs::remove_file(desk.ledger()).expect("an empty ledger");
    let mut server = RedisServer::start();
    server.kill();
    let address = server.url().replace("redis://", "");
    desk.run(&["--backend", &server.url()])
        .failed(2, &format!("cannot connect to Redis at {address}: "));
    run(&["--ledger", "/no/such/folder/ledger"])
        .failed(2, "cannot write the ledger /no/such/folder");
    run(&["--worker"]).failed(2, "a worker is started by this program only");
}

#[test]
fn a_ledger_that_is_there_is_left_alone() {
    let desk = Desk::new();
    std::fs::write(desk.ledger(), "mine\n").unwrap();
    let path = desk.ledger().display().to_string();
    desk.run(&[]).failed(2, &format!("{path} is there already: give --ledger a new path"));
    assert_eq!(std::fs::read_to_string(desk.ledger()).unwrap(), "mine\n");
}

/// The plain command can be run again: without --ledger each run has a new one, and says which.
#[test]
fn without_a_ledger_each_run_has_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    for nth in 1..=2 {
        let args = ["--requests", "1", "--kills", "0", "--seed", "3"];
        let output = reports(&args).env("TMPDIR", folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("reports-ledger-") && said.contains("seed 3"), "{said}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), nth);
    }
}
