//! First calls and replays of one caller: what idem adds to two round trips, and to one.

use std::time::Instant;

use super::keys::{Keyed, Keys};
use super::sides::{COLUMNS, Sides, Times};
use super::store::Store;
use super::threads::Threads;
use crate::figure::{Figure, Goal};
use crate::samples::Samples;
use crate::stopwatch::{fastest, per_call};

/// Calls of a batch, one after the other.
const CALLS: usize = 500;
/// Batches of a round.
const BATCHES: usize = 4;

pub(super) fn figures(
    rounds: usize,
    store: &Store,
    keys: &mut Keys,
    threads: Threads,
) -> anyhow::Result<[Figure; 3]> {
    let runtime = threads.runtime()?;
    let sides = runtime.block_on(Sides::of(store))?;
    let mut round = || {
        fastest(BATCHES, || {
            // A task, as a service's calls are: the runtime's own threads run it.
            runtime.block_on(runtime.spawn(batch(sides.clone(), keys.take(CALLS))))?
        })
    };
    round()?;
    let times = (0..rounds).map(|_| round()).collect::<anyhow::Result<Vec<Times>>>()?;
    let figure = |case: &str, side: usize, bare: usize, goal| {
        let micros =
            |side: usize| Samples::of(times.iter().map(|times| times[side] / 1e3)).median();
        Figure {
            case: format!("{case}, one caller, latency, {threads}"),
            values: Samples::of(times.iter().map(|times| times[side] / times[bare])),
            unit: "× the bare round trips",
            goal,
            limits: format!("{:.0} µs against {:.0} µs", micros(side), micros(bare)),
        }
    };
    Ok([
        figure("first call", 0, 2, Some(Goal::AtMost(1.25))),
        figure("for comparison: its two commands without idem", 4, 2, None),
        figure("replay", 1, 3, None),
    ])
}

async fn batch(mut sides: Sides, keys: Vec<Keyed>) -> anyhow::Result<Times> {
    let mut times = [0.0; COLUMNS.len()];
    for (time, column) in times.iter_mut().zip(COLUMNS) {
        let started = Instant::now();
        sides.visit(column, keys.iter()).await?;
        *time = per_call(started, keys.len());
    }
    sides.check(&keys[0]).await?;
    Ok(times)
}
