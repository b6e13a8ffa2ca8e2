//! Running an action under its lease: made ready, polled, stopped when it has to be.

use std::sync::Arc;

use crate::ask::{ask, no_answer};
use crate::attempt::{Attempt, Starting, Stop};
use crate::backend::{BackendError, Boxed, Renewal};
use crate::begin::{Arrival, Start};
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, Phase};
use crate::policy::{OnDrop, OnGone};
use crate::protocol::Moment;
use crate::protocol::transition::RenewReply;
use crate::settle::abandon;

/// Sees to it that an attempt ends, whatever becomes of the future that runs it.
pub(crate) struct Guard {
    attempt: Arc<Attempt>,
    /// Set while the action is polled: a drop that finds it set comes from a panic.
    polling: bool,
}

impl Guard {
    pub(crate) const fn new(attempt: Arc<Attempt>) -> Self {
        Self { attempt, polling: false }
    }

    pub(crate) const fn attempt(&self) -> &Arc<Attempt> {
        &self.attempt
    }

    /// Code of the user's that may panic runs from now on, or has returned.
    pub(crate) const fn in_users_code(&mut self, runs: bool) {
        self.polling = runs;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if abandon(&self.attempt) {
            let kind = if self.polling { EventKind::Panicked } else { EventKind::AbandonedByDrop };
            self.attempt.tell(kind);
        }
    }
}

/// The action ran past its deadline: the keeper settles its key, so that this holds for a body that
/// never yields, too, as far as the key and its duplicates go.
pub(crate) fn stopped_at_deadline(attempt: &Arc<Attempt>) {
    if abandon(attempt) {
        attempt.tell(EventKind::DeadlineExceeded);
    }
    attempt.wake();
}

/// The error for a body that was stopped. Ends the attempt by `on_drop`, if it has not ended.
pub(crate) fn stopped(attempt: &Arc<Attempt>, stop: Stop) -> Error {
    match stop {
        Stop::Deadline => stopped_at_deadline(attempt),
        Stop::LeaseLost => {
            abandon(attempt);
        }
    }
    let kind = match stop {
        Stop::LeaseLost => ErrorKind::LeaseLost,
        Stop::Deadline => ErrorKind::DeadlineExceeded,
    };
    let error = attempt.error(kind);
    let held = attempt.terms().on_drop != OnDrop::Release;
    match stop {
        Stop::Deadline if held => {
            error.detail("its key stays taken until its lease ends").after(attempt.terms().lease)
        }
        _ => error,
    }
}

/// What became of the way to the first poll.
pub(crate) enum Readied {
    /// The body may be polled.
    Started,
    /// The key was lost before the body ran: the call began anew.
    Anew(Start),
}

/// Makes an attempt ready for its body's first poll: the store remembers it as long as the policy
/// says, and two thirds of the lease are left. Renews, again if need be, within the time a store has
/// to answer; a key that was lost meanwhile is begun anew.
///
/// Ends the attempt where it fails. Dropped, it leaves the attempt to its guard.
pub(crate) async fn make_ready(arrival: Arrival, attempt: Arc<Attempt>) -> Result<Readied, Error> {
    let core = &arrival.core;
    let until = arrival.now().after(core.store_timeout);
    loop {
        let sent = arrival.now();
        match attempt.try_start(sent) {
            Starting::Started => return Ok(Readied::Started),
            Starting::Forfeited if attempt.terms().on_gone == OnGone::Stop => {
                attempt.end();
                return Err(attempt.error(ErrorKind::LeaseLost));
            }
            Starting::Forfeited => return begin_anew(arrival, attempt).await,
            Starting::NotYet => {}
        }
        if sent >= until {
            abandon(&attempt);
            return Err(arrival.failed(no_answer()));
        }
        if let Err(error) = renew_before_start(&attempt, until).await {
            abandon(&attempt);
            return Err(arrival.failed(error));
        }
    }
}

/// Renews an attempt whose body has not been polled, and has it take note of the answer.
pub(crate) async fn renew_before_start(
    attempt: &Attempt,
    until: Moment,
) -> Result<(), BackendError> {
    let core = attempt.core();
    let sent = core.clock.now();
    let renewal = [Renewal {
        key: attempt.key().clone(),
        owner: attempt.owner(),
        lease: attempt.terms().lease,
        retention: attempt.wanted_retention(),
    }];
    let send = || {
        let replies = core.store.renew(&renewal);
        Box::pin(async { replies.await.pop().unwrap_or_else(|| Err(no_answer())) }) as Boxed<'_, _>
    };
    match ask(core.clock, until, send).await? {
        RenewReply::Renewed => attempt.renewed_before_start(sent, core.clock.now()),
        RenewReply::Gone => attempt.gone_before_start(),
        RenewReply::Taken | RenewReply::Completed => attempt.lost(Phase::Starting),
    }
    Ok(())
}

/// The key was lost before the body ran: this attempt ends, the call begins with a new owner.
async fn begin_anew(arrival: Arrival, attempt: Arc<Attempt>) -> Result<Readied, Error> {
    attempt.end();
    attempt.seat().vacate();
    drop(attempt);
    Box::pin(arrival.begin()).await.map(Readied::Anew)
}
