//! What the program may be asked.

use idem_tests::RedisServer;

use crate::kit::{Desk, Said, orders, run};

#[test]
fn help_explains_everything_and_not_what_is_for_consumers_only() {
    let said = run(&["--help"]);
    assert_eq!((said.code, &*said.stderr), (Some(0), ""));
    for word in [
        "--orders",
        "--consumers",
        "--concurrency",
        "--kills",
        "--slow",
        "--seed",
        "--backend",
        "--ledger",
        "The table",
        "reconciled",
        "What is proved",
        "Exit status:",
        "RUST_LOG",
    ] {
        assert!(said.stdout.contains(word), "{word} is missing: {}", said.stdout);
    }
    assert!(!said.stdout.contains("--consumer\n"), "{}", said.stdout);
}

#[test]
fn a_wrong_command_line_ends_with_two() {
    for args in [
        &["--orders", "0"][..],
        &["--consumers", "65"],
        &["--concurrency", "0"],
        &["--kills", "-1"],
        &["--slow", "3"],
        &["--slow", "3601s"],
        &["--seed", "x"],
        &["--consumer", "--kills", "1"],
        &["something"],
    ] {
        let said = run(args);
        assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{args:?}");
    }
}

#[test]
fn what_it_cannot_run_with_is_one_line() {
    let mut server = RedisServer::start();
    server.kill();
    Desk::new()
        .run(&["--backend", &server.url()])
        .failed(2, "cannot connect to Redis for the orders: ");
    run(&["--ledger", "/no/such/folder/ledger"])
        .failed(2, "cannot write the ledger /no/such/folder");
    run(&["--consumer"]).failed(2, "a consumer is started by this program only");
    let nowhere = Desk::new().command(&[]).env("PATH", "/no/such/folder").output();
    Said::from(nowhere.expect("it runs")).failed(2, "there is no redis-server here: install it");
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
    for _ in 0..2 {
        let args = ["--orders", "3", "--kills", "0", "--slow", "0s", "--seed", "3"];
        let output = orders(&args).env("TMPDIR", folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("orders-ledger-") && said.contains("seed 3"), "{said}");
    }
    let files = std::fs::read_dir(folder.path()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.starts_with("orders-ledger-")).count(), 2);
}
