//! First calls and replays of one caller: what idem adds to two round trips, and to one.

use std::time::Instant;

use anyhow::ensure;
use idem_runtime::Idem;
use redis::aio::MultiplexedConnection;

use super::keys::{Keyed, Keys};
use super::service::{bare_first, bare_replay, encoded_payment, pay};
use super::store::Store;
use super::threads::Threads;
use crate::figure::{Figure, Goal};
use crate::samples::Samples;
use crate::stopwatch::{fastest, per_call};

/// Calls of a batch, one after the other.
const CALLS: usize = 500;
/// Batches of a round.
const BATCHES: usize = 4;

/// Nanoseconds a call: first and replay, and the same with the bare commands.
type Times = [f64; 4];

pub(super) fn figures(
    rounds: usize,
    store: &Store,
    keys: &mut Keys,
    threads: Threads,
) -> anyhow::Result<[Figure; 2]> {
    let runtime = threads.runtime()?;
    let (idem, connection) =
        runtime.block_on(async { anyhow::Ok((store.idem().await?, store.connection().await?)) })?;
    let mut round = || {
        fastest(BATCHES, || {
            let batch = batch(idem.clone(), connection.clone(), keys.take(CALLS));
            // A task, as a service's calls are: the runtime's own threads run it.
            runtime.block_on(runtime.spawn(batch))?
        })
    };
    round()?;
    let times = (0..rounds).map(|_| round()).collect::<anyhow::Result<Vec<Times>>>()?;
    let figure = |case: &str, ours: usize, bare: usize, goal| {
        let micros =
            |side: usize| Samples::of(times.iter().map(|times| times[side] / 1e3)).median();
        Figure {
            case: format!("{case}, one caller, latency, {threads}"),
            values: Samples::of(times.iter().map(|times| times[ours] / times[bare])),
            unit: "× the bare round trips",
            goal,
            limits: format!("{:.0} µs against {:.0} µs", micros(ours), micros(bare)),
        }
    };
    Ok([figure("first call", 0, 2, Some(Goal::AtMost(1.25))), figure("replay", 1, 3, None)])
}

async fn batch(
    idem: Idem,
    mut connection: MultiplexedConnection,
    keys: Vec<Keyed>,
) -> anyhow::Result<Times> {
    let result = encoded_payment(&keys[0].order)?;
    let started = Instant::now();
    for key in &keys {
        pay(&idem, &key.order).await?;
    }
    let first = per_call(started, CALLS);
    let started = Instant::now();
    for key in &keys {
        pay(&idem, &key.order).await?;
    }
    let replay = per_call(started, CALLS);
    let started = Instant::now();
    for key in &keys {
        ensure!(bare_first(&mut connection, &key.bare, &result).await?, "a key was not new");
    }
    let two_trips = per_call(started, CALLS);
    let started = Instant::now();
    for key in &keys {
        let stands = bare_replay(&mut connection, &key.bare).await?;
        ensure!(stands.as_deref() == Some(&*result), "the server lost a result");
    }
    Ok([first, replay, two_trips, per_call(started, CALLS)])
}
