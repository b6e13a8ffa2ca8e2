//! Promise 1: one owner at a time, as long as it can reach the store.

use idem_runtime::OnDrop;

use super::{Check, MS, Rule};
use crate::soak::disturbances::Whom;
use crate::soak::history::{CallId, Disturbance, End, Micros, Source};
use crate::soak::story::{CallStory, Run};

pub(super) fn check(check: &mut Check<'_>) {
    two_claims(check);
    for call in &check.key.calls {
        if let Some(run) = call.protected_run() {
            lapsed_for_no_reason(check, call.call.id, run);
            told_lapsed_for_no_reason(check, call, run);
            began_late(check, call.call.id, run);
        }
    }
}

/// A time in which an owner claimed its key.
struct Claim {
    call: CallId,
    from: Micros,
    until: Micros,
}

/// Every owner tells until when it claims its key, and measures that on the clock that goes on while
/// it stands still. Until then nobody else may claim the key, whatever goes wrong; also not after its
/// death. Only a store that lost everything is a reason.
fn two_claims(check: &mut Check<'_>) {
    let calls = check.key.calls.iter();
    let mut claims: Vec<_> = calls.flat_map(|call| claims(check, call)).collect();
    claims.sort_by_key(|claim| claim.from);
    let mut found = Vec::new();
    for (nth, one) in claims.iter().enumerate() {
        let later = claims[nth + 1..].iter().take_while(|other| other.from < one.until);
        for other in later.filter(|other| other.call != one.call) {
            let pair = (one.call, other.call);
            if !found.contains(&pair) {
                found.push(pair);
            }
        }
    }
    for (one, other) in found {
        check.violated(Rule::TwoClaims, format!("{one:?} and {other:?} claim the key at once"));
    }
}

fn claims(check: &Check<'_>, call: &CallStory) -> Vec<Claim> {
    let Some(run) = call.protected_run() else { return Vec::new() };
    let freed = freed(check.key.operation.on_drop, run);
    let claim = |&(at, until): &(Micros, Micros)| {
        let mut ends = freed.map_or(until, |freed| until.min(freed));
        for (since, ..) in emptied(check, check.confirmed(until), ends) {
            ends = ends.min(since);
        }
        (ends > at).then_some(Claim { call: call.call.id, from: at, until: ends })
    };
    run.holds.iter().filter_map(claim).collect()
}

/// When the action ended so that its key was freed or its outcome stored from then on.
fn freed(on_drop: OnDrop, run: &Run) -> Option<Micros> {
    let (at, end) = run.ended?;
    let stays = matches!(end, End::Panicked | End::Dropped) && on_drop != OnDrop::Release;
    (!stays).then_some(at)
}

fn emptied(
    check: &Check<'_>,
    from: Micros,
    until: Micros,
) -> impl Iterator<Item = (Micros, Micros, Disturbance)> {
    let between = check.story.disturbances.between(from, until);
    between.filter(|(_, _, by)| *by == Disturbance::ServerEmptied)
}

/// The keeper renews from a thread of its own, so an action that holds its thread is no reason. What is
/// claimed ends with the action's own deadline as well, which counts from when the runtime polls the
/// body: earlier than its first line is written down.
fn lapsed_for_no_reason(check: &mut Check<'_>, call: CallId, run: &Run) {
    let mut later = run.holds.iter().skip(1);
    let Some((at, _)) = later.find(|(at, until)| until <= at) else { return };
    let ends = check.key.operation.deadline_ms.map(|ms| run.began + ms * MS);
    if ends.is_some_and(|ends| ends <= *at + way_to_the_body(check)) {
        return;
    }
    let from = at.saturating_sub(check.lease());
    if check.are_quiet(Whom::LeasesOf(call.process()), from, *at) {
        let what = format!("{call:?} lost its lease by {at}, and nothing had gone wrong");
        check.violated(Rule::LapsedForNoReason, what);
    }
}

/// The same of what an owner is told at its end: nobody has touched its record, so that a renewal found
/// nothing.
fn told_lapsed_for_no_reason(check: &mut Check<'_>, call: &CallStory, run: &Run) {
    let Some((at, given)) = call.given() else { return };
    let (id, from) = (call.call.id, run.began.saturating_sub(check.lease()));
    let lapsed = given.source == Source::Fresh && given.lapsed;
    if lapsed && check.are_quiet(Whom::LeasesOf(id.process()), from, at) {
        let what = format!("{id:?} was told that it had lapsed, and nothing had gone wrong");
        check.violated(Rule::LapsedForNoReason, what);
    }
}

/// The longest that it takes from the runtime's poll of a body to the first line of it, on a machine
/// that is busy: nothing is asked for on that way.
fn way_to_the_body(check: &Check<'_>) -> Micros {
    check.lease() / 6
}

/// Two thirds of the lease are left when the runtime polls the body. On the way from there only what
/// holds the process up is a reason.
fn began_late(check: &mut Check<'_>, call: CallId, run: &Run) {
    let left = run.holds.first().map_or(0, |(at, until)| until.saturating_sub(*at));
    let from = run.began.saturating_sub(check.lease());
    let until = run.holds.first().map_or(run.began, |(at, _)| *at) + 100 * MS;
    let (whom, bearable) = (Whom::CodeOf(call.process()), check.lease() / 12);
    let quiet = check.story.disturbances.are_quiet(whom, from, until, bearable);
    let least = check.lease() * 2 / 3 - way_to_the_body(check);
    if left < least && !run.holds.is_empty() && quiet {
        let what = format!("{call:?} began with {left} µs left of its lease");
        check.violated(Rule::BeganLate, what);
    }
}
