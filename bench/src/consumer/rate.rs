//! Messages a second: a consumer whose handler does nothing, against reads and acknowledgements.

use std::collections::BTreeMap;
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{bail, ensure};
use idem_redis::RedisBackend;
use idem_redis::consumer::{Batch, Consumer, Message};
use redis::aio::MultiplexedConnection;
use tokio::runtime::Runtime;

use super::bare::{Acknowledging, Bare};
use super::stream::{OrderPlaced, Stream};
use super::watch::Watch;
use crate::figure::{Figure, Goal};
use crate::process;
use crate::redis::{Store, Threads};
use crate::samples::Samples;
use crate::stopwatch::{fastest, per_call};

/// Handlers at once, and messages in a bare read.
const AT_ONCE: usize = 64;
/// Messages of a batch.
const MESSAGES: usize = 10_000;
/// Batches of a round.
const BATCHES: usize = 2;

/// Who takes the messages.
#[derive(Clone, Copy)]
enum Side {
    Consumer,
    /// A consumer whose handler takes batches.
    Batches,
    /// The commands, one after the other.
    Bare(Acknowledging),
}

const COLUMNS: [Side; 5] = [
    Side::Consumer,
    Side::Batches,
    Side::Bare(Acknowledging::AtOnce),
    Side::Bare(Acknowledging::OneByOne),
    Side::Bare(Acknowledging::Owned),
];
/// Where the side stands that the others are measured against.
const BARE: usize = 2;

type Times = [f64; COLUMNS.len()];

pub(super) fn figures(
    rounds: usize,
    store: &Store,
    threads: Threads,
) -> anyhow::Result<[Figure; 4]> {
    let mut work = Work::new(store, threads)?;
    // The first one finds a server without scripts and an allocator without memory.
    work.batch()?;
    work.spent = Default::default();
    let round = |_| fastest(BATCHES, || work.batch());
    let times = (0..rounds).map(round).collect::<anyhow::Result<Vec<Times>>>()?;
    let spent = work.spent;
    work.runtime.block_on(work.stream.delete())?;
    let made_of = |side: usize| {
        let nanos = Samples::of(times.iter().map(|times| times[side])).median();
        format!("{:.1} thousand a second ({})", 1e6 / nanos, spent[side])
    };
    let figure = |case: &str, side: usize, goal| Figure {
        case: format!("{case}, {threads}"),
        values: Samples::of(times.iter().map(|times| times[BARE] / times[side])),
        unit: "× the bare rate",
        goal,
        limits: format!("{} against {}", made_of(side), made_of(BARE)),
    };
    Ok([
        figure("messages, concurrency 64", 0, Some(Goal::AtLeast(0.7))),
        figure("messages, batches of 64", 1, None),
        figure("for comparison: one `XACK` a message in a pipeline", 3, None),
        figure("for comparison: its read and its script without the consumer", 4, None),
    ])
}

/// Processor time and commands of all messages so far: what a busy machine changes least.
#[derive(Clone, Copy, Default)]
struct Spent {
    messages: usize,
    here: f64,
    in_server: f64,
    reads: u64,
    scripts: u64,
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = |seconds: f64| seconds * 1e6 / self.messages as f64;
        let a = |commands: u64| self.messages as f64 / commands as f64;
        write!(f, "{:.1} + {:.1} µs", each(self.here), each(self.in_server))?;
        write!(f, ", {:.0} a read", a(self.reads))?;
        if self.scripts > 0 { write!(f, ", {:.0} a script", a(self.scripts)) } else { Ok(()) }
    }
}

struct Work<'a> {
    runtime: Runtime,
    store: &'a Store,
    backend: RedisBackend,
    connection: MultiplexedConnection,
    /// Each batch and side reads all of it, in a group of its own.
    stream: Stream,
    spent: [Spent; COLUMNS.len()],
}

impl<'a> Work<'a> {
    fn new(store: &'a Store, threads: Threads) -> anyhow::Result<Self> {
        let runtime = threads.runtime()?;
        let (backend, connection, stream) = runtime.block_on(async {
            let mut stream = Stream::new(store, "rate").await?;
            stream.add(MESSAGES).await?;
            let backend = RedisBackend::connect(store.url()).await?;
            anyhow::Ok((backend, store.connection().await?, stream))
        })?;
        Ok(Self { runtime, store, backend, connection, stream, spent: Default::default() })
    }

    /// Each side takes all messages.
    fn batch(&mut self) -> anyhow::Result<Times> {
        let mut times = [0.0; COLUMNS.len()];
        for (column, side) in COLUMNS.into_iter().enumerate() {
            let (here, in_server) = (process::time()?, self.store.time()?);
            let counts = self.store.counts()?;
            let (backend, connection) = (self.backend.clone(), self.connection.clone());
            let stream = self.stream.clone();
            // A task, as a service's consumers are: the runtime's own threads run it.
            let taken = self.runtime.spawn(async move {
                match side {
                    Side::Consumer => consume(&backend, stream).await,
                    Side::Batches => consume_batches(&backend, stream).await,
                    Side::Bare(how) => consume_bare(connection, stream, how).await,
                }
            });
            times[column] = self.runtime.block_on(taken)??;
            let spent = &mut self.spent[column];
            spent.messages += MESSAGES;
            spent.in_server += self.store.time()? - in_server;
            spent.here += process::time()? - here;
            let now = self.store.counts()?;
            let of = |counts: &BTreeMap<_, _>, command| counts.get(command).copied().unwrap_or(0);
            let count = |command| of(&now, command) - of(&counts, command);
            spent.reads += count("xreadgroup");
            spent.scripts += count("evalsha");
        }
        Ok(times)
    }
}

const GROUP: &str = "rate";

/// Nanoseconds a message, from the first read to the reply to the last acknowledgement.
async fn consume(backend: &RedisBackend, stream: Stream) -> anyhow::Result<f64> {
    let watch = Arc::new(Watch::default());
    let consumer = Consumer::builder(backend, &stream.name, GROUP)
        .concurrency(AT_ONCE)
        .observer(watch.observer(MESSAGES))
        .handler(async |_: Message<OrderPlaced>| Ok::<(), String>(()));
    run(consumer, &watch, stream).await
}

async fn consume_batches(backend: &RedisBackend, stream: Stream) -> anyhow::Result<f64> {
    let watch = Arc::new(Watch::default());
    let consumer = Consumer::builder(backend, &stream.name, GROUP)
        .batch(AT_ONCE)
        .observer(watch.observer(MESSAGES))
        .handler(async |_: Batch<OrderPlaced>| Ok::<(), String>(()));
    run(consumer, &watch, stream).await
}

async fn run(consumer: Consumer, watch: &Watch, mut stream: Stream) -> anyhow::Result<f64> {
    let nanos = tokio::select! {
        ended = consumer.run(pending()) => {
            ended?;
            bail!("the consumer ended by itself");
        }
        took = watch.ended() => took.as_secs_f64() * 1e9 / MESSAGES as f64,
    };
    ensure!(stream.destroy_group(GROUP).await? == 0, "not everything is acknowledged");
    Ok(nanos)
}

async fn consume_bare(
    connection: MultiplexedConnection,
    mut stream: Stream,
    how: Acknowledging,
) -> anyhow::Result<f64> {
    stream.create_group(GROUP).await?;
    let mut bare = Bare::new(connection, &stream.name, GROUP).await?;
    let (started, mut done) = (Instant::now(), 0);
    while done < MESSAGES {
        let read = bare.read(AT_ONCE).await?;
        bare.acknowledge(&read, how).await?;
        done += read.len();
    }
    let nanos = per_call(started, MESSAGES);
    ensure!(stream.destroy_group(GROUP).await? == 0, "not everything is acknowledged");
    Ok(nanos)
}
