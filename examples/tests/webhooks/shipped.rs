//! The deliveries that ship with the program.

use std::collections::HashMap;
use std::process::Command;

use serde_json::Value;

use crate::kit::{Desk, Said};

static SHIPPED: &str = include_str!("../../data/deliveries.jsonl");

const DELIVERIES: u64 = 393;
const HANDLED: u64 = 255;
const REFUSED: u64 = 7;
const FAILED: u64 = 14;
const ANSWERED: u64 = DELIVERIES - HANDLED - REFUSED - FAILED;

fn is_as_it_must(said: &Said) {
    said.is_well();
    let counts =
        ["deliveries", "handled", "refused", "failed", "invalid lines"].map(|row| said.count(row));
    assert_eq!(counts, [DELIVERIES, HANDLED, REFUSED, FAILED, 0], "{}", said.stdout);
    assert_eq!(said.count("replayed") + said.count("waited"), ANSWERED, "{}", said.stdout);
    assert!(said.stdout.contains("9 for now, 5 for good"), "{}", said.stdout);
    assert_eq!(said.verdict(), "255 events, 255 ledger lines, no event twice");
}

#[test]
fn the_table_has_these_numbers() {
    let desk = Desk::new();
    let said = desk.run(&[]);
    is_as_it_must(&said);
    assert!(said.count("waited") > 0, "{}", said.stdout);
    assert!(desk.booked().values().all(|lines| *lines == 1));
}

#[test]
fn one_at_a_time_nobody_waits() {
    let said = Desk::new().run(&["--concurrency", "1"]);
    is_as_it_must(&said);
    assert_eq!((said.count("replayed"), said.count("waited")), (ANSWERED, 0));
}

#[test]
fn sixty_four_at_once_come_to_the_same() {
    is_as_it_must(&Desk::new().run(&["--concurrency", "64"]));
}

#[test]
fn more_at_once_than_there_are_come_to_the_same() {
    is_as_it_must(&Desk::new().run(&["--concurrency", "1000"]));
}

#[test]
fn twenty_runs_come_to_the_same() {
    for _ in 0..20 {
        is_as_it_must(&Desk::new().run(&[]));
    }
}

#[test]
fn the_file_is_what_its_generator_makes() {
    let made = Command::new(env!("CARGO_BIN_EXE_deliveries")).output().expect("the generator runs");
    assert!(made.status.success());
    assert!(
        made.stdout == SHIPPED.as_bytes(),
        "run `cargo run --bin deliveries > examples/data/deliveries.jsonl`"
    );
}

#[test]
fn the_file_has_every_kind_of_trouble() {
    let deliveries: Vec<Value> =
        SHIPPED.lines().map(|line| serde_json::from_str(line).expect("a delivery")).collect();
    let made_at = |delivery: &Value| delivery["created"].as_u64().expect("a time");
    assert!(
        deliveries.windows(2).any(|pair| made_at(&pair[0]) > made_at(&pair[1])),
        "out of order"
    );

    let mut first: HashMap<&str, &Value> = HashMap::new();
    let (mut at_once, mut seconds, mut minutes, mut reused) = (0, 0, 0, 0);
    for delivery in &deliveries {
        let Some(earlier) = first.get(delivery["id"].as_str().expect("an id")) else {
            first.insert(delivery["id"].as_str().expect("an id"), delivery);
            continue;
        };
        if earlier["data"] != delivery["data"] {
            reused += 1;
            continue;
        }
        match made_at(delivery).abs_diff(made_at(earlier)) {
            0 => at_once += 1,
            1..60 => seconds += 1,
            _ => minutes += 1,
        }
    }
    assert_eq!((at_once, reused), (26, 7));
    assert!(seconds >= 20 && minutes >= 20, "{seconds} after seconds, {minutes} after minutes");
}
