//! Promise 5: a dead owner blocks its key for a lease, or until somebody has looked.

use std::ops::Range;

use idem_runtime::{OnCrash, OnDrop};

use super::{Check, MS, Rule, TICK};
use crate::soak::disturbances::Whom;
use crate::soak::history::{Answer, Duplicate, End, Given, Micros};
use crate::soak::story::CallStory;

/// How long a busy machine may take for what takes milliseconds.
const SLACK: Micros = 3_000 * MS;

pub(super) fn check(check: &mut Check<'_>) {
    for call in &check.key.calls {
        crash_forgotten(check, call);
        nobody_crashed(check, call);
        blocked_by_nobody(check, call);
    }
    not_free(check);
}

/// Under `refuse` nothing runs after a crash until the retention has ended; under `reconcile` not
/// before somebody has asked, and was answered.
fn crash_forgotten(check: &mut Check<'_>, dead: &CallStory) {
    let Some(Vanished { at: vanished, lapses, remembered }) = vanished(check, dead) else { return };
    let asks = check.key.operation.on_crash == OnCrash::Reconcile;
    for call in check.key.calls.iter().take_while(|call| call.at < remembered) {
        let Some(run) = call.protected_run().filter(|run| run.claimed_at_first()) else { continue };
        let in_time = vanished < run.began && run.began < remembered;
        let is_asked = |call: &CallStory| {
            let answered = call.asked.filter(|(_, answer)| answer.is_some());
            answered.is_some_and(|(at, _)| lapses <= at && at <= run.began)
        };
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

/// An owner that vanished, maybe without an outcome.
struct Vanished {
    at: Micros,
    /// Its lease has not ended before.
    lapses: Micros,
    /// Until when nobody runs without having asked.
    remembered: Micros,
}

fn vanished(check: &Check<'_>, call: &CallStory) -> Option<Vanished> {
    let operation = &check.key.operation;
    let remembers = operation.on_crash != OnCrash::Rerun && operation.on_drop == OnDrop::Hold;
    let run = call.protected_run().filter(|_| remembers)?;
    let lapses = run.claimed_until()?;
    let confirmed = check.confirmed(lapses);
    let remembered = confirmed + check.lease() + operation.remembered_ms() * MS - TICK;
    let (at, remembered) = match (run.ended, call.killed) {
        (Some((at, End::Panicked | End::Dropped)), _) => (at, remembered),
        // What it returned may have been stored; then it stands until its ttl ends.
        (Some((at, End::Returned)), _) => {
            let not_stored = not_stored_at(check, call, at..remembered);
            (at, remembered.min(not_stored + check.ttl() - TICK))
        }
        (Some((_, End::Failed)), _) | (None, None) => return None,
        (None, Some((from, _))) => (from, remembered),
    };
    Some(Vanished { at, lapses, remembered })
}

/// When what an action returned was not stored for certain, and is on record as a crash: at its end, or
/// later when a call was told of a crash that can have been no other's.
fn not_stored_at(check: &Check<'_>, returned: &CallStory, between: Range<Micros>) -> Micros {
    let ended = between.start;
    let of_no_other = |call: &&CallStory| {
        let told = told_of_a_crash(call).filter(|_| call.asked.is_none());
        let others = check.key.calls.iter().filter(|other| other.call.id != returned.call.id);
        told.is_some_and(|told| {
            !others.into_iter().any(|other| may_be_a_crash(check, call, told, other))
        })
    };
    let calls = check.key.calls.iter().filter(|call| between.contains(&call.at));
    calls.filter(of_no_other).map(|call| call.at).fold(ended, Micros::max)
}

/// When a call was asked about a crash, or else told of one.
fn told_of_a_crash(call: &CallStory) -> Option<Micros> {
    let told = match &call.answered {
        Some((at, Answer::Refused(kind))) if kind == "OutcomeUnknown" => Some(*at),
        _ => None,
    };
    call.asked.map(|(at, _)| at).or(told)
}

/// Who is told of a crash, or asked about one, has found the reservation of an owner that came as far as
/// its body's first poll, or to the verge of it, and whose lease had ended.
fn nobody_crashed(check: &mut Check<'_>, call: &CallStory) {
    let Some(told) = told_of_a_crash(call) else { return };
    if !check.key.calls.iter().any(|other| may_be_a_crash(check, call, told, other)) {
        let what = format!("{:?} was told of a crash, and nobody had vanished", call.call.id);
        check.violated(Rule::NobodyCrashed, what);
    }
}

/// Whether the reservation of `other` may have lapsed, and be remembered, when `call` was told of that.
fn may_be_a_crash(check: &Check<'_>, call: &CallStory, told: Micros, other: &CallStory) -> bool {
    if other.call.id == call.call.id || other.at > told {
        return false;
    }
    let process = other.call.id.process();
    if let Some((answered, given)) = other.given().filter(|(answered, _)| *answered < call.at) {
        // An error has freed the key, if the store was there. An owner that lapsed may have begun again,
        // and a copy of that begin may have come late.
        let reached = || check.are_quiet(Whom::CallsOf(process), other.at, answered);
        if !given.lapsed && (given.stored || given.error && reached()) {
            return false;
        }
    }
    // It may have stopped on the verge of the first poll, if anything stopped it.
    let stopped = |until| !check.are_quiet(Whom::CallsOf(process), other.at, until);
    match &other.run {
        Some(run) => {
            let claims = run.claims_from().is_some_and(|from| {
                let stopped = || stopped(run.began);
                let from = if from > call.at && stopped() { call.at } else { from.max(call.at) };
                run.claimed_all_the_time(from, told)
            });
            !claims || check.emptied(run.began.saturating_sub(check.lease()), told)
        }
        None => {
            let until = other.over().map_or(told, |over| over.min(told));
            other.killed.is_some() || other.asked.is_some() || stopped(until)
        }
    }
}

/// A wait of two leases outlasts any owner that died before: where nothing goes wrong it ends without
/// an outcome only if somebody holds the key. And nobody finds itself in its way, as long as it cannot
/// have lost its reservation and begun anew beside it.
fn blocked_by_nobody(check: &mut Check<'_>, call: &CallStory) {
    let Some((at, Answer::Refused(kind))) = &call.answered else { return };
    if kind != "InProgress" || call.run.is_some() {
        return;
    }
    let may_have_lost = *at >= call.at + check.lease() || check.emptied(call.at, *at);
    let mut others = check.key.calls.iter().filter(|other| other.call.id != call.call.id);
    if !others.any(|other| other.at <= *at) && !may_have_lost {
        let what = format!("{:?} was refused for a call, and there was no other", call.call.id);
        return check.violated(Rule::BlockedByNobody, what);
    }
    let waits = call.call.duplicate == Duplicate::Wait;
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
