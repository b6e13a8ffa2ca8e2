//! How soon a waiter in another process has the outcome once the action is done.

use std::time::{Duration, Instant};

use anyhow::ensure;
use idem_processes::Program;
use idem_runtime::{Error, Idem, idempotent};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::store::{Store, idem_on, prefix};
use super::threads::Threads;
use super::waiter::{Told, Waiter, now_ns};
use crate::figure::{Figure, Goal};
use crate::role::Role;
use crate::samples::{Samples, percentile};

/// Waits of a round.
const WAITS: usize = 200;
/// From the subscription to the end of the action: the waiter's read, which comes first, is over by
/// then, and the first poll, 12 ms after that at the earliest, has not begun.
const PAUSE: Duration = Duration::from_millis(4);
/// Longer than a waiter takes to subscribe on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn figures(rounds: usize, store: &Store) -> anyhow::Result<[Figure; 2]> {
    let runtime = Threads::Two.runtime()?;
    let prefix = prefix();
    let idem = runtime.block_on(idem_on(store.url(), &prefix))?;
    let role = Role::Waiter(Waiter { url: store.url().to_owned(), prefix });
    let mut waiter = Program::start(&mut role.command()?);
    waiter.hear("it is ready", |told| matches!(told, Told::Ready).then_some(()));
    let mut millis = Vec::new();
    for round in 0..=rounds {
        let waits = (0..WAITS).map(|wait| {
            let key = format!("wait-{round}-{wait}");
            one(&runtime, (&idem, store), &mut waiter, &key)
        });
        let mut waits = waits.collect::<anyhow::Result<Vec<f64>>>()?;
        waits.sort_by(f64::total_cmp);
        millis.push([percentile(&waits, 50), percentile(&waits, 99)]);
    }
    // The first round finds new connections.
    millis.remove(0);
    let figure = |which: &str, values: Samples, most| Figure {
        case: format!("wake-up of a waiter in another process, {which}"),
        values,
        unit: "ms",
        goal: Some(Goal::AtMost(most)),
        limits: format!(
            "{WAITS} waits a round, from the end of the action: a completion, a push, a read; \
             polling alone starts at 12 to 37 ms"
        ),
    };
    Ok([
        figure("median", Samples::of(millis.iter().map(|millis| millis[0])), 2.0),
        figure("99th", Samples::of(millis.iter().map(|millis| millis[1])), 10.0),
    ])
}

/// Milliseconds from the end of an action to the answer of a call that waits for it elsewhere.
fn one(
    runtime: &Runtime,
    (idem, store): (&Idem, &Store),
    waiter: &mut Program<Told>,
    key: &str,
) -> anyhow::Result<f64> {
    let (end, ends) = oneshot::channel();
    let (run, runs) = oneshot::channel();
    let action = Action { run, ends };
    let (idem, record) = (idem.clone(), format!("{}:bench.waited_for:{key}", prefix()));
    let call = {
        let key = key.to_owned();
        runtime.spawn(async move { waited_for(&idem, &key, action).await })
    };
    runtime.block_on(runs)?;
    waiter.ask(&key);
    wait_for_subscription(store, &record)?;
    std::thread::sleep(PAUSE);
    ensure!(end.send(()).is_ok(), "the action has ended by itself");
    let ended = runtime.block_on(call)??;
    let answered = waiter.hear("an answer", |told| match told {
        Told::Answered { at_ns } => Some(*at_ns),
        Told::Ready => None,
    });
    ensure!(answered >= ended, "a waiter had the outcome before there was one");
    Ok((answered - ended) as f64 / 1e6)
}

fn wait_for_subscription(store: &Store, record: &str) -> anyhow::Result<()> {
    let until = Instant::now() + PATIENCE;
    while store.watchers(record)? == 0 {
        ensure!(Instant::now() < until, "the waiter does not subscribe to `{record}`");
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

/// What the action tells, and waits for.
struct Action {
    run: oneshot::Sender<()>,
    ends: oneshot::Receiver<()>,
}

/// Its value is the moment at which it ended.
#[idempotent(name = "bench.waited_for", key = key, runtime = idem)]
async fn waited_for(idem: &Idem, key: &str, action: Action) -> Result<u64, Error> {
    // Both ends are kept by who waits for the call.
    let _ = action.run.send(());
    let _ = action.ends.await;
    Ok(now_ns())
}
