//! Promise 5: a dead owner blocks its key for a lease, or until somebody has looked.

use idem_runtime::{OnCrash, OnDrop};

use super::{Check, MS, Rule, TICK};
use crate::soak::history::{Answer, Duplicate, End, Given, Micros};
use crate::soak::story::{CallStory, Whom};

/// How long a busy machine may take for what takes milliseconds.
const SLACK: Micros = 3_000 * MS;

pub(super) fn check(check: &mut Check<'_>) {
    for call in &check.key.calls {
        crash_forgotten(check, call);
        blocked_by_nobody(check, call);
    }
    not_free(check);
}

/// Under `refuse` nothing runs after a crash until the retention has ended; under `reconcile` not
/// before somebody has asked.
fn crash_forgotten(check: &mut Check<'_>, dead: &CallStory) {
    let Some((vanished, remembered)) = vanished(check, dead) else { return };
    let asks = check.key.operation.on_crash == OnCrash::Reconcile;
    for call in &check.key.calls {
        let Some(run) = call.protected_run().filter(|run| run.claimed_at_first()) else { continue };
        let in_time = vanished < run.began && run.began < remembered;
        let is_asked =
            |call: &CallStory| call.asked.is_some_and(|(at, _)| vanished <= at && at <= run.began);
        let began = dead.run.as_ref().map_or(vanished, |run| run.began);
        if in_time
            && !(asks && check.key.calls.iter().any(is_asked))
            && !check.story.disturbances.emptied(began.saturating_sub(check.lease()), run.began)
        {
            let what = format!("{:?} ran although {:?} vanished", call.call.id, dead.call.id);
            check.violated(Rule::CrashForgotten, what);
            return;
        }
    }
}

/// When an owner vanished without an outcome, and until when that is remembered for certain.
fn vanished(check: &Check<'_>, call: &CallStory) -> Option<(Micros, Micros)> {
    let operation = check.key.operation;
    let remembers = operation.on_crash != OnCrash::Rerun && operation.on_drop == OnDrop::Hold;
    let run = call.protected_run().filter(|_| remembers)?;
    let confirmed = check.confirmed(run.claimed_until()?);
    let remembered = confirmed + check.lease() + operation.remembered_ms() * MS - TICK;
    match run.ended {
        Some((at, End::Panicked | End::Dropped)) => Some((at, remembered)),
        // What it returned may have been stored.
        Some((at, End::Returned)) => {
            call.killed.map(|(from, _)| (from, remembered.min(at + check.ttl() - TICK)))
        }
        Some((_, End::Failed)) => None,
        None => call.killed.map(|(from, _)| (from, remembered)),
    }
}

/// A wait of two leases outlasts any owner that died before: where nothing goes wrong it ends without
/// an outcome only if somebody holds the key.
fn blocked_by_nobody(check: &mut Check<'_>, call: &CallStory) {
    let Some((at, Answer::Refused(kind))) = &call.answered else { return };
    let waits = call.call.duplicate == Duplicate::Wait && kind == "InProgress";
    if !waits || check.key.operation.on_crash != OnCrash::Rerun {
        return;
    }
    if !check.are_quiet(Whom::Anybody, call.at, *at) {
        return;
    }
    let since = at.saturating_sub(check.lease() + 100 * MS);
    let holds = |other: &CallStory| {
        other.run.as_ref().is_some_and(|run| {
            let deferred = matches!(other.given(), Some((_, Given { stored: false, .. })));
            run.began <= *at && (deferred || other.run_ended().is_none_or(|end| end >= since))
        })
    };
    if !check.key.calls.iter().any(holds) {
        let what = format!("{:?} waited two leases for nobody", call.call.id);
        check.violated(Rule::BlockedByNobody, what);
    }
}

/// The last calls, when nothing goes wrong any more, try until they have an outcome.
fn not_free(check: &mut Check<'_>) {
    let Some(calm) = check.story.calm else { return };
    let until = calm + check.lease() + check.key.operation.remembered_ms() * MS + SLACK;
    let free =
        |call: &CallStory| call.at >= calm && call.given().is_some_and(|(at, _)| at <= until);
    if !check.key.calls.iter().any(free) {
        let what = "it had no outcome in time after everything was over".to_owned();
        check.violated(Rule::NotFree, what);
    }
}
