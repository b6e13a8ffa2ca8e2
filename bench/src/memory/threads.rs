//! Two callers on two threads against one: what calls of different keys share.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, anyhow};
use idem_bench::{Bare, Order, charge, encoded_receipt, fresh_idem, orders};
use idem_runtime::Idem;
use tokio::runtime::Runtime;

use crate::figure::{Figure, Goal};
use crate::samples::Samples;
use crate::stopwatch::{fastest, runtime};

/// Calls of each thread in a batch: about two milliseconds, which a scheduler may leave alone.
const CALLS: usize = 2_000;
const BATCHES: usize = 20;

/// Seconds of one thread and of two, for first calls, replays, and writes to the bare store; then of
/// two threads that share no `Idem`, for first calls and replays.
type Times = [f64; 8];

pub(super) fn figures(rounds: usize) -> anyhow::Result<[Figure; 3]> {
    let orders = orders(2 * CALLS);
    let bytes = encoded_receipt(&orders[0])?;
    let times = (0..rounds)
        .map(|_| fastest(BATCHES, || batch(&orders, &bytes)))
        .collect::<anyhow::Result<Vec<Times>>>()?;
    // Two threads do twice the work of one.
    let ratio = |one: usize, two: usize| {
        Samples::of(times.iter().map(|times| 2.0 * times[one] / times[two]))
    };
    let figure = |what: &str, values, goal, limits| Figure {
        case: format!("{what}, two threads"),
        values,
        unit: "× the rate of one",
        goal,
        limits,
    };
    let limits = |apart: Samples| {
        format!(
            "two threads with an `Idem` each, which share nothing, reach {:.2} ×",
            apart.median()
        )
    };
    let goal = Some(Goal::AtLeast(1.6));
    Ok([
        figure("first calls", ratio(0, 1), goal, limits(ratio(0, 6))),
        figure("replays", ratio(2, 3), goal, limits(ratio(2, 7))),
        figure(
            "for comparison: writes to the bare store",
            ratio(4, 5),
            None,
            "one lock".to_owned(),
        ),
    ])
}

fn batch(orders: &[Order], bytes: &[u8]) -> anyhow::Result<Times> {
    let [first_of_one, replay_of_one] = ours(&orders[..CALLS], Sharing::OneIdem)?;
    let [first_of_two, replay_of_two] = ours(orders, Sharing::OneIdem)?;
    let [first_apart, replay_apart] = ours(orders, Sharing::Nothing)?;
    let bare = |orders: &[Order]| {
        let bare = Bare::new();
        on_threads(orders, |_, _, orders| {
            orders.iter().for_each(|order| bare.write(&order.id, bytes));
            Ok(())
        })
    };
    Ok([
        first_of_one,
        first_of_two,
        replay_of_one,
        replay_of_two,
        bare(&orders[..CALLS])?,
        bare(orders)?,
        first_apart,
        replay_apart,
    ])
}

/// What two threads have in common.
#[derive(Clone, Copy)]
enum Sharing {
    OneIdem,
    /// Each has an `Idem`, and so a store, of its own: what the machine makes of two threads.
    Nothing,
}

/// First calls and then replays of all orders.
fn ours(orders: &[Order], sharing: Sharing) -> anyhow::Result<[f64; 2]> {
    let idems = [warm_idem()?, warm_idem()?];
    let idem = |thread: usize| match sharing {
        Sharing::OneIdem => &idems[0],
        Sharing::Nothing => &idems[thread],
    };
    let pass = || {
        on_threads(orders, |runtime, thread, orders| {
            runtime.block_on(call_all(idem(thread), orders))
        })
    };
    Ok([pass()?, pass()?])
}

/// An `Idem` whose keeper runs.
fn warm_idem() -> anyhow::Result<Idem> {
    let idem = fresh_idem()?;
    let order = Order { id: "the first".to_owned(), cents: 1, currency: "EUR".to_owned() };
    runtime()?.block_on(charge(&idem, &order))?;
    Ok(idem)
}

async fn call_all(idem: &Idem, orders: &[Order]) -> anyhow::Result<()> {
    for order in orders {
        black_box(charge(idem, order).await?);
    }
    Ok(())
}

/// Seconds until every thread has done its share of the orders: one thread for the first half, two
/// for all of them. They start together.
fn on_threads(
    orders: &[Order],
    work: impl Fn(&Runtime, usize, &[Order]) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<f64> {
    let shares: Vec<&[Order]> = orders.chunks(CALLS).collect();
    let (count, ready) = (shares.len(), AtomicUsize::new(0));
    thread::scope(|scope| {
        let run = |(thread, share)| {
            let (ready, work) = (&ready, &work);
            scope.spawn(move || {
                let runtime = runtime();
                ready.fetch_add(1, Ordering::AcqRel);
                // No barrier that sleeps: the thread that is woken up may find itself behind the
                // other one, on the same core.
                while ready.load(Ordering::Acquire) < count {
                    std::hint::spin_loop();
                }
                let started = Instant::now();
                work(&runtime?, thread, share).map(|()| (started, Instant::now()))
            })
        };
        let threads: Vec<_> = shares.into_iter().enumerate().map(run).collect();
        let spans = threads
            .into_iter()
            .map(|thread| {
                thread.join().map_err(|_| anyhow!("a thread of the benchmark panicked"))?
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let from = spans.iter().map(|span| span.0).min().context("there are threads")?;
        let to = spans.iter().map(|span| span.1).max().context("there are threads")?;
        Ok((to - from).as_secs_f64())
    })
}
