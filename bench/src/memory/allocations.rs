//! Allocations of a call, counted by a program of its own.

use serde::Deserialize;

use crate::counted::counted;
use crate::figure::Figure;
use crate::samples::Samples;

/// What the counting program prints.
#[derive(Deserialize)]
struct Counts {
    first: Count,
    replay: Count,
}

#[derive(Deserialize)]
struct Count {
    allocations: f64,
    bytes: f64,
}

pub(super) fn figures() -> anyhow::Result<[Figure; 2]> {
    let Counts { first, replay } = counted("idem-bench-allocations")?;
    Ok([figure("allocations of a first call", &first), figure("allocations of a replay", &replay)])
}

fn figure(case: &str, count: &Count) -> Figure {
    Figure {
        case: case.to_owned(),
        values: Samples::exact(count.allocations),
        unit: "allocations",
        goal: None,
        limits: format!("{:.0} bytes in all", count.bytes),
    }
}
