//! Ten thousand messages in hand: whether all of them are kept, and what that takes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use idem_redis::RedisBackend;
use idem_redis::consumer::{Consumer, ConsumerEvent, ConsumerEventKind as Kind, Message};
use tokio::time::sleep;

use super::stream::{OrderPlaced, Stream};
use crate::figure::{Figure, Goal};
use crate::process::thread_time;
use crate::redis::{Store, Threads};
use crate::samples::{Samples, percentile};

const MESSAGES: usize = 10_000;
const IDLE: Duration = Duration::from_secs(4);
/// A quarter of that, as it is by itself.
const EVERY: Duration = Duration::from_secs(1);
/// Two renewals of each message.
const ROUND: Duration = Duration::from_secs(2);
/// Longer than it takes to read them on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// The thread that renews.
const THREAD: &str = "idem-redis-consumer";

/// A part of a hold.
struct Round {
    /// By how much a renewal of everything was late at most, in milliseconds.
    late: f64,
    renewed: f64,
    /// Seconds of the thread, and of the server.
    here: f64,
    in_server: f64,
    took: f64,
}

pub(super) fn figures(rounds: usize, store: &Store) -> anyhow::Result<[Figure; 3]> {
    let runtime = Threads::Two.runtime()?;
    let (rounds, failed) = runtime.block_on(hold(rounds, store))?;
    let each = |value: fn(&Round) -> f64| Samples::of(rounds.iter().map(value));
    let micros = |value: fn(&Round) -> f64| each(value).median();
    let case = |what| format!("{MESSAGES} messages in hand, renewed every {EVERY:?}: {what}");
    let mut late: Vec<f64> = rounds.iter().map(|round| round.late).collect();
    late.sort_by(f64::total_cmp);
    Ok([
        Figure {
            case: case("lost, taken over, or not renewed in time"),
            values: Samples::exact(failed as f64),
            unit: "messages",
            goal: Some(Goal::Exactly(0.0)),
            limits: format!(
                "held for {:.0} s",
                each(|round| round.took).median() * late.len() as f64
            ),
        },
        Figure {
            case: case("the thread that renews"),
            values: each(|round| round.here / round.took * 100.0),
            unit: "% of a core",
            goal: None,
            limits: format!(
                "{:.0} renewals a second, {:.1} + {:.1} µs each",
                micros(|round| round.renewed / round.took),
                micros(|round| round.here / round.renewed * 1e6),
                micros(|round| round.in_server / round.renewed * 1e6),
            ),
        },
        Figure {
            case: case("late"),
            values: each(|round| round.late),
            unit: "ms",
            goal: Some(Goal::AtMost(EVERY.as_secs_f64() * 1e3 / 10.0)),
            limits: format!(
                "the latest of a round; the latest of all {:.1} ms",
                percentile(&late, 100)
            ),
        },
    ])
}

/// What the consumer tells of renewals, since it was taken.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    late: Vec<f64>,
    renewed: usize,
    failed: usize,
    /// Of the last renewal that failed.
    error: Option<String>,
}

impl Log {
    fn add(&self, event: &ConsumerEvent<'_>) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &event.kind {
            Kind::Renewed { count, late, .. } => {
                entries.renewed += count;
                entries.late.push(late.as_secs_f64() * 1e3);
            }
            Kind::RenewalFailed { ids, error, .. } => {
                entries.failed += ids.len();
                entries.error = Some(error.to_string());
            }
            Kind::LeaseLost { .. } | Kind::Reclaimed { .. } => {
                entries.failed += event.kind.messages();
            }
            _ => {}
        }
    }

    fn take(&self) -> Entries {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn hold(rounds: usize, store: &Store) -> anyhow::Result<(Vec<Round>, usize)> {
    let mut stream = Stream::new(store, "renewals").await?;
    stream.add(MESSAGES).await?;
    let log = Log::default();
    let observer = log.clone();
    let backend = RedisBackend::connect(store.url()).await?;
    let consumer = Consumer::builder(&backend, &stream.name, "renewals")
        .retry_on_idle(IDLE)
        .renew_every(EVERY)
        .concurrency(MESSAGES)
        .observer(move |event| observer.add(event))
        .handler(async |_: Message<OrderPlaced>| {
            std::future::pending::<Result<(), String>>().await
        });
    let held = tokio::select! {
        ended = consumer.clone().run(std::future::pending()) => {
            ended?;
            bail!("the consumer ended by itself");
        }
        held = measure(rounds, store, &consumer, &log) => held?,
    };
    stream.delete().await?;
    Ok(held)
}

async fn measure(
    rounds: usize,
    store: &Store,
    consumer: &Consumer,
    log: &Log,
) -> anyhow::Result<(Vec<Round>, usize)> {
    let until = Instant::now() + PATIENCE;
    while consumer.stats().in_hand < MESSAGES as u64 {
        ensure!(Instant::now() < until, "not all messages come into hand");
        sleep(Duration::from_millis(10)).await;
    }
    // Renewals of the time in which messages were still taken are of no round.
    sleep(EVERY).await;
    let mut failed = log.take().failed;
    let mut all = Vec::new();
    for _ in 0..rounds {
        let (started, here, in_server) = (Instant::now(), thread_time(THREAD)?, store.time()?);
        sleep(ROUND).await;
        let entries = log.take();
        ensure!(entries.renewed > 0, "nothing was renewed: {:?}", entries.error);
        failed += entries.failed;
        all.push(Round {
            late: entries.late.into_iter().fold(0.0, f64::max),
            renewed: entries.renewed as f64,
            here: thread_time(THREAD)? - here,
            in_server: store.time()? - in_server,
            took: started.elapsed().as_secs_f64(),
        });
    }
    ensure!(consumer.stats().in_hand == MESSAGES as u64, "messages are not in hand any more");
    Ok((all, failed))
}
