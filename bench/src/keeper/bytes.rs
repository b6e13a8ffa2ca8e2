//! Bytes of a lease that is held, counted by a program of its own.

use anyhow::Context;
use serde::Deserialize;

use crate::counted::counted;
use crate::figure::{Figure, Goal};
use crate::samples::Samples;

/// What the counting program prints: bytes for each of 100,000 leases.
#[derive(Deserialize)]
struct Bytes {
    runtime: f64,
    future: f64,
    record: f64,
}

pub(super) fn figures() -> anyhow::Result<[Figure; 1]> {
    let Bytes { runtime, future, record } =
        counted("idem-bench-leases").context("counting the bytes of a lease")?;
    Ok([Figure {
        case: "100,000 leases, allocated a lease by the runtime".to_owned(),
        values: Samples::exact(runtime),
        unit: "bytes",
        goal: Some(Goal::AtMost(300.0)),
        limits: format!(
            "attempt, flight, key and their place in the map; beside these {future:.0} for the \
             caller's future and, in the memory backend, {record:.0} for the record"
        ),
    }])
}
