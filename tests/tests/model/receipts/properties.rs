//! What has to hold: the promises of the page on receipts, as rules of each step and of the end of each
//! path.

use stateright::Property;

use super::model::Receipts;
use super::state::Actor;

/// What a step must not do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Rule {
    /// A body starts, or a success is stored, only while no other run of the key can still succeed, nor
    /// has: unless this one's receipt has reached its ttl.
    OneRunAtATime,
    /// A call takes the key for a new run only when no earlier one can still succeed.
    NewRunOnlyOnceOver,
    /// Nobody but who has it frees the key while a dispatch is under way: of two calls that see the same
    /// dead run, one starts a new one.
    OneNewRun,
    /// A receipt is removed only of a run whose record says that it has ended without a result, or is gone.
    RemovedOnlyOnceOver,
    /// A run has one end, and nobody changes it.
    OneEnd,
    /// Whoever calls gives up a run that a worker has only once the hold since its lapse is over.
    HoldCounts,
    /// Of all workers that are handed a run, one starts it; once an attempt.
    OneBodyAnAttempt,
    /// A body starts under its worker's own reservation, unless it was cancelled since the renewal.
    StartsUnderOwnReservation,
    /// A run of which its dispatcher was told that the queue refused it does not start.
    RefusedNeverRuns,
    /// A run that is skipped has not run.
    SkippedNeverRan,
    /// A worker that met with nothing untoward leaves its run neither queued nor reserved.
    HandedOutIsSeenTo,
    /// A receipt that a call finds, and is given without doubt, names no run that was over when it called.
    DeadIsNotGiven,
    /// A dispatcher stores no receipt of its run if that was over when its keeper, or its complete, found
    /// nothing in the receipt's place.
    GoneIsReadFirst,
    /// A refused command changes nothing.
    RefusalChangesNothing,
}

/// A rule as a property that holds always.
macro_rules! always {
    ($rule:ident, $name:literal) => {
        Property::<Receipts>::always($name, |model, world| {
            world.broken != Some(Rule::$rule) || !model.found.is_first()
        })
    };
}

pub(crate) fn all() -> Vec<Property<Receipts>> {
    vec![
        always!(OneRunAtATime, "one run at a time"),
        always!(NewRunOnlyOnceOver, "a new run only once no other can succeed"),
        always!(OneNewRun, "one new run for a dead one"),
        always!(RemovedOnlyOnceOver, "a receipt is removed only of a run that is over"),
        always!(OneEnd, "a run has one end"),
        always!(HoldCounts, "a success inside the hold counts"),
        always!(OneBodyAnAttempt, "one body an attempt"),
        always!(StartsUnderOwnReservation, "a body starts under its own reservation"),
        always!(RefusedNeverRuns, "a refused run never starts"),
        always!(SkippedNeverRan, "a skipped run never ran"),
        always!(HandedOutIsSeenTo, "a run that is handed out is seen to"),
        always!(DeadIsNotGiven, "no receipt of a dead run is given again"),
        always!(GoneIsReadFirst, "no receipt is stored of a run known to be over"),
        always!(RefusalChangesNothing, "a refusal changes nothing"),
        // They can hold only at the end of a path, and no path goes round in a circle: between two ticks
        // each step brings somebody further, or uses up a fault, a call or a delivery.
        Property::<Receipts>::eventually("calls end", |model, world| {
            let callers = model.setting.callers.len();
            let ended = |actor: &Actor| actor.is_idle() && actor.calls == 0;
            world.broken.is_some()
                || model.is_final(world) && world.actors[..callers].iter().all(ended)
        }),
        Property::<Receipts>::eventually("workers end", |model, world| {
            let callers = model.setting.callers.len();
            world.broken.is_some()
                || model.is_final(world) && world.actors[callers..].iter().all(Actor::is_idle)
        }),
    ]
}

/// What the paths are to come by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Situation {
    // A call.
    Issued,
    Replayed,
    MaybeAlive,
    AliveAfterAll,
    Doubt,
    Marked,
    Reclaimed,
    FoundNext,
    GivenAnothers,
    InProgress,
    Failed,
    Gone,
    ReadBeforeAgain,
    RefusedTooLate,
    // A worker.
    NotStarted,
    ReceiptBegunAnew,
    Skipped,
    Forfeited,
    GivenBack,
    GoneWhileRunning,
    Succeeded,
    SucceededLate,
    Ended,
    ToBeRetried,
    Told,
    TooLate,
    // A canceller.
    Cancelled,
    CancelRefused,
}
