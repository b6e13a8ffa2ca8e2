//! Records in Redis: what one process has handled, the next one knows.

use std::process::Stdio;

use idem_tests::RedisServer;

use crate::kit::{Desk, Said};

/// The run that is ended the hard way.
fn crash(desk: &Desk, url: &str, deliveries: &str) {
    let args = [deliveries, "--backend", url, "--concurrency", "1", "--crash-after", "5"];
    let crashed = desk.command(&args).stdin(Stdio::null()).output().expect("it runs");
    let said = Said::from(crashed);
    assert_eq!((said.code, &*said.stdout), (None, ""));
    assert!(
        said.stderr.starts_with("webhooks: --crash-after 5: the process ends"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_second_run_replays_all_that_the_first_handled() {
    let (desk, server) = (Desk::new(), RedisServer::start());
    let backend = ["--backend", &server.url()];
    let first = desk.run(&backend);
    first.is_well();
    assert_eq!((first.count("handled"), first.count("refused")), (255, 7));
    assert_eq!(first.verdict(), "255 events, 255 ledger lines, no event twice");
    let second = desk.run(&backend);
    second.is_well();
    let counts = ["handled", "failed", "refused"].map(|row| second.count(row));
    assert_eq!(counts, [0, 0, 7], "{}", second.stdout);
    // Those that come at once share what the first of them is told.
    assert_eq!(second.count("replayed") + second.count("waited"), 386, "{}", second.stdout);
    assert_eq!(second.verdict(), "255 events, 255 ledger lines, no event twice");
}

#[test]
fn several_processes_share_the_deliveries() {
    let (desk, server) = (Desk::new(), RedisServer::start());
    let url = server.url();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let said = desk.run(&["--backend", &url]);
                assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
            });
        }
    });
    let booked = desk.booked();
    assert_eq!((booked.len(), booked.values().sum::<usize>()), (255, 255));
}

/// Two crashes on the same ledger, each after an effect and before its outcome is stored: only these
/// two events are there twice, and the table says why.
#[test]
fn a_crash_twice_repeats_one_event_each() {
    let (desk, server) = (Desk::new(), RedisServer::start());
    let url = server.url();
    let lines: String = (1..=15).map(|nth| format!("{{\"id\":\"e{nth:02}\"}}\n")).collect();
    let deliveries = desk.file("deliveries.jsonl", lines).display().to_string();
    // Books 1 to 5; the outcome of 5 is not stored.
    crash(&desk, &url, &deliveries);
    // Replays 1 to 4, books 5 again once its lease has ended, and 6 to 9.
    crash(&desk, &url, &deliveries);
    let said = desk.run(&[&deliveries, "--backend", &url, "--concurrency", "1"]);
    let counts = ["handled", "replayed", "refused"].map(|row| said.count(row));
    assert_eq!((said.code, counts), (Some(4), [7, 8, 0]), "{}{}", said.stdout, said.stderr);
    let repeated = "15 events, 17 ledger lines\n2 events with more than one ledger line:\n  \
                    e05: 2 lines\n  e09: 2 lines\n1 of them had a line before this run began: their \
                    process ended between the ledger line and the stored outcome, where nobody can \
                    know whether to run again (or their outcome has expired).\n1 of them had more \
                    than one line before this run began.\n";
    assert!(said.stdout.ends_with(repeated), "{}", said.stdout);
}

#[test]
fn a_server_that_is_not_there_is_one_line() {
    let mut server = RedisServer::start();
    let url = server.url();
    server.kill();
    let said = Desk::new().run(&["--backend", &url]);
    let address = url.trim_start_matches("redis://");
    let told = format!("webhooks: cannot connect to Redis at {address}: ");
    assert_eq!((said.code, said.stderr.lines().count()), (Some(1), 1), "{}", said.stderr);
    assert!(said.stderr.starts_with(&told) && said.stderr.contains("refused"), "{}", said.stderr);
}

#[test]
fn an_address_that_is_none_is_one_line_and_not_repeated() {
    for url in ["http://:secret@host", "redis-sentinel://:secret@host"] {
        let said = Desk::new().run(&["--backend", url]);
        assert_eq!((said.code, said.stderr.lines().count()), (Some(1), 1), "{}", said.stderr);
        let told =
            said.stderr.starts_with("webhooks: the Redis backend's settings are not usable:");
        assert!(told && !said.stderr.contains("secret"), "{}", said.stderr);
    }
}
