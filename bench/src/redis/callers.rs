//! First calls and replays of 64 callers, against the bare commands of 64 callers.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::keys::{Keyed, Keys};
use super::sides::{COLUMNS, Side, Sides, Times, Visit};
use super::store::Store;
use super::threads::Threads;
use crate::figure::{Figure, Goal};
use crate::process;
use crate::samples::Samples;
use crate::stopwatch::{fastest, per_call};

const CALLERS: usize = 64;
/// Calls of each caller in a batch.
const CALLS: usize = 100;
/// Batches of a round.
const BATCHES: usize = 4;

pub(super) fn figures(
    rounds: usize,
    store: &Store,
    keys: &mut Keys,
    threads: Threads,
) -> anyhow::Result<[Figure; 4]> {
    let runtime = threads.runtime()?;
    let sides = runtime.block_on(Sides::of(store))?;
    let mut work = Work { runtime, store, sides, spent: [Spent::default(); COLUMNS.len()] };
    let mut round = || fastest(BATCHES, || work.batch(&keys.take(CALLERS * CALLS).into()));
    // The first one finds new connections and an allocator without memory.
    round()?;
    let times = (0..rounds).map(|_| round()).collect::<anyhow::Result<Vec<Times>>>()?;
    let spent = work.spent;
    let figure = |case: &str, side: usize, bare: usize, goal| {
        let made_of = |side: usize| {
            let nanos = Samples::of(times.iter().map(|times| times[side])).median();
            format!("{:.1} thousand a second ({})", 1e6 / nanos, spent[side])
        };
        Figure {
            case: format!("{case}, {CALLERS} callers, {threads}"),
            values: Samples::of(times.iter().map(|times| times[bare] / times[side])),
            unit: "× the bare rate",
            goal,
            limits: format!("{} against {}", made_of(side), made_of(bare)),
        }
    };
    let goal = Some(Goal::AtLeast(0.85));
    Ok([
        figure("first call", 0, 2, goal),
        figure("for comparison: its two commands without idem", 4, 2, None),
        figure("replay", 1, 3, goal),
        figure("for comparison: its command without idem", 5, 3, None),
    ])
}

/// Processor time of all calls so far: what a busy machine changes least.
#[derive(Clone, Copy, Default)]
struct Spent {
    calls: usize,
    here: f64,
    in_server: f64,
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = |seconds: f64| seconds * 1e6 / self.calls as f64;
        write!(f, "{:.1} + {:.1} µs", each(self.here), each(self.in_server))
    }
}

struct Work<'a> {
    runtime: Runtime,
    store: &'a Store,
    sides: Sides,
    spent: [Spent; COLUMNS.len()],
}

impl Work<'_> {
    /// Each side's first visits of new keys, and a second one of each.
    fn batch(&mut self, keys: &Arc<[Keyed]>) -> anyhow::Result<Times> {
        let mut times = [0.0; COLUMNS.len()];
        for ((time, spent), column) in times.iter_mut().zip(&mut self.spent).zip(COLUMNS) {
            let (here, in_server) = (process::time()?, self.store.time()?);
            let started = Instant::now();
            self.runtime.block_on(all_callers(&self.sides, column, keys))?;
            *time = per_call(started, keys.len());
            spent.calls += keys.len();
            spent.in_server += self.store.time()? - in_server;
            spent.here += process::time()? - here;
        }
        self.runtime.block_on(self.sides.check(&keys[0]))?;
        Ok(times)
    }
}

async fn all_callers(
    sides: &Sides,
    column: (Side, Visit),
    keys: &Arc<[Keyed]>,
) -> anyhow::Result<()> {
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (mut sides, keys) = (sides.clone(), Arc::clone(keys));
        callers.spawn(async move {
            let share = keys.iter().skip(caller).step_by(CALLERS);
            sides.visit(column, share).await
        });
    }
    while let Some(done) = callers.join_next().await {
        done.context("a caller panicked")??;
    }
    Ok(())
}
