//! Running an action under its lease: made ready, polled, stopped when it has to be.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use pin_project_lite::pin_project;

use crate::ask::ask;
use crate::attempt::{Attempt, Starting, Stop};
use crate::backend::Renewal;
use crate::begin::{Arrival, Start};
use crate::context::{Context, Footing, enter};
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, Phase};
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

    /// Runs code of the user's that may panic.
    pub(crate) fn in_users_code<T>(&mut self, code: impl FnOnce() -> T) -> T {
        self.polling = true;
        let value = code();
        self.polling = false;
        value
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
    Error::about(kind, attempt.key(), attempt.core().observers.shown())
}

/// Polls an action once: inside its context, on the clock since `started`, and not at all if it has
/// been stopped.
pub(crate) fn poll_action<F: Future>(
    guard: &mut Guard,
    context: &Context,
    mut action: Pin<&mut Option<F>>,
    started: Moment,
    task: &mut TaskContext<'_>,
) -> Poll<Result<F::Output, Stop>> {
    if guard.attempt.may_be_stopped()
        && let Some(stop) = guard.attempt.stop(task.waker())
    {
        enter(context, || action.set(None));
        return Poll::Ready(Err(stop));
    }
    let Some(running) = action.as_mut().as_pin_mut() else {
        unreachable!("an action is not polled after it has ended")
    };
    let polled = guard.in_users_code(|| enter(context, || running.poll(task)));
    let core = guard.attempt.core();
    let held = core.clock.now().since(started);
    if held >= core.blocked_poll {
        guard.attempt.tell(EventKind::BlockedPoll { held });
    }
    let output = ready!(polled);
    enter(context, || action.set(None));
    Poll::Ready(Ok(output))
}

pin_project! {
    /// An action under its attempt, from when it may start.
    pub(crate) struct Attended<'a, F> {
        guard: &'a mut Guard,
        context: Context,
        #[pin]
        action: Option<F>,
    }
}

impl<'a, F: Future> Attended<'a, F> {
    pub(crate) fn new(guard: &'a mut Guard, around: &Context, action: F) -> Self {
        let context = around.of_body(Footing::Held(Arc::clone(&guard.attempt)));
        Self { guard, context, action: Some(action) }
    }
}

impl<F: Future> Future for Attended<'_, F> {
    type Output = Result<F::Output, Stop>;

    fn poll(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let started = this.guard.attempt.core().clock.now();
        poll_action(this.guard, this.context, this.action, started, task)
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
            Starting::Forfeited => return begin_anew(arrival, attempt).await,
            Starting::NotYet => {}
        }
        if sent >= until {
            abandon(&attempt);
            return Err(arrival.failed(crate::ask::no_answer()));
        }
        let renewal = [Renewal {
            key: attempt.key().clone(),
            owner: attempt.owner(),
            lease: attempt.terms().lease,
            retention: attempt.wanted_retention(),
        }];
        let send = || {
            let replies = core.store.renew(&renewal);
            let first =
                async { replies.await.pop().unwrap_or_else(|| Err(crate::ask::no_answer())) };
            Box::pin(first) as crate::backend::Boxed<'_, _>
        };
        match ask(core.clock, until, send).await {
            Ok(RenewReply::Renewed) => attempt.renewed_before_start(sent, arrival.now()),
            Ok(RenewReply::Gone | RenewReply::Taken | RenewReply::Completed) => {
                attempt.lost(Phase::Starting);
            }
            Err(error) => {
                abandon(&attempt);
                return Err(arrival.failed(error));
            }
        }
    }
}

/// The key was lost before the body ran: this attempt ends, the call begins with a new owner.
async fn begin_anew(arrival: Arrival, attempt: Arc<Attempt>) -> Result<Readied, Error> {
    attempt.end();
    attempt.seat().vacate();
    drop(attempt);
    Box::pin(arrival.begin()).await.map(Readied::Anew)
}
