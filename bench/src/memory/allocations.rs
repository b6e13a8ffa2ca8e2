//! Allocations of a call, counted by a program of its own: the allocator that counts would slow down
//! what is timed here.

use std::env;
use std::process::Command;

use anyhow::{Context, ensure};
use serde::Deserialize;

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
    let Counts { first, replay } = count()?;
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

fn count() -> anyhow::Result<Counts> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--quiet", "--release", "--offline", "--bin", "idem-bench-allocations"])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .output()
        .context("running cargo to count allocations")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the program that counts allocations failed:\n{stderr}");
    serde_json::from_slice(&output.stdout).context("reading what the counting program printed")
}
