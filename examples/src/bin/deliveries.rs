//! Makes `examples/data/deliveries.jsonl`, the deliveries that `webhooks` handles by default.
//!
//! `cargo run --bin deliveries > examples/data/deliveries.jsonl`
//!
//! The same bytes every time. What becomes of an event follows from its number alone, and the file
//! has the order in which the deliveries arrive, which is not the order in which they were made.

use std::io::{self, Write};

const EVENTS: u64 = 260;
/// When the first delivery is made, in seconds since the epoch.
const FIRST: u64 = 1_767_225_600;
/// Seconds between two events.
const PACE: u64 = 7;

/// What befalls an event.
#[derive(Clone, Copy, PartialEq)]
enum Fortune {
    /// One delivery.
    Plain,
    /// Three deliveries at once, of an event that takes its time.
    Burst,
    /// Delivered again with other content.
    Reused,
    /// The handler fails once; the delivery comes again.
    FailsOnce,
    /// The handler fails for good; the delivery comes again all the same.
    FailsForGood,
    /// Delivered again seconds later.
    AgainInSeconds,
    /// Delivered again minutes later, twice.
    AgainInMinutes,
}

impl Fortune {
    fn of(event: u64) -> Self {
        match event {
            event if event % 20 == 6 => Self::Burst,
            event if event % 40 == 9 => Self::Reused,
            event if event % 26 == 13 => Self::FailsOnce,
            event if event % 52 == 17 => Self::FailsForGood,
            event if event % 5 == 1 => Self::AgainInSeconds,
            event if event % 11 == 3 => Self::AgainInMinutes,
            _ => Self::Plain,
        }
    }

    /// When its deliveries are made, in seconds after the first.
    fn delays(self) -> &'static [u64] {
        match self {
            Self::Plain => &[0],
            Self::Burst => &[0, 0, 0],
            Self::Reused => &[0, 1_500],
            Self::FailsOnce => &[0, 10, 600],
            Self::FailsForGood => &[0, 10, 300],
            Self::AgainInSeconds => &[0, 4],
            Self::AgainInMinutes => &[0, 180, 1_200],
        }
    }

    /// What the handler is to suffer from: the end of the delivery's line.
    fn simulate(self, event: u64) -> String {
        match self {
            Self::Burst => format!(r#","simulate":{{"slow_ms":{}}}"#, 200 + event % 3 * 100),
            Self::FailsOnce => r#","simulate":{"fail":"once"}"#.to_owned(),
            Self::FailsForGood => r#","simulate":{"fail":"for_good"}"#.to_owned(),
            _ => String::new(),
        }
    }
}

/// What an event is about. A redelivery has the same content, though not always the same bytes: the
/// order of a map's entries is not content.
fn content(event: u64, again: bool, reused: bool) -> (&'static str, String) {
    let cents = 500 + event * 37 % 9_000 + u64::from(reused);
    match (event % 5, again) {
        (0, false) => ("payment.captured", format!(r#"{{"cents":{cents},"currency":"EUR"}}"#)),
        (0, true) => ("payment.captured", format!(r#"{{"currency":"EUR","cents":{cents}}}"#)),
        (1, _) => ("payment.refunded", format!(r#"{{"cents":{cents},"reason":null}}"#)),
        (2, _) => ("customer.updated", format!(r#"["cus_{cents}",{{"name":"Zoë № {event}"}}]"#)),
        (3, _) => ("invoice.paid", format!(r#""in_{cents}""#)),
        _ => ("payout.sent", format!(r#"{{"payout":{{"cents":{cents},"items":[{event},1.5]}}}}"#)),
    }
}

/// Every delivery's line, with the second it arrives in.
fn deliveries() -> Vec<(u64, String)> {
    let mut deliveries = Vec::new();
    for event in 0..EVENTS {
        let fortune = Fortune::of(event);
        let simulate = fortune.simulate(event);
        for (nth, delay) in fortune.delays().iter().enumerate() {
            let created = FIRST + event * PACE + delay;
            let on_the_way = if event % 9 == 4 && nth == 0 { 31 } else { 1 };
            let (kind, data) = content(event, nth > 0, nth > 0 && fortune == Fortune::Reused);
            let head = format!(r#""id":"evt_{event:04}","type":"{kind}","created":{created}"#);
            let line = format!(r#"{{{head},"data":{data},"api_version":"2026-01-01"{simulate}}}"#);
            deliveries.push((created + on_the_way, line));
        }
    }
    // Stable: what arrives in the same second stays in the order it was made in.
    deliveries.sort_by_key(|(arrives, _)| *arrives);
    deliveries
}

fn main() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for (_, line) in deliveries() {
        writeln!(out, "{line}")?;
    }
    out.flush()
}
