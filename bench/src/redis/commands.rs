//! What calls cost, by the server's own count of commands.
//!
//! The server counts what a script runs as well, so that is taken off: only what a client sends
//! costs a round trip.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use idem_bench::Order;
use idem_runtime::{Error, Idem, idempotent};
use tokio::task::JoinSet;

use super::keys::{Keyed, Keys};
use super::service::pay;
use super::store::Store;
use super::threads::Threads;
use crate::figure::{Figure, Goal};
use crate::samples::Samples;

const CALLS: usize = 100;
const DUPLICATES: usize = 1_000;
/// How long the action runs that has duplicates: all of them come meanwhile.
const ACTION: Duration = Duration::from_millis(200);
/// How many commands the script that completes runs: it reads, stores, and tells of the change.
const IN_COMPLETION: u64 = 3;
/// How many the script runs that reads a record and its life.
const IN_PEEK: u64 = 2;
/// What comes from a connection that is opened, and from asking for the counters.
const BESIDE: [&str; 5] = ["info", "hello", "client|setinfo", "select", "script|load"];

/// How often each command was carried out.
type Counts = BTreeMap<String, u64>;

pub(super) fn figures(store: &Store, keys: &mut Keys) -> anyhow::Result<[Figure; 4]> {
    let runtime = Threads::Two.runtime()?;
    let idem = runtime.block_on(store.idem())?;
    let calls = |keys: &[Keyed]| {
        counted(store, || {
            runtime.block_on(async {
                for key in keys {
                    pay(&idem, &key.order).await?;
                }
                Ok(())
            })
        })
    };
    // With the first call the server gets the script, and the keeper its connection.
    calls(&keys.take(1))?;
    let keys = keys.take(CALLS + 1);
    let (some, one) = keys.split_at(CALLS);
    let (first, replay) = (calls(some)?, calls(some)?);
    let runs = Arc::new(AtomicU64::new(0));
    let shared = counted(store, || runtime.block_on(duplicates(&idem, &one[0].order, &runs)))?;
    let runs = runs.load(Ordering::Relaxed) as f64;
    let exactly = |count| Some(Goal::Exactly(count));
    Ok([
        figure("first call", &first, from_clients(&first)? / CALLS as f64, exactly(2.0)),
        figure("replay", &replay, from_clients(&replay)? / CALLS as f64, exactly(1.0)),
        Figure {
            case: "1,000 local duplicates, runs".to_owned(),
            values: Samples::exact(runs),
            unit: "runs",
            goal: exactly(1.0),
            limits: format!("the action takes {} ms", ACTION.as_millis()),
        },
        Figure {
            case: "1,000 local duplicates, reads".to_owned(),
            // The only command that does not read is the completion.
            values: Samples::exact(from_clients(&shared)? - 1.0),
            unit: "store reads",
            goal: Some(Goal::AtMost(2.0)),
            limits: format!("{} in all", list(&shared)),
        },
    ])
}

fn figure(what: &str, counts: &Counts, value: f64, goal: Option<Goal>) -> Figure {
    Figure {
        case: format!("{what}, commands"),
        values: Samples::exact(value),
        unit: "commands a call",
        goal,
        limits: format!("{CALLS} calls: {}", list(counts)),
    }
}

/// What was carried out meanwhile.
fn counted(store: &Store, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Counts> {
    let before = store.counts()?;
    work()?;
    let mut counts = store.counts()?;
    for (command, count) in &mut counts {
        *count -= before.get(command).copied().unwrap_or_default();
    }
    counts.retain(|command, count| *count > 0 && !BESIDE.contains(&command.as_str()));
    Ok(counts)
}

/// The commands that clients sent: all but what the scripts ran. Of these only a completion tells.
fn from_clients(counts: &Counts) -> anyhow::Result<f64> {
    let count = |command: &str| counts.get(command).copied().unwrap_or_default();
    let (scripts, completions) = (count("evalsha"), count("spublish"));
    let peeks = scripts.checked_sub(completions);
    let in_scripts = peeks.map(|peeks| peeks * IN_PEEK + completions * IN_COMPLETION);
    let sent = in_scripts.and_then(|inside| counts.values().sum::<u64>().checked_sub(inside));
    Ok(sent.with_context(|| format!("more was run by scripts than at all: {}", list(counts)))?
        as f64)
}

fn list(counts: &Counts) -> String {
    let each = counts.iter().map(|(command, count)| format!("{command} {count}"));
    each.collect::<Vec<_>>().join(", ")
}

#[idempotent(name = "bench.pay_slowly", key = order.id, runtime = idem)]
async fn pay_slowly(idem: &Idem, order: &Order, runs: &AtomicU64) -> Result<u64, Error> {
    runs.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(ACTION).await;
    Ok(order.cents)
}

/// Calls of one key, all at once.
async fn duplicates(idem: &Idem, order: &Order, runs: &Arc<AtomicU64>) -> anyhow::Result<()> {
    let mut callers = JoinSet::new();
    for _ in 0..DUPLICATES {
        let (idem, runs, order) = (idem.clone(), Arc::clone(runs), order.clone());
        callers.spawn(async move { pay_slowly(&idem, &order, &runs).await });
    }
    while let Some(answer) = callers.join_next().await {
        let cents = answer.context("a caller panicked")??;
        ensure!(cents == order.cents, "a duplicate was answered with {cents}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole of it on a real server: these figures are counts, the same on every machine.
    #[test]
    fn a_first_call_is_two_commands_a_replay_one_and_duplicates_share_a_read() {
        let figures = figures(&Store::at(None), &mut Keys::default()).unwrap();
        for figure in figures {
            assert_eq!(figure.is_met(), Some(true), "{}: {}", figure.case, figure.limits);
        }
    }

    #[test]
    fn what_the_script_runs_is_not_what_a_client_sent() {
        let counts = |counts: &[(&str, u64)]| -> Counts {
            counts.iter().map(|(command, count)| ((*command).to_owned(), *count)).collect()
        };
        let first = counts(&[("evalsha", 3), ("get", 3), ("set", 6), ("spublish", 3)]);
        assert_eq!(from_clients(&first).unwrap(), 6.0);
        let peeked = counts(&[("evalsha", 1), ("get", 1), ("pttl", 1), ("set", 1)]);
        assert_eq!(from_clients(&peeked).unwrap(), 2.0);
        assert!(from_clients(&counts(&[("spublish", 1)])).is_err());
    }
}
