//! The process that holds leases.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use idem_redis::RedisBackend;
use idem_runtime::{Error, Idem, MemoryBackend, Source, Status, idempotent, observe};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::log::{Log, Wrong};
use crate::process::{keeper_time, memory};
use crate::redis::Threads;
use crate::samples::percentile;

/// As many calls begin or complete at a time.
const AT_ONCE: usize = 256;
/// How often some leases are looked at in the store.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How many at a time.
const LOOK_AT: usize = 10;

/// What is to be held, where, and for how long.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Hold {
    /// A Redis server; `None`: the memory backend.
    pub(super) url: Option<String>,
    pub(super) leases: usize,
    pub(super) lease: Duration,
    pub(super) rounds: usize,
    pub(super) round: Duration,
}

/// How that went.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) rounds: Vec<Round>,
    /// Leases lost or at risk, and calls that ended otherwise than fresh and stored.
    pub(super) lost: u64,
    /// Renewals that were not answered in time, and tried again.
    pub(super) unanswered: u64,
    /// Bytes of this process for each lease: as they are held, and the most at any time.
    pub(super) memory: [f64; 2],
}

/// A part of a hold.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Round {
    /// Of a core, for the keeper's thread.
    pub(super) keeper_percent: f64,
    pub(super) renewals_a_second: f64,
    /// By how much renewals were sent late: the 99th per cent, and the latest.
    pub(super) late_ms: [f64; 2],
    /// The least that a lease had left in the store, of those looked at.
    pub(super) least_left_ms: f64,
}

impl Hold {
    pub(super) fn new(url: Option<&str>, rounds: usize) -> Self {
        let (url, none) = (url.map(str::to_owned), Duration::ZERO);
        Self { url, leases: 0, lease: none, rounds, round: none }
    }

    pub(super) fn of(self, leases: usize, lease: Duration, round: Duration) -> Self {
        Self { leases, lease, round, ..self }
    }

    pub(crate) fn run(self) -> anyhow::Result<()> {
        let held = Threads::Two.runtime()?.block_on(self.hold())?;
        println!("{}", serde_json::to_string(&held)?);
        Ok(())
    }

    async fn hold(&self) -> anyhow::Result<Held> {
        let log = Log::default();
        let idem = self.idem(log.clone()).await?;
        let [before, _] = memory()?;
        let gates = Arc::new(Gates::new());
        let mut calls = JoinSet::new();
        for number in 0..self.leases {
            calls.spawn(call(idem.clone(), number, Arc::clone(&gates)));
        }
        let all = u32::try_from(self.leases).context("too many leases")?;
        drop(gates.begun.acquire_many(all).await?);
        until_the_keeper_runs().await?;
        let [held, _] = memory()?;
        // Renewals of the time in which leases were still taken are of no round.
        log.take();
        let mut rounds = Vec::new();
        for _ in 0..self.rounds {
            rounds.push(self.round(&idem, &log).await?);
        }
        let [_, most] = memory()?;
        let Wrong { lost, unanswered } = log.wrong();
        gates.end.add_permits(AT_ONCE);
        let mut failed = 0;
        while let Some(ended) = calls.join_next().await {
            failed += u64::from(!ended.context("a call panicked")?);
        }
        let memory = [held, most].map(|bytes| (bytes - before) / self.leases as f64);
        Ok(Held { rounds, lost: lost + failed, unanswered, memory })
    }

    async fn idem(&self, log: Log) -> anyhow::Result<Idem> {
        let builder = match &self.url {
            Some(url) => Idem::builder().backend(RedisBackend::connect(url).await?),
            None => Idem::builder().backend(MemoryBackend::new()),
        };
        let prefix = format!("bench/{}", std::process::id());
        let builder = builder.prefix(prefix).lease(self.lease).ttl(self.lease * 2);
        Ok(builder.observer(log).build()?)
    }

    async fn round(&self, idem: &Idem, log: &Log) -> anyhow::Result<Round> {
        let (started, ran) = (Instant::now(), keeper_time()?);
        let (mut least_left, mut look) = (self.lease, 0);
        while started.elapsed() < self.round {
            sleep(LOOK_EVERY).await;
            for _ in 0..LOOK_AT {
                // A stride that meets all of them, those that were taken close together far apart.
                look = (look + self.leases * 5 / 13 + 1) % self.leases;
                least_left = least_left.min(left(idem, look).await?);
            }
        }
        let took = started.elapsed().as_secs_f64();
        let late = log.take();
        ensure!(!late.is_empty(), "nothing was renewed in {took:.1} s");
        Ok(Round {
            keeper_percent: (keeper_time()? - ran) / took * 100.0,
            renewals_a_second: late.len() as f64 / took,
            late_ms: [percentile(&late, 99), percentile(&late, 100)],
            least_left_ms: least_left.as_secs_f64() * 1e3,
        })
    }
}

/// The keeper's thread has been started by then, and may not have got its name yet.
async fn until_the_keeper_runs() -> anyhow::Result<()> {
    // Longer than a thread takes to start on a busy machine; only a failure takes as long.
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        match keeper_time() {
            Err(_) if Instant::now() < until => sleep(Duration::from_millis(1)).await,
            looked => return looked.map(drop),
        }
    }
}

/// What a lease has left in the store.
async fn left(idem: &Idem, number: usize) -> anyhow::Result<Duration> {
    match idem.inspect("bench.hold", &key(number)).await?.map(|found| found.status) {
        Some(Status::InProgress { lapses_in }) => Ok(lapses_in),
        // It is told of as lost as well.
        _ => Ok(Duration::ZERO),
    }
}

/// What calls begin and end by.
struct Gates {
    begin: Semaphore,
    /// One permit for each action that runs.
    begun: Semaphore,
    end: Semaphore,
}

impl Gates {
    fn new() -> Self {
        let [begin, begun, end] = [AT_ONCE, 0, 0].map(Semaphore::new);
        Self { begin, begun, end }
    }
}

/// One call, from its turn to begin to its turn to end; whether it ended as it should.
async fn call(idem: Idem, number: usize, gates: Arc<Gates>) -> bool {
    pass(&gates.begin).await;
    let call = observe(hold(&idem, &key(number), &gates)).await;
    gates.end.add_permits(1);
    let fresh = call.facts.is_some_and(|facts| {
        facts.source == Source::Fresh && facts.stored && !facts.lapsed && facts.attempt == 1
    });
    fresh && call.result.is_ok()
}

fn key(number: usize) -> String {
    format!("lease-{number:08}")
}

/// Waits for a turn and keeps it; whoever is done gives one back.
async fn pass(gate: &Semaphore) {
    // None of them is ever closed.
    if let Ok(turn) = gate.acquire().await {
        turn.forget();
    }
}

#[idempotent(name = "bench.hold", key = key, runtime = idem)]
async fn hold(idem: &Idem, key: &str, gates: &Gates) -> Result<u64, Error> {
    gates.begun.add_permits(1);
    gates.begin.add_permits(1);
    pass(&gates.end).await;
    Ok(key.len() as u64)
}
