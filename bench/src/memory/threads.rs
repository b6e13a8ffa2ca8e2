//! Two callers on two threads against one: what calls of different keys share.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use anyhow::{Context, anyhow};
use idem_bench::{Bare, Order, charge, encoded_receipt, fresh_idem, orders};
use idem_runtime::Idem;

use super::stopwatch::{fastest, runtime};
use crate::figure::{Figure, Goal};
use crate::samples::Samples;

/// Calls of each thread in a batch: about two milliseconds, which a scheduler may leave alone.
const CALLS: usize = 2_000;
const BATCHES: usize = 20;

/// Seconds of one thread and of two: first calls, replays, the bare store, and work that shares
/// nothing.
type Times = [f64; 8];

pub(super) fn figures(rounds: usize) -> anyhow::Result<Vec<Figure>> {
    let orders = orders(2 * CALLS);
    let bytes = encoded_receipt(&orders[0])?;
    let times = (0..rounds)
        .map(|_| fastest(BATCHES, || batch(&orders, &bytes)))
        .collect::<anyhow::Result<Vec<Times>>>()?;
    // Two threads do twice the work of one.
    let ratio = |one: usize| Samples::of(times.iter().map(|times| 2.0 * times[one] / times[one + 1]));
    let (bare, alone) = (ratio(4), ratio(6));
    let figure = |case: &str, values, goal| Figure {
        case: case.to_owned(),
        values,
        unit: "× the rate of one",
        goal,
        limits: String::new(),
    };
    let limits = format!(
        "in the same batches work that shares nothing reaches {:.2} ×, writes to the bare store {:.2} ×",
        alone.median(),
        bare.median()
    );
    let goal = Some(Goal::AtLeast(1.6));
    Ok(vec![
        Figure { limits: limits.clone(), ..figure("first calls, two threads", ratio(0), goal) },
        Figure { limits, ..figure("replays, two threads", ratio(2), goal) },
        figure("for comparison: writes to the bare store, two threads", bare, None),
        figure("for comparison: work that shares nothing, two threads", alone, None),
    ])
}

fn batch(orders: &[Order], bytes: &[u8]) -> anyhow::Result<Times> {
    let [first_of_one, replay_of_one] = ours(&orders[..CALLS])?;
    let [first_of_two, replay_of_two] = ours(orders)?;
    let bare = |orders: &[Order]| {
        let bare = Bare::new();
        on_threads(orders, |orders| {
            orders.iter().for_each(|order| bare.write(&order.id, bytes));
            Ok(())
        })
    };
    let alone = |orders: &[Order]| on_threads(orders, |orders| { black_box(sum(orders)); Ok(()) });
    Ok([
        first_of_one,
        first_of_two,
        replay_of_one,
        replay_of_two,
        bare(&orders[..CALLS])?,
        bare(orders)?,
        alone(&orders[..CALLS])?,
        alone(orders)?,
    ])
}

/// First calls and then replays of all orders, on an `Idem` that the threads share.
fn ours(orders: &[Order]) -> anyhow::Result<[f64; 2]> {
    let idem = fresh_idem()?;
    let warm = Order { id: "the first".to_owned(), cents: 1, currency: "EUR".to_owned() };
    runtime()?.block_on(charge(&idem, &warm))?;
    let mut pass = || on_threads(orders, |orders| call_all(&idem, orders));
    Ok([pass()?, pass()?])
}

fn call_all(idem: &Idem, orders: &[Order]) -> anyhow::Result<()> {
    runtime()?.block_on(async {
        for order in orders {
            black_box(charge(idem, order).await?);
        }
        Ok(())
    })
}

/// As long as 2,000 calls take, in registers.
fn sum(orders: &[Order]) -> u64 {
    let mut sum = orders.len() as u64;
    for step in 0..1_000 * CALLS as u64 {
        sum = black_box(sum.wrapping_mul(31).wrapping_add(step));
    }
    sum
}

/// Seconds until every thread has done its share of the orders: one thread for the first half, two
/// for all of them. They start together.
fn on_threads(
    orders: &[Order],
    work: impl Fn(&[Order]) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<f64> {
    let shares: Vec<&[Order]> = orders.chunks(CALLS).collect();
    let barrier = Barrier::new(shares.len());
    thread::scope(|scope| {
        let run = |share| {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                let started = Instant::now();
                work(share).map(|()| (started, Instant::now()))
            })
        };
        let threads: Vec<_> = shares.into_iter().map(run).collect();
        let spans = threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| anyhow!("a thread of the benchmark panicked"))?)
            .collect::<anyhow::Result<Vec<_>>>()?;
        let from = spans.iter().map(|span| span.0).min().context("there are threads")?;
        let to = spans.iter().map(|span| span.1).max().context("there are threads")?;
        Ok((to - from).as_secs_f64())
    })
}
