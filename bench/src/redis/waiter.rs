//! The other process: it waits for the outcomes of calls that this one has begun.

use std::io::{self, BufRead, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use idem_runtime::{Error, Idem, Source, idempotent, observe};
use serde::{Deserialize, Serialize};

use super::store::idem_on;
use super::threads::Threads;

/// How it is set up. Then it reads one key a line, and for each tells the moment of the answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Waiter {
    pub(super) url: String,
    /// That of the calls it waits for.
    pub(super) prefix: String,
}

/// What it tells.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Told {
    Ready,
    /// When a call was answered by what another process stored.
    Answered {
        at_ns: u64,
    },
}

impl Waiter {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let runtime = Threads::Two.runtime()?;
        let idem = runtime.block_on(idem_on(&self.url, &self.prefix))?;
        tell(&Told::Ready)?;
        for key in io::stdin().lock().lines() {
            let key: String = serde_json::from_str(&key?).context("reading a key")?;
            let idem = idem.clone();
            let answered = runtime.spawn(async move { wait_for(&idem, &key).await });
            tell(&runtime.block_on(answered)??)?;
        }
        Ok(())
    }
}

async fn wait_for(idem: &Idem, key: &str) -> anyhow::Result<Told> {
    let answer = observe(waited_for(idem, key)).await;
    let at_ns = now_ns();
    answer.result?;
    let source = answer.facts.context("a call has facts")?.source;
    ensure!(source == Source::Waited, "a call was answered as {source:?} instead of having waited");
    Ok(Told::Answered { at_ns })
}

/// Runs in the other process only.
#[idempotent(name = "bench.waited_for", key = key, runtime = idem)]
async fn waited_for(idem: &Idem, key: &str) -> Result<u64, Error> {
    unreachable!("the other process has the key `{key}`")
}

/// The wall clock: that of all processes of a machine.
pub(super) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn tell(told: &Told) -> anyhow::Result<()> {
    let line = serde_json::to_string(told)?;
    writeln!(io::stdout().lock(), "{line}").context("telling the suite")
}
