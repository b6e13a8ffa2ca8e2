//! The end of an attempt: its outcome stored, or its key freed.
//!
//! The call and the keeper both end attempts, with the same functions: the call for a short bounded
//! time, the keeper for as long as it makes sense.

use std::sync::Arc;
use std::time::Duration;

use crate::ask::{ask, bounded, no_answer};
use crate::attempt::{Attempt, Stage};
use crate::backend::{BackendError, DynBackend};
use crate::event::{EventKind, Phase};
use crate::flight::Answer;
use crate::keeper::Job;
use crate::policy::{OnDrop, OnGone};
use crate::protocol::Moment;
use crate::protocol::transition::{BeginReply, CompleteReply};
use crate::receipt::run_is_over;
use crate::record::Record;

/// How the storing of an outcome ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// It is stored.
    Stored,
    /// Another owner's record stands.
    Refused,
    /// The window had ended.
    TooLate,
}

/// Stores an outcome, for as long as a store has to answer. An error means: not known to be stored
/// yet.
pub(crate) async fn store_outcome(
    store: &dyn DynBackend,
    attempt: &Attempt,
    outcome: &Record,
    mut now: Moment,
) -> Result<Settled, BackendError> {
    let core = attempt.core();
    let (clock, key, terms) = (core.clock, attempt.key(), attempt.terms());
    let until = now.after(core.store_timeout);
    if attempt.has_begin_under_way() {
        wait_for_begin(attempt, until).await?;
        now = clock.now();
    }
    // Once lost, nothing of this owner's is to be accepted any more.
    if attempt.is_lost() {
        return Ok(Settled::Refused);
    }
    while now < until {
        let Some(window_end) = attempt.with_tenure(|tenure| tenure.completing(now)) else {
            return Ok(Settled::TooLate);
        };
        let until = until.min(window_end);
        let mut reply = ask(clock, until, || store.complete(key, outcome, terms.ttl)).await?;
        now = clock.now();
        if reply == CompleteReply::Gone && attempt.with_tenure(|tenure| tenure.gone(now)) {
            if !may_begin_again(store, attempt, until).await? {
                return Ok(Settled::Refused);
            }
            match Box::pin(reserve_for_outcome(store, attempt, until)).await? {
                None => {
                    now = clock.now();
                    continue;
                }
                Some(stands) => reply = stands,
            }
            now = clock.now();
        }
        return Ok(match reply {
            CompleteReply::Refused(_) => Settled::Refused,
            // No reply that comes later opens the window again.
            _ if !attempt.with_tenure(|tenure| tenure.window_is_open(now)) => Settled::TooLate,
            _ => Settled::Stored,
        });
    }
    Err(no_answer())
}

/// Whether an owner that found nothing in the place of its reservation is one that begins again.
pub(crate) async fn may_begin_again(
    store: &dyn DynBackend,
    attempt: &Attempt,
    until: Moment,
) -> Result<bool, BackendError> {
    match attempt.terms().on_gone {
        OnGone::BeginAgain => Ok(true),
        OnGone::ReadRun => {
            let is_over = Box::pin(run_is_over(store, attempt, until)).await?;
            // The look has taken time.
            let now = attempt.core().clock.now();
            Ok(!is_over && attempt.with_tenure(|tenure| tenure.window_is_open(now)))
        }
        OnGone::Stop => Ok(false),
    }
}

/// Takes the key again for an outcome that found nothing there: storing straight into the void would
/// let a delayed completion revive an expired result. Gives what stands instead, if anything does.
async fn reserve_for_outcome(
    store: &dyn DynBackend,
    attempt: &Attempt,
    until: Moment,
) -> Result<Option<CompleteReply>, BackendError> {
    let reservation = attempt.reservation();
    let (clock, lease) = (attempt.core().clock, attempt.terms().lease);
    let reply = ask(clock, until, || store.begin(attempt.key(), &reservation, lease)).await?;
    Ok(match reply {
        BeginReply::Acquired => None,
        BeginReply::Found(standing) if attempt.is_my_outcome(&standing) => {
            Some(CompleteReply::AlreadyStored)
        }
        BeginReply::Found(standing) => Some(CompleteReply::Refused(standing)),
    })
}

/// Release and complete are never sent beside a begin after *gone*: it could revive what they end.
async fn wait_for_begin(attempt: &Attempt, until: Moment) -> Result<(), BackendError> {
    let quiet = Box::pin(attempt.no_begin_under_way());
    bounded(attempt.core().clock, until, quiet).await.ok_or_else(no_answer)
}

/// Ends the attempt by what became of its outcome, and tells everybody on its flight.
pub(crate) fn settled(attempt: &Arc<Attempt>, outcome: Record, how: Settled, deferred: bool) {
    match how {
        Settled::Stored => {
            attempt.end();
            attempt.seat().answer(Answer::Outcome(outcome));
            if deferred {
                attempt.tell(EventKind::DeferredStored);
            }
        }
        Settled::Refused => {
            attempt.lost(Phase::Completing);
            attempt.end();
            attempt.seat().vacate();
            attempt.tell(EventKind::CompletionRefused { deferred });
        }
        Settled::TooLate => {
            attempt.end();
            attempt.tell(EventKind::WindowClosed);
            if attempt.wanted_retention().is_zero() {
                attempt.core().keeper.hand(attempt.core(), Job::Release(Arc::clone(attempt)));
            } else {
                // Its effect is out and not on record, which is what a crash is remembered for.
                attempt.seat().vacate();
            }
        }
    }
}

/// Frees the key, for as long as a store has to answer. Harmless where it is not this owner's any
/// more.
pub(crate) async fn free(
    store: &dyn DynBackend,
    attempt: &Attempt,
    now: Moment,
) -> Result<(), BackendError> {
    let core = attempt.core();
    let until = now.after(core.store_timeout);
    if attempt.has_begin_under_way() {
        wait_for_begin(attempt, until).await?;
    }
    ask(core.clock, until, || store.release(attempt.key(), attempt.owner())).await?;
    attempt.seat().vacate();
    Ok(())
}

/// How long a reservation of this attempt may go on standing: for so long a release is worth trying.
pub(crate) fn longest_life(attempt: &Attempt) -> Duration {
    attempt.terms().lease.saturating_add(attempt.wanted_retention())
}

/// Ends an attempt that has no outcome: its future was dropped, its action panicked or was stopped.
/// Says whether its body had run.
pub(crate) fn abandon(attempt: &Arc<Attempt>) -> bool {
    let Some(stage) = attempt.end_without_outcome() else { return false };
    let release = match stage {
        // Nothing has run.
        Stage::Starting => attempt.may_release(),
        // The crash that is being looked into must not be forgotten: the takeover lapses again.
        Stage::Asking => false,
        // Whether a detached body ran to its end is as unknown as with a held one.
        _ => attempt.terms().on_drop == OnDrop::Release,
    };
    if release {
        attempt.core().keeper.hand(attempt.core(), Job::Release(Arc::clone(attempt)));
    } else {
        attempt.seat().vacate();
    }
    stage == Stage::Running
}
