//! Ctrl-C.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command};

use crate::kit::{Desk, Said};

fn interrupt(child: &Child) {
    let sent =
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
}

#[test]
fn the_first_ends_the_reading_and_finishes_what_is_in_flight() {
    let desk = Desk::new();
    let mut child = desk.start(&["-"]);
    let mut stdin = child.stdin.take().expect("a pipe");
    let slow = "{\"id\":\"slow\",\"simulate\":{\"slow_ms\":2000}}\n";
    stdin.write_all(format!("{slow}{slow}{{\"id\":\"quick\"}}\n").as_bytes()).expect("it is read");
    desk.wait_for_lines(1);
    interrupt(&child);
    // Standard input stays open: nothing but the signal ends the run.
    let said = Said::from(child.wait_with_output().expect("it ends"));
    drop(stdin);
    assert_eq!(
        (said.code, said.count("handled"), said.count("waited")),
        (Some(130), 2, 1),
        "{}",
        said.stdout
    );
    assert_eq!(said.verdict(), "2 events, 2 ledger lines, no event twice");
    // The quick one's line is in the ledger a moment before its delivery has ended.
    let told = |in_flight| {
        format!(
            "webhooks: interrupted: finishing the {in_flight} deliveries in flight; \
             Ctrl-C again ends at once\n"
        )
    };
    assert!(said.stderr == told(2) || said.stderr == told(3), "{}", said.stderr);
}

#[test]
fn the_second_ends_at_once() {
    let desk = Desk::new();
    let mut child = desk.start(&["-"]);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(b"{\"id\":\"slow\",\"simulate\":{\"slow_ms\":10000}}\n{\"id\":\"quick\"}\n")
        .expect("it is read");
    desk.wait_for_lines(1);
    interrupt(&child);
    let mut told = String::new();
    BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut told).expect("it tells");
    interrupt(&child);
    let said = Said::from(child.wait_with_output().expect("it ends"));
    drop(stdin);
    assert_eq!((said.code, &*said.stdout), (Some(130), ""));
    assert_eq!(desk.booked().into_iter().collect::<Vec<_>>(), [("quick".to_owned(), 1)]);
}
