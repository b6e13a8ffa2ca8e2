//! First calls and replays of one caller, against a write and a read of the bare store.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, ensure};
use idem_bench::{Bare, Order, charge, encoded_receipt, fresh_idem, orders};
use idem_runtime::{Source, observe};
use tokio::runtime::Runtime;

use super::parts;
use crate::figure::{Figure, Goal};
use crate::samples::Samples;
use crate::stopwatch::{fastest, per_call, runtime};

/// How many calls a round makes on each side at least, in batches over all keys.
const CALLS_A_ROUND: usize = 50_000;

/// Nanoseconds a call: first, replay, and the bare write and read.
type Times = [f64; 4];

/// One side of a ratio.
type Side = fn(&Times) -> f64;

const FIRST: Side = |times| times[0];
const REPLAY: Side = |times| times[1];
const WRITE: Side = |times| times[2];
const READ: Side = |times| times[3];
const WRITE_AND_READ: Side = |times| times[2] + times[3];

pub(super) fn figures(rounds: usize, keys: usize) -> anyhow::Result<[Figure; 4]> {
    let (runtime, orders) = (runtime()?, orders(keys));
    let bytes = encoded_receipt(&orders[0])?;
    let batches = (CALLS_A_ROUND / keys).max(3);
    let round = || fastest(batches, || batch(&runtime, &orders, &bytes));
    // The first one finds cold caches and an allocator without memory.
    round()?;
    let times = (0..rounds).map(|_| round()).collect::<anyhow::Result<Vec<Times>>>()?;
    let parts = parts::measure(&orders[0])?;
    let figure = |case: &str, ours: Side, bare: Side| {
        let median = |side: Side| Samples::of(times.iter().map(side)).median();
        Figure {
            case: format!("{case}, {} keys", thousands(keys)),
            values: Samples::of(times.iter().map(|times| ours(times) / bare(times))),
            unit: "×",
            goal: None,
            limits: format!("{:.0} ns against {:.0} ns", median(ours), median(bare)),
        }
    };
    let aimed = |figure: Figure, most: f64, parts: String| Figure {
        goal: Some(Goal::AtMost(most)),
        limits: format!("{}; of these {parts}", figure.limits),
        ..figure
    };
    Ok([
        aimed(figure("first call against a write", FIRST, WRITE), 14.0, parts.of_first_call()),
        aimed(figure("replay against a read", REPLAY, READ), 8.0, parts.of_replay()),
        aimed(
            figure("first call against a write and a read", FIRST, WRITE_AND_READ),
            14.0,
            parts.of_first_call(),
        ),
        aimed(
            figure("replay against a write and a read", REPLAY, WRITE_AND_READ),
            8.0,
            parts.of_replay(),
        ),
    ])
}

/// One batch of each, on empty stores: as many first calls as there are keys, a replay of each, and
/// the same with the bare store. Both maps grow as they are filled. The keys are there beforehand.
fn batch(runtime: &Runtime, orders: &[Order], bytes: &[u8]) -> anyhow::Result<Times> {
    let [first, replay] = runtime.block_on(ours(orders))?;
    let bare = Bare::new();
    let started = Instant::now();
    for order in orders {
        bare.write(&order.id, black_box(bytes));
    }
    let write = per_call(started, orders.len());
    let started = Instant::now();
    for order in orders {
        black_box(bare.read(&order.id));
    }
    let read = per_call(started, orders.len());
    ensure!(bare.read(&orders[0].id).as_deref() == Some(bytes), "the bare store lost its bytes");
    Ok([first, replay, write, read])
}

async fn ours(orders: &[Order]) -> anyhow::Result<[f64; 2]> {
    let idem = fresh_idem()?;
    // The keeper's thread starts with the first reservation of an `Idem`.
    charge(&idem, &Order { id: "the first".to_owned(), cents: 1, currency: "EUR".to_owned() })
        .await?;
    let started = Instant::now();
    for order in orders {
        black_box(charge(&idem, order).await?);
    }
    let first = per_call(started, orders.len());
    let started = Instant::now();
    for order in orders {
        black_box(charge(&idem, order).await?);
    }
    let replay = per_call(started, orders.len());
    let again = observe(charge(&idem, &orders[0])).await.facts.context("a call has facts")?;
    ensure!(again.source == Source::Replayed, "a second call was answered as {:?}", again.source);
    Ok([first, replay])
}

fn thousands(number: usize) -> String {
    format!("{},000", number / 1_000)
}
