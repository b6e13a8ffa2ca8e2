//! First calls and replays of 64 callers, against the bare commands of 64 callers.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use idem_runtime::{Idem, Source, observe};
use redis::aio::MultiplexedConnection;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::keys::{Keyed, Keys};
use super::service::{bare_first, bare_replay, encoded_payment, pay};
use super::store::Store;
use super::threads::Threads;
use crate::figure::{Figure, Goal};
use crate::samples::Samples;
use crate::stopwatch::{fastest, per_call};

const CALLERS: usize = 64;
/// Calls of each caller in a batch.
const CALLS: usize = 100;
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
    let sides = runtime.block_on(Sides::of(store))?;
    let mut round = || fastest(BATCHES, || sides.batch(&runtime, keys));
    // The first one finds new connections and an allocator without memory.
    round()?;
    let times = (0..rounds).map(|_| round()).collect::<anyhow::Result<Vec<Times>>>()?;
    let figure = |case: &str, ours: usize, bare: usize| {
        let thousands =
            |side: usize| 1e6 / Samples::of(times.iter().map(|times| times[side])).median();
        Figure {
            case: format!("{case}, {CALLERS} callers, {threads}"),
            values: Samples::of(times.iter().map(|times| times[bare] / times[ours])),
            unit: "× the bare rate",
            goal: Some(Goal::AtLeast(0.85)),
            limits: format!(
                "{:.1} against {:.1} thousand a second",
                thousands(ours),
                thousands(bare)
            ),
        }
    };
    Ok([figure("first call", 0, 2), figure("replay", 1, 3)])
}

/// What is compared: calls, and commands on a connection of the same kind.
struct Sides {
    idem: Idem,
    connection: MultiplexedConnection,
}

impl Sides {
    async fn of(store: &Store) -> anyhow::Result<Self> {
        Ok(Self { idem: store.idem().await?, connection: store.connection().await? })
    }

    /// One batch of each: first calls of new keys, a replay of each, and the same by bare commands.
    fn batch(&self, runtime: &Runtime, keys: &mut Keys) -> anyhow::Result<Times> {
        let keys: Arc<[Keyed]> = keys.take(CALLERS * CALLS).into();
        let result: Arc<[u8]> = encoded_payment(&keys[0].order)?.into();
        let calls = || timed(runtime, &keys, |share| call_each(self.idem.clone(), share));
        let (first, replay) = (calls()?, calls()?);
        let bare_first = timed(runtime, &keys, |share| {
            first_of_each(self.connection.clone(), share, Arc::clone(&result))
        })?;
        let bare_replay = timed(runtime, &keys, |share| {
            replay_of_each(self.connection.clone(), share, Arc::clone(&result))
        })?;
        let again = runtime.block_on(observe(pay(&self.idem, &keys[0].order))).facts;
        let source = again.context("a call has facts")?.source;
        ensure!(source == Source::Replayed, "a second call was answered as {source:?}");
        Ok([first, replay, bare_first, bare_replay])
    }
}

/// One caller's part of the keys.
struct Share {
    keys: Arc<[Keyed]>,
    caller: usize,
}

impl Share {
    fn keys(&self) -> impl Iterator<Item = &Keyed> {
        self.keys.iter().skip(self.caller).step_by(CALLERS)
    }
}

async fn call_each(idem: Idem, share: Share) -> anyhow::Result<()> {
    for key in share.keys() {
        pay(&idem, &key.order).await?;
    }
    Ok(())
}

async fn first_of_each(
    mut connection: MultiplexedConnection,
    share: Share,
    result: Arc<[u8]>,
) -> anyhow::Result<()> {
    for key in share.keys() {
        ensure!(bare_first(&mut connection, &key.bare, &result).await?, "a key was not new");
    }
    Ok(())
}

async fn replay_of_each(
    mut connection: MultiplexedConnection,
    share: Share,
    result: Arc<[u8]>,
) -> anyhow::Result<()> {
    for key in share.keys() {
        let stands = bare_replay(&mut connection, &key.bare).await?;
        ensure!(stands.as_deref() == Some(&*result), "the server lost a result");
    }
    Ok(())
}

/// Nanoseconds for each key until all callers have done their shares.
fn timed<F>(
    runtime: &Runtime,
    keys: &Arc<[Keyed]>,
    work: impl Fn(Share) -> F,
) -> anyhow::Result<f64>
where
    F: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let started = Instant::now();
    runtime.block_on(async {
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            callers.spawn(work(Share { keys: Arc::clone(keys), caller }));
        }
        while let Some(done) = callers.join_next().await {
            done.context("a caller panicked")??;
        }
        Ok(per_call(started, keys.len()))
    })
}
