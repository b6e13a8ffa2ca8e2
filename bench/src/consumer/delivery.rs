//! How soon a message reaches its handler: added alone, to a consumer that waits.

use std::time::{Duration, Instant};

use anyhow::Context;
use idem_redis::RedisBackend;
use idem_redis::consumer::{Consumer, ConsumerEventKind as Kind, Message};
use redis::aio::MultiplexedConnection;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use super::bare::{Acknowledging, Bare};
use super::stream::{OrderPlaced, Stream};
use crate::figure::Figure;
use crate::redis::{Store, Threads};
use crate::samples::{Samples, percentile};

/// Messages of a round, for each side.
const MESSAGES: usize = 100;
/// From the acknowledgement of one message to the next: the reader waits on the server again by then.
const PAUSE: Duration = Duration::from_millis(2);
const GROUP: &str = "delivery";

/// What is heard of a message.
enum Told {
    /// The handler's first line, or the reply to the bare read.
    Begun(Instant),
    Acknowledged,
}

pub(super) fn figure(rounds: usize, store: &Store, threads: Threads) -> anyhow::Result<Figure> {
    let runtime = threads.runtime()?;
    let rounds = runtime.block_on(measure(rounds, store))?;
    let micros = |value: fn(&[Vec<f64>; 2]) -> f64| Samples::of(rounds.iter().map(value)).median();
    Ok(Figure {
        case: format!("added until its handler begins, alone, {threads}"),
        values: Samples::of(
            rounds.iter().map(|[ours, bare]| percentile(ours, 50) / percentile(bare, 50)),
        ),
        unit: "× until a bare read has it",
        goal: None,
        limits: format!(
            "{:.0} µs against {:.0} µs; 99th {:.0} µs against {:.0} µs",
            micros(|[ours, _]| percentile(ours, 50)),
            micros(|[_, bare]| percentile(bare, 50)),
            micros(|[ours, _]| percentile(ours, 99)),
            micros(|[_, bare]| percentile(bare, 99)),
        ),
    })
}

/// Microseconds of each message in ascending order, the consumer's and the bare reader's, by rounds.
async fn measure(rounds: usize, store: &Store) -> anyhow::Result<Vec<[Vec<f64>; 2]>> {
    let mut readers = JoinSet::new();
    let (tell, consumer_tells) = unbounded_channel();
    let ours = Stream::new(store, "delivery").await?;
    let backend = RedisBackend::connect(store.url()).await?;
    readers.spawn(consume(backend, ours.name.clone(), tell));
    let (tell, bare_tells) = unbounded_channel();
    let mut bare = Stream::new(store, "bare-delivery").await?;
    bare.create_group(GROUP).await?;
    readers.spawn(consume_bare(store.connection().await?, bare.name.clone(), tell));
    let mut sides = [(ours, consumer_tells), (bare, bare_tells)];
    let mut all = Vec::new();
    for _ in 0..=rounds {
        let [ours, bare] = &mut sides;
        all.push([batch(ours, &mut readers).await?, batch(bare, &mut readers).await?]);
    }
    // The first round finds new connections.
    all.remove(0);
    readers.shutdown().await;
    for (stream, _) in sides {
        stream.delete().await?;
    }
    Ok(all)
}

async fn batch(
    (stream, told): &mut (Stream, UnboundedReceiver<Told>),
    readers: &mut JoinSet<anyhow::Result<()>>,
) -> anyhow::Result<Vec<f64>> {
    let mut micros = Vec::with_capacity(MESSAGES);
    for _ in 0..MESSAGES {
        tokio::time::sleep(PAUSE).await;
        let (added, mut begun, mut is_acknowledged) = (Instant::now(), None, false);
        stream.add(1).await?;
        while begun.is_none() || !is_acknowledged {
            tokio::select! {
                told = told.recv() => match told.context("the reader has ended")? {
                    Told::Begun(at) => begun = Some(at),
                    Told::Acknowledged => is_acknowledged = true,
                },
                Some(ended) = readers.join_next() => return ended?.and_then(|()| {
                    anyhow::bail!("a reader has ended by itself")
                }),
            }
        }
        micros.extend(begun.map(|at| (at - added).as_secs_f64() * 1e6));
    }
    micros.sort_by(f64::total_cmp);
    Ok(micros)
}

async fn consume(
    backend: RedisBackend,
    stream: String,
    tell: UnboundedSender<Told>,
) -> anyhow::Result<()> {
    let begins = tell.clone();
    let consumer = Consumer::builder(&backend, stream, GROUP)
        .observer(move |event| {
            if let Kind::Done { .. } = event.kind {
                // Without a receiver the round is over.
                let _ = tell.send(Told::Acknowledged);
            }
        })
        .handler(move |_: Message<OrderPlaced>| {
            let _ = begins.send(Told::Begun(Instant::now()));
            async { Ok::<(), String>(()) }
        });
    Ok(consumer.run(std::future::pending()).await?)
}

async fn consume_bare(
    connection: MultiplexedConnection,
    stream: String,
    tell: UnboundedSender<Told>,
) -> anyhow::Result<()> {
    let mut bare = Bare::new(connection, &stream, GROUP).await?;
    loop {
        let read = bare.read(1).await?;
        let _ = tell.send(Told::Begun(Instant::now()));
        bare.acknowledge(&read, Acknowledging::AtOnce).await?;
        let _ = tell.send(Told::Acknowledged);
    }
}
