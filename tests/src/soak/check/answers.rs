//! Every call ends, and with an error only if it could get that one.

use idem_runtime::{OnCrash, OnDrop};

use super::{Check, MS, Rule};
use crate::soak::disturbances::Whom;
use crate::soak::history::{Answer, Duplicate, End, Micros};
use crate::soak::story::CallStory;

/// How often a call asks the store for as long as it may, beside its wait: at begin, at a takeover, to
/// be made ready, at its end; a second each, and one more for the machine.
const ASKING: Micros = 5_000 * MS;

pub(super) fn check(check: &mut Check<'_>) {
    for call in &check.key.calls {
        let wrong = match &call.answered {
            Some((at, Answer::Refused(kind))) => wrong_refusal(check, call, *at, kind),
            Some((_, Answer::Panicked)) => wrong_panic(call),
            _ => None,
        };
        if let Some(why) = wrong {
            let (call, answer) = (call.call.id, &call.answered);
            check.violated(Rule::WrongError, format!("{call:?} got {answer:?}: {why}"));
        }
        never_ends(check, call);
    }
}

/// Why a call could not get a refusal, if it could not.
fn wrong_refusal(
    check: &Check<'_>,
    call: &CallStory,
    at: Micros,
    kind: &str,
) -> Option<&'static str> {
    let operation = &check.key.operation;
    let ran = call.run.as_ref();
    let process = call.call.id.process();
    match kind {
        // Who takes over holds the key while it asks what has become of the effect.
        "LeaseLost" if ran.is_none() && call.asked.is_some() => {}
        "LeaseLost" | "DeadlineExceeded" if ran.is_none() => {
            return Some("its action did not run");
        }
        "InProgress" | "Backend" | "FingerprintMismatch" | "OutcomeUnknown" if ran.is_some() => {
            return Some("its action ran");
        }
        _ => {}
    }
    match kind {
        "InProgress" => None,
        "Backend" => {
            check.are_quiet(Whom::CallsOf(process), call.at, at).then_some("the store was there")
        }
        "LeaseLost" => {
            let from = ran.map_or(call.at, |run| run.began).saturating_sub(check.lease());
            let quiet = check.are_quiet(Whom::LeasesOf(process), from, at);
            quiet.then_some("nothing had gone wrong")
        }
        "FingerprintMismatch" => {
            let others = |other: &CallStory| {
                other.at <= at && other.call.fingerprint != call.call.fingerprint
            };
            let none = !check.key.calls.iter().any(others);
            none.then_some("all calls have the same arguments")
        }
        "DeadlineExceeded" => {
            let deadline = operation.deadline_ms.map(|ms| ms * MS);
            let lasted = ran.map_or(0, |run| at - run.began);
            let in_time = deadline.is_none_or(|deadline| lasted + 100 * MS < deadline);
            in_time.then_some("its deadline had not passed")
        }
        "OutcomeUnknown" if operation.on_crash == OnCrash::Rerun => {
            Some("a crash is nothing to ask about")
        }
        // Whether there was a crash is a rule of its own.
        "OutcomeUnknown" => None,
        _ => Some("no call of these gets such an error"),
    }
}

fn wrong_panic(call: &CallStory) -> Option<&'static str> {
    let ended = call.run.as_ref().and_then(|run| run.ended);
    let panicked = matches!(ended, Some((_, End::Panicked)));
    (!panicked).then_some("its action did not panic")
}

/// A call ends: in a bounded time where nothing goes wrong in its process, and at all in any case.
fn never_ends(check: &mut Check<'_>, call: &CallStory) {
    let Some(over) = call.over() else {
        return check.violated(Rule::NeverEnds, format!("{:?} has not ended", call.call.id));
    };
    let wait = match call.call.duplicate {
        Duplicate::Wait => 2 * check.lease(),
        Duplicate::WaitFor(ms) => ms * MS,
        Duplicate::Reject => 0,
    };
    let ran = call.run.as_ref().zip(call.run_ended()).map_or(0, |(run, end)| end - run.began);
    let took = over - call.at;
    let own_task = check.key.operation.on_drop == OnDrop::Detach;
    let whom = Whom::CallsOf(call.call.id.process());
    let quiet = took > 60_000 * MS || check.are_quiet(whom, call.at, over);
    if quiet && took > wait + ran + ASKING && !(own_task && call.abandoned.is_some()) {
        let what = format!("{:?} took {took} µs, and ran for {ran} µs of that", call.call.id);
        check.violated(Rule::NeverEnds, what);
    }
}
