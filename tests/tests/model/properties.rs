//! What has to hold: the promises of the protocol, as rules of each step, of each state, and of the
//! end of each run.

use std::sync::atomic::{AtomicU64, Ordering};

use stateright::Property;

use crate::model::Protocol;
use crate::state::{Attempt, Call, Stage, World};
use crate::time::moment;

/// What a step must not do, or a state not show.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Rule {
    /// Promise 1: at most one caller believes itself owner inside its own deadline.
    OneBeliever,
    /// Promises 1 and 2: no body starts beside another's record, nor beside an outcome.
    StartsUnderOwnReservation,
    /// Promise 2: nobody changes an outcome.
    OutcomeIsFinal,
    /// Promise 2: an outcome is gone when its ttl ends.
    ExpiredStaysExpired,
    /// Promise 2: whoever hears *stored* finds it stored.
    StoredIsStored,
    /// Promise 3: a stale owner changes nothing while another's record stands.
    StaleChangesNothing,
    /// A refused duplicate, a mismatch and a stale command change nothing.
    RefusalChangesNothing,
    /// A begin is acquired only with a reservation of one's own.
    AcquiredIsReserved,
    /// Promise 6: a command that takes the key, and is repeated, finds its own reservation its own.
    RepeatKnowsItself,
    /// Promise 4: an owner whose record was replaced by another's outcome is not told *stored*.
    ReplacedIsTold,
    /// Promise 4: an owner beside which another body started is told *lapsed*.
    LapsedIsTold,
    /// Promise 5: a reservation lives for a lease after a command, and is remembered after that.
    LivesForALease,
    /// Promise 5: an attempt that has ended, with nothing of it under way, holds nothing.
    EndedHoldsNothing,
    /// `refuse`, `reconcile`: no body starts while a remembered crash is undecided.
    CrashIsNotForgotten,
    /// `refuse`, `reconcile`: nobody is told of a crash whose body never came near its first poll.
    NoCrashWithoutBody,
    /// Renewals: two misses in a row never put an owner at risk.
    TwoMissesAreAbsorbed,
}

/// A rule as a property that holds always.
macro_rules! always {
    ($rule:ident, $name:literal) => {
        Property::<Protocol>::always($name, |model, world| {
            world.broken != Some(Rule::$rule) || !model.is_first_found()
        })
    };
}

pub(crate) fn all() -> Vec<Property<Protocol>> {
    vec![
        always!(OneBeliever, "one owner at a time"),
        always!(StartsUnderOwnReservation, "a body starts under its own reservation"),
        always!(OutcomeIsFinal, "an outcome is final"),
        always!(ExpiredStaysExpired, "an expired outcome stays expired"),
        always!(StoredIsStored, "told stored, it was stored"),
        always!(StaleChangesNothing, "a stale owner changes nothing"),
        always!(RefusalChangesNothing, "a refusal changes nothing"),
        always!(AcquiredIsReserved, "acquired means reserved"),
        always!(RepeatKnowsItself, "a repeat knows itself"),
        always!(ReplacedIsTold, "a replaced owner is told"),
        always!(LapsedIsTold, "an overlapped owner is told lapsed"),
        always!(LivesForALease, "a reservation lives for a lease"),
        always!(EndedHoldsNothing, "an ended attempt holds nothing"),
        always!(CrashIsNotForgotten, "a crash is remembered until decided"),
        always!(NoCrashWithoutBody, "no crash without a body"),
        always!(TwoMissesAreAbsorbed, "two misses are absorbed"),
        // Stateright forgets along which of two paths that meet a condition held. These hold only at
        // the end of a run, so there is nothing to forget. And it does not see that a run goes round in
        // a circle: none does, since between two ticks each step sends a question that was not sent in
        // this tick, uses up a fault or an owner, or brings a call further.
        Property::<Protocol>::eventually("a live owner completes", |model, world| {
            world.broken.is_some()
                || model.is_final(world)
                    && !world.callers.iter().any(|c| c.call.attempt().is_some())
        }),
        Property::<Protocol>::eventually("waiters end", |model, world| {
            let waits = |call: &Call| !matches!(call, Call::Holding(_) | Call::Over);
            world.broken.is_some()
                || model.is_final(world) && !world.callers.iter().any(|c| waits(&c.call))
        }),
        Property::<Protocol>::eventually("the key becomes free", |model, world| {
            world.broken.is_some() || model.is_final(world) && world.key_is_free()
        }),
    ]
}

/// The rules about states, looked at after each step.
pub(crate) fn broken_by(world: &World) -> Option<Rule> {
    let now = moment(world.now);
    if world.believers(now) > 1 {
        return Some(Rule::OneBeliever);
    }
    // A renewal that has had its time is a miss, also before the keeper takes note of it.
    let at_risk = |call: &Call| {
        let acts = |attempt: &&Attempt| matches!(attempt.stage, Stage::Asking | Stage::Running);
        let Some(attempt) = call.attempt().filter(acts) else { return false };
        let missed = attempt.misses + u8::from(attempt.renewal_is_unanswered(now));
        attempt.tenure.at_risk(now) && !attempt.disturbed && !attempt.lost && missed < 3
    };
    let at_risk = world.callers.iter().any(|c| !c.paused && !c.robbed && at_risk(&c.call));
    at_risk.then_some(Rule::TwoMissesAreAbsorbed)
}

/// What the runs are to come by: a check that never met what it checks proves nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Situation {
    Stored,
    StoredLapsed,
    Replayed,
    LeaseLost,
    Ignored,
    Freed,
    Deferred,
    TooLate,
    InProgress,
    NoAnswer,
    Mismatch,
    Unknown,
    TookOver,
    Dropped,
    Forfeited,
    Gone,
    ReservedAgain,
    Lost,
    Stopped,
    Decided,
}

/// How often each situation was come by.
#[derive(Debug, Default)]
pub(crate) struct Reached([AtomicU64; 20]);

impl Reached {
    pub(crate) fn note(&self, situation: Situation) {
        self.0[situation as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn has(&self, situation: Situation) -> bool {
        self.0[situation as usize].load(Ordering::Relaxed) > 0
    }
}
