//! The callers.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt;
use idem_runtime::{DirectCall, Facts, OnCrash, OnDrop, OnDuplicate, Outcome, observe, on_error};
use idem_tests::soak::history::{
    Answer, Call, CallId, Duplicate, Given, Micros, Source, What, now,
};
use idem_tests::soak::{Dice, OPERATIONS, Operation};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, timeout};

use super::World;
use super::action::{Failure, Site, act, ask};
use super::plan::Plan;

/// How long the last calls try; the check's limit is shorter.
const LAST: Duration = Duration::from_secs(30);

/// Calls at random until it is time, and waits for all calls to end.
pub(super) async fn at_random(world: &Arc<World>, until: Micros) -> Result<(), JoinError> {
    let mut callers = JoinSet::new();
    for caller in 0..world.settings.callers {
        let (world, settings) = (Arc::clone(world), &world.settings);
        let which = [3, settings.process, settings.life, caller];
        let mut dice = Dice::of(settings.seed, &which);
        callers.spawn(async move {
            while now() < until {
                let plan = Plan::throw(&mut dice, world.settings.keys);
                let pause = plan.pause;
                call(&world, plan).await;
                sleep(pause).await;
            }
        });
    }
    joined(callers).await
}

/// Calls every key until it has an outcome.
pub(super) async fn each(world: &Arc<World>) -> Result<(), JoinError> {
    let mut callers = JoinSet::new();
    let keys = world.settings.keys;
    for (operation, key) in OPERATIONS.iter().flat_map(|of| (0..keys).map(move |key| (of, key))) {
        let world = Arc::clone(world);
        callers.spawn(async move {
            let start = Instant::now();
            // What stands may be for either of the arguments that calls have.
            for fingerprint in [1, 2].into_iter().cycle() {
                let plan = Plan::last(operation, key, fingerprint);
                let pause = plan.pause;
                if call(&world, plan).await || start.elapsed() > LAST {
                    return;
                }
                sleep(pause).await;
            }
        });
    }
    joined(callers).await
}

async fn joined(mut callers: JoinSet<()>) -> Result<(), JoinError> {
    while let Some(ended) = callers.join_next().await {
        ended?;
    }
    Ok(())
}

/// Makes a call and writes down how it ends. Says whether it has a value.
async fn call(world: &Arc<World>, plan: Plan) -> bool {
    let number = world.next.fetch_add(1, Ordering::Relaxed);
    let id = CallId::new(world.settings.process, world.settings.life, number);
    let Plan { operation, key, fingerprint, duplicate, .. } = plan;
    let operation = operation.name.to_owned();
    world.writer.write(What::Called(Call { id, operation, key, fingerprint, duplicate }));
    let dropped_after = plan.dropped_after;
    let made = AssertUnwindSafe(observe(make(world, id, plan))).catch_unwind();
    let result = match dropped_after {
        Some(after) => match timeout(after, made).await {
            Ok(result) => result,
            Err(_) => {
                world.writer.write(What::Abandoned { call: id });
                return false;
            }
        },
        None => made.await,
    };
    let answer = result.map_or(Answer::Panicked, |ended| answer(ended.result, ended.facts));
    let has_value = matches!(answer, Answer::Given(_));
    world.writer.write(What::Answered { call: id, answer });
    has_value
}

async fn make(world: &Arc<World>, id: CallId, plan: Plan) -> Result<Outcome<u64>, Failure> {
    let Plan { operation, key, fingerprint, action, ask: asks, .. } = plan;
    let call = set(world, &plan);
    let effects = format!("effects-{}-{key}-{fingerprint}", operation.name);
    let effects = world.settings.folder.join(effects);
    let site = Site { world: Arc::clone(world), call: id, effects };
    let here = site.clone();
    let body = move |lease| act(here, lease, action);
    match (operation.on_drop, operation.on_crash) {
        (OnDrop::Detach, _) => call.on_error(on_error::Store).run_detached(body).await,
        (_, OnCrash::Reconcile) => {
            // An older effect is of an attempt before the one that vanished.
            let since = operation.lease() + Duration::from_millis(operation.retention_ms);
            call.run_reconciling(ask(site, since, asks), body).await
        }
        (on_drop, on_crash) => call.on_drop(on_drop).on_crash(on_crash).run(body).await,
    }
}

/// A call with the settings of its operation.
fn set(world: &World, plan: &Plan) -> DirectCall {
    let Operation { name, ttl_ms, retention_ms, deadline_ms, on_lost, on_outage, .. } =
        *plan.operation;
    let call = world
        .idem
        .call(name)
        .key(&plan.key)
        .fingerprint(&plan.fingerprint)
        .lease(plan.operation.lease())
        .ttl(Duration::from_millis(ttl_ms))
        .retention(Duration::from_millis(retention_ms))
        .on_lost(on_lost)
        .on_outage(on_outage)
        .on_duplicate(match plan.duplicate {
            Duplicate::Wait => OnDuplicate::Wait,
            Duplicate::WaitFor(ms) => OnDuplicate::WaitFor(Duration::from_millis(ms)),
            Duplicate::Reject => OnDuplicate::Reject,
        });
    match deadline_ms {
        Some(deadline) => call.deadline(Duration::from_millis(deadline)),
        None => call,
    }
}

fn answer(result: Result<Outcome<u64>, Failure>, facts: Option<Facts>) -> Answer {
    let (value, error) = match result {
        Ok(outcome) => (outcome.value, false),
        Err(Failure::Own(value)) => (value, true),
        Err(Failure::Refused(kind)) => return Answer::Refused(kind),
    };
    let Some(facts) = facts else { return Answer::Refused("no facts of a value".to_owned()) };
    let source = match facts.source {
        idem_runtime::Source::Fresh => Source::Fresh,
        idem_runtime::Source::Replayed => Source::Replayed,
        idem_runtime::Source::Waited => Source::Waited,
        idem_runtime::Source::Reconciled => Source::Reconciled,
        other => return Answer::Refused(format!("a source that is new: {other:?}")),
    };
    let Facts { stored, lapsed, protected, .. } = facts;
    Answer::Given(Given { value: CallId(value), error, source, stored, lapsed, protected })
}
