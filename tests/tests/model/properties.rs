//! What has to hold: the properties of the protocol, looked at in each step, in each state, and at the
//! end of each run.

use idem_tests::properties::Property;

use crate::model::Protocol;
use crate::report::Reached;
use crate::state::{Attempt, Call, Stage, World};
use crate::time::moment;

/// What no step breaks, as a property that holds always.
macro_rules! always {
    ($property:ident) => {
        stateright::Property::always(
            Property::$property.name(),
            |model: &Protocol, world: &World| {
                world.broken != Some(Property::$property) || !model.found.is_first()
            },
        )
    };
}

/// All of `Property::ALL`, in that order.
pub(crate) fn all() -> Vec<stateright::Property<Protocol>> {
    vec![
        always!(OneBeliever),
        always!(StartsUnderOwnReservation),
        always!(OutcomeIsFinal),
        always!(ExpiredStaysExpired),
        always!(StoredIsStored),
        always!(StaleChangesNothing),
        always!(RefusalChangesNothing),
        always!(AcquiredIsReserved),
        always!(RepeatKnowsItself),
        always!(ReplacedIsTold),
        always!(LapsedIsTold),
        always!(LivesForALease),
        always!(EndedHoldsNothing),
        always!(CrashIsNotForgotten),
        always!(NoCrashWithoutBody),
        always!(TwoMissesAreAbsorbed),
        // Stateright forgets along which of two paths that meet a condition held. These hold only at
        // the end of a run, so there is nothing to forget. And it does not see that a run goes round in
        // a circle: none does, since between two ticks each step sends a question that was not sent in
        // this tick, uses up a fault or an owner, or brings a call further.
        eventually(Property::LiveOwnerCompletes, |model, world| {
            world.broken.is_some()
                || model.is_final(world)
                    && !world.callers.iter().any(|c| c.call.attempt().is_some())
        }),
        eventually(Property::WaitersEnd, |model, world| {
            let waits = |call: &Call| !matches!(call, Call::Holding(_) | Call::Over);
            world.broken.is_some()
                || model.is_final(world) && !world.callers.iter().any(|c| waits(&c.call))
        }),
        eventually(Property::KeyBecomesFree, |model, world| {
            world.broken.is_some() || model.is_final(world) && world.key_is_free()
        }),
    ]
}

fn eventually(
    property: Property,
    holds: fn(&Protocol, &World) -> bool,
) -> stateright::Property<Protocol> {
    stateright::Property::eventually(property.name(), holds)
}

/// The properties of states, looked at after each step.
pub(crate) fn broken_by(world: &World) -> Option<Property> {
    let now = moment(world.now);
    if world.believers(now) > 1 {
        return Some(Property::OneBeliever);
    }
    // A renewal that has had its time is a miss, also before the keeper takes note of it.
    let at_risk = |call: &Call| {
        let acts = |attempt: &&Attempt| matches!(attempt.stage, Stage::Asking | Stage::Running);
        let Some(attempt) = call.attempt().filter(acts) else { return false };
        let missed = attempt.misses + u8::from(attempt.renewal_is_unanswered(now));
        attempt.tenure.at_risk(now) && !attempt.disturbed && !attempt.lost && missed < 3
    };
    let at_risk = world.callers.iter().any(|c| !c.paused && !c.robbed && at_risk(&c.call));
    at_risk.then_some(Property::TwoMissesAreAbsorbed)
}

/// What the runs are to come by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
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

impl Situation {
    const ALL: [Self; 20] = [
        Self::Stored,
        Self::StoredLapsed,
        Self::Replayed,
        Self::LeaseLost,
        Self::Ignored,
        Self::Freed,
        Self::Deferred,
        Self::TooLate,
        Self::InProgress,
        Self::NoAnswer,
        Self::Mismatch,
        Self::Unknown,
        Self::TookOver,
        Self::Dropped,
        Self::Forfeited,
        Self::Gone,
        Self::ReservedAgain,
        Self::Lost,
        Self::Stopped,
        Self::Decided,
    ];
}

impl Situation {
    /// What was come by since this was asked before.
    pub(crate) fn taken(reached: &Reached) -> Vec<Self> {
        Self::ALL.into_iter().filter(|situation| reached.take(*situation as usize)).collect()
    }
}

#[test]
fn model_has_every_property() {
    let names: Vec<_> = all().iter().map(|property| property.name).collect();
    assert_eq!(names, Property::ALL.map(Property::name));
}
