//! Promises 2 and 3: what is stored stands until its ttl ends, and is what everybody gets.

use std::collections::BTreeMap;

use idem_runtime::OnCrash;

use super::{Check, MS, Rule, TICK};
use crate::soak::disturbances::Whom;
use crate::soak::history::{Answer, CallId, End, Given, Micros, Source};
use crate::soak::story::CallStory;

/// The latest that a call may be answered from an outcome that has ended since: by the reply to a read
/// that was under way, which other calls of its process wait for as well.
const UNDER_WAY: Micros = 5_000 * MS;

pub(super) fn check(check: &mut Check<'_>) {
    let outcomes = outcomes(check);
    for call in &check.key.calls {
        if let Some((at, given)) = call.given()
            && let Some(wrong) = nobodys_value(check, call, at, given)
        {
            let what = format!("{:?} got {:?}: {wrong}", call.call.id, given.value);
            check.violated(Rule::NobodysValue, what);
        }
    }
    for outcome in outcomes.values() {
        over(check, outcome);
        stored_over(check, outcome);
    }
    stored_beside(check);
    revived(check, &outcomes);
}

/// An outcome that is known to have been stored.
struct Outcome {
    value: CallId,
    /// When the action that made it ended: it cannot have been stored before.
    made: Micros,
    /// When it was stored for certain: the first answer that says so.
    known: Micros,
    /// Until when it stood for certain.
    stands: Micros,
    /// What its fingerprint is of.
    fingerprint: u64,
}

impl Outcome {
    /// Whether it stood all the time from when it was stored until `at`.
    fn stood(&self, check: &Check<'_>, at: Micros) -> bool {
        at < self.stands && !check.story.disturbances.emptied(self.made, at)
    }
}

fn outcomes(check: &Check<'_>) -> BTreeMap<CallId, Outcome> {
    let mut outcomes = BTreeMap::<CallId, Outcome>::new();
    for call in &check.key.calls {
        let Some((known, given)) = call.given().filter(|(_, given)| given.stored) else { continue };
        let Some((producer, made)) = producer(check, given) else { continue };
        let outcome = outcomes.entry(given.value).or_insert(Outcome {
            value: given.value,
            made,
            known,
            stands: (made + check.ttl()).saturating_sub(TICK),
            fingerprint: producer.call.fingerprint,
        });
        outcome.known = outcome.known.min(known);
    }
    outcomes
}

/// The call whose action made a value, or an error, and when: by its end, or under `reconcile` by its
/// effect.
fn producer<'a>(check: &Check<'a>, given: &Given) -> Option<(&'a CallStory, Micros)> {
    let call = check.call(given.value)?;
    let run = call.run.as_ref()?;
    let made = match (given.error, run.ended) {
        (false, _) if check.key.operation.on_crash == OnCrash::Reconcile => run.effect?,
        (false, Some((at, End::Returned))) | (true, Some((at, End::Failed))) => at,
        _ => return None,
    };
    Some((call, made))
}

/// What is wrong with a value that a call got, if anything is: this holds whatever goes wrong.
fn nobodys_value(
    check: &Check<'_>,
    call: &CallStory,
    at: Micros,
    given: &Given,
) -> Option<&'static str> {
    let Some((producer, made)) = producer(check, given) else {
        return Some("no action of this key made it");
    };
    let run = producer.run.as_ref()?;
    let fresh = given.source == Source::Fresh;
    let own = given.value == call.call.id;
    let why = [
        (made > at, "it was made later"),
        (fresh != own, "an action's own value is fresh, and no other is"),
        (!fresh && !run.protected, "it was made without protection, and cannot be stored"),
        (!fresh && given.error && !check.key.operation.stores_errors, "such errors are not stored"),
        (producer.call.fingerprint != call.call.fingerprint, "it was made for other arguments"),
        (fresh && given.protected != run.protected, "whether it was protected is wrong"),
        (given.stored && !given.protected, "it is stored without protection"),
    ];
    why.into_iter().find_map(|(wrong, why)| wrong.then_some(why))
}

/// While an outcome stands nothing runs, and every call gets it or is refused.
fn over(check: &mut Check<'_>, outcome: &Outcome) {
    let calls = &check.key.calls;
    // No call takes longer than a minute: a rule of its own sees to that.
    let first = calls.partition_point(|call| call.at + 60_000 * MS < outcome.known);
    for call in calls[first..].iter().take_while(|call| call.at < outcome.stands) {
        if let Some(run) = call.protected_run()
            && run.claimed_at_first()
            && run.began > outcome.known
            && outcome.stood(check, run.began)
            // An owner that took the key before the store lost everything knows of nothing.
            && !check.emptied(run.began.saturating_sub(check.lease()), run.began)
        {
            let what = format!("{:?} ran while {:?} stood", call.call.id, outcome.value);
            check.violated(Rule::RanOverAnOutcome, what);
        }
        let answered = call.answered.as_ref().filter(|(at, _)| outcome.stood(check, *at));
        let Some((at, answer)) = answered.filter(|_| call.at > outcome.known) else { continue };
        match answer {
            Answer::Given(given) if given.value != outcome.value && given.protected => {
                let (call, got, stood) = (call.call.id, given.value, outcome.value);
                let what = format!("{call:?} got {got:?} while {stood:?} stood");
                check.violated(Rule::AnotherOutcome, what);
            }
            Answer::Refused(kind) if !may_be_refused(check, outcome, call, kind) => {
                let (call, stood) = (call.call.id, outcome.value);
                let what =
                    format!("{call:?} was refused with {kind} at {at} while {stood:?} stood");
                check.violated(Rule::RefusedAtAnOutcome, what);
            }
            _ => {}
        }
    }
}

fn may_be_refused(check: &Check<'_>, outcome: &Outcome, call: &CallStory, kind: &str) -> bool {
    match kind {
        "Backend" => true,
        "FingerprintMismatch" => call.call.fingerprint != outcome.fingerprint,
        "InProgress" => {
            let mut calls = check.key.calls.iter();
            calls.any(|other| may_stand_in_the_way(check, outcome, other, call))
        }
        _ => false,
    }
}

/// Calls of one process meet there, and ask the store together: one that came before the outcome, and
/// has not heard of it, may still run or ask.
fn may_stand_in_the_way(
    check: &Check<'_>,
    outcome: &Outcome,
    other: &CallStory,
    call: &CallStory,
) -> bool {
    let (own, others) = (call.call.id, other.call.id);
    let together = (own.process(), own.life()) == (others.process(), others.life());
    let under_way = other.over().is_none_or(|over| over >= call.at);
    // What a call left to the keeper: a key to be freed, an outcome to be stored.
    let settled = matches!(other.given(), Some((_, given)) if given.stored);
    let left = other.run.is_some() && !settled && call.at < other.at + 4 * check.ttl();
    // One that asks while its process stands still keeps those beside it waiting, whatever it will find.
    let until = call.over().unwrap_or(call.at);
    let asks = other.run.is_none() && under_way && other.at <= until;
    let held_up = asks && !check.are_quiet(Whom::CallsOf(own.process()), call.at, until);
    together && own != others && (held_up || other.at <= outcome.known && (under_way || left))
}

/// An outcome is not stored where another one stands.
fn stored_over(check: &mut Check<'_>, outcome: &Outcome) {
    for (call, _) in check.owners() {
        let Some((at, given)) = call.given() else { continue };
        let Some(made) = producer(check, given).map(|(_, made)| made) else { continue };
        let fresh = given.source == Source::Fresh && given.stored;
        if fresh && given.value != outcome.value && made > outcome.known && outcome.stood(check, at)
        {
            let what = format!("{:?} was stored while {:?} stood", given.value, outcome.value);
            check.violated(Rule::StoredOverAnOutcome, what);
        }
    }
}

/// Nor where another owner claims the key. A claim that began before the outcome's ttl can have ended is
/// wrong wherever the outcome was stored: before the claim it was there to be found, later it went over
/// the owner's reservation.
fn stored_beside(check: &mut Check<'_>) {
    for (call, _) in check.owners() {
        let Some((known, given)) = call.given() else { continue };
        let stored = given.source == Source::Fresh && given.stored;
        let made = producer(check, given).map(|(_, made)| made).filter(|_| stored);
        let Some(made) = made else { continue };
        for (other, run) in check.owners().filter(|(other, _)| other.call.id != call.call.id) {
            let Some(from) = run.claims_from().map(|from| from.max(made)) else { continue };
            let begins_in_time = from < (made + check.ttl()).saturating_sub(TICK) && from < known;
            let claims = begins_in_time && run.claimed_all_the_time(from, known);
            if claims && !check.emptied(run.began.saturating_sub(check.lease()), known) {
                let (call, other) = (call.call.id, other.call.id);
                let what = format!("{call:?} was stored while {other:?} claimed the key");
                check.violated(Rule::StoredBesideAnOwner, what);
            }
        }
    }
}

/// Nothing stores an outcome again, except a reconcile that finds it once more.
fn revived(check: &mut Check<'_>, outcomes: &BTreeMap<CallId, Outcome>) {
    if check.key.operation.on_crash == OnCrash::Reconcile {
        return;
    }
    for call in &check.key.calls {
        let outcome = call.given().and_then(|(_, given)| outcomes.get(&given.value));
        let Some(outcome) = outcome else { continue };
        let reads = if asks_with_others(check, call) { UNDER_WAY } else { TICK };
        if call.at > outcome.known + check.ttl() + reads {
            let what = format!("{:?} got {:?} after its end", call.call.id, outcome.value);
            check.violated(Rule::Revived, what);
        }
    }
}

/// Whether a call may have been answered by what another of its process had asked before it came.
fn asks_with_others(check: &Check<'_>, call: &CallStory) -> bool {
    let of = |call: &CallStory| (call.call.id.process(), call.call.id.life());
    let here = check.key.calls.iter().filter(|other| of(other) == of(call));
    let mut earlier = here.filter(|other| other.call.id != call.call.id && other.at <= call.at);
    earlier.any(|other| other.over().is_none_or(|over| over + UNDER_WAY >= call.at))
}
