//! One call without its types: what is the same for all functions, and compiled once.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use crate::attempt::{Attempt, Starting};
use crate::backend::Boxed;
use crate::begin::{Arrival, Start};
use crate::context::{Context, Entered, Footing, enter};
use crate::error::{Error, ErrorKind};
use crate::event::EventKind;
use crate::ident::Ident;
use crate::observe::{Facts, Source, at_ms};
use crate::protocol::Moment;
use crate::record::Record;
use crate::record_key::RecordKey;
use crate::run::{Guard, Readied, make_ready, stopped};
use crate::settings::Overrides;
use crate::sync::time::{Sleep, sleep};
use crate::value::Unusable;

/// A call whose action may run.
pub(crate) struct Action {
    pub(super) arrival: Arrival,
    /// `None`: without protection.
    pub(super) guard: Option<Guard>,
    /// What the action sees around it, once it may be polled.
    context: Option<Context>,
    readying: Option<Boxed<'static, Result<Readied, Error>>>,
    /// The deadline of an action that runs without a lease: no keeper watches it.
    alarm: Option<Pin<Box<Sleep>>>,
}

/// A call that is answered without running, or that was stopped.
#[allow(clippy::large_enum_variant, reason = "it is made and taken apart at once")]
pub(crate) enum Answer {
    Replay(Replay),
    Refuse(Error),
}

/// An outcome to be read.
pub(crate) struct Replay {
    arrival: Arrival,
    outcome: Record,
    source: Source,
}

/// An action is being polled, in its context, since a moment.
pub(crate) struct Polling {
    _entered: Entered,
    since: Moment,
}

#[allow(clippy::result_large_err, reason = "an answer is as common as an action")]
impl Action {
    /// Begins a call. Of a crash it can only say that it is unknown what happened; where there is
    /// somebody to ask, [`begin_reconciling`](super::Call::begin_reconciling) does.
    #[allow(clippy::ptr_arg, reason = "a static name is cloned for nothing")]
    pub(super) async fn begin(
        name: &Cow<'static, str>,
        overrides: &Overrides,
        ident: Ident,
    ) -> Result<Self, Answer> {
        let arrival = Arrival::of(name, overrides, ident).map_err(Answer::Refuse)?;
        match arrival.begin().await {
            Ok(start) => Self::go_on(arrival, start),
            Err(error) => Err(Answer::Refuse(error)),
        }
    }

    pub(crate) fn go_on(arrival: Arrival, start: Start) -> Result<Self, Answer> {
        match start {
            Start::Replay { outcome, source } => {
                Err(Answer::Replay(Replay { arrival, outcome, source }))
            }
            Start::Run(attempt) => Ok(Self::held(arrival, Guard::new(attempt))),
            Start::Unprotected => Ok(Self::new(arrival, None)),
            // The takeover lapses, and the next call of the function asks.
            Start::Reconcile(attempt) => {
                drop(Guard::new(attempt));
                Err(Answer::Refuse(arrival.not_reconciled("nobody was there to be asked")))
            }
        }
    }

    pub(crate) fn held(arrival: Arrival, guard: Guard) -> Self {
        Self::new(arrival, Some(guard))
    }

    fn new(arrival: Arrival, guard: Option<Guard>) -> Self {
        Self { arrival, guard, context: None, readying: None, alarm: None }
    }

    pub(super) fn key(&self) -> &RecordKey {
        &self.arrival.key
    }

    pub(super) fn max_result(&self) -> usize {
        self.arrival.core.max_result
    }

    pub(super) fn in_users_code(&mut self, runs: bool) {
        if let Some(guard) = &mut self.guard {
            guard.in_users_code(runs);
        }
    }

    /// Sees to it that the action may be polled, and enters its context. `Err` is the call's answer
    /// instead: it is not to be polled any more.
    pub(super) fn before_poll(
        &mut self,
        task: &mut TaskContext<'_>,
    ) -> Poll<Result<Polling, Answer>> {
        let now = self.arrival.now();
        if self.context.is_none() {
            if let Err(answer) = ready!(self.poll_ready(now, task)) {
                return Poll::Ready(Err(answer));
            }
            self.context = Some(self.context_of_body());
        }
        if let Err(error) = self.look_for_stop(task) {
            return Poll::Ready(Err(Answer::Refuse(error)));
        }
        self.in_users_code(true);
        let Some(context) = &self.context else { unreachable!("set before the first poll") };
        Poll::Ready(Ok(Polling { _entered: enter(context), since: now }))
    }

    /// The action has been polled: reports a poll that held its thread.
    pub(super) fn after_poll(&mut self, polling: Polling) {
        let since = polling.since;
        drop(polling);
        self.in_users_code(false);
        let Some(guard) = &self.guard else { return };
        let core = guard.attempt().core();
        let held = core.clock.now().since(since);
        if held >= core.blocked_poll {
            guard.attempt().tell(EventKind::BlockedPoll { held });
        }
    }

    /// The action's context, for what is dropped of it; `None` if it has never been polled.
    pub(super) fn enter(&self) -> Option<Entered> {
        self.context.as_ref().map(enter)
    }

    /// Why the action is not to be polled any more, if it is not.
    fn look_for_stop(&mut self, task: &mut TaskContext<'_>) -> Result<(), Error> {
        if let Some(guard) = &self.guard {
            let attempt = guard.attempt();
            let stop = attempt.may_be_stopped().then(|| attempt.stop(task.waker())).flatten();
            return stop.map_or(Ok(()), |stop| Err(stopped(attempt, stop)));
        }
        let Some(deadline) = self.arrival.terms.deadline else { return Ok(()) };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(deadline)));
        if alarm.as_mut().poll(task).is_pending() {
            return Ok(());
        }
        self.arrival.tell(EventKind::DeadlineExceeded);
        Err(self.arrival.error(ErrorKind::DeadlineExceeded))
    }

    /// Polls the attempt until its action may be polled.
    fn poll_ready(&mut self, now: Moment, task: &mut TaskContext<'_>) -> Poll<Result<(), Answer>> {
        loop {
            let Some(ready) = &mut self.readying else {
                let Some(guard) = &self.guard else { return Poll::Ready(Ok(())) };
                if guard.attempt().try_start(now) == Starting::Started {
                    return Poll::Ready(Ok(()));
                }
                // Rare: to be armed first, or late.
                let ready = make_ready(self.arrival.clone(), Arc::clone(guard.attempt()));
                self.readying = Some(Box::pin(ready));
                continue;
            };
            let readied = ready!(ready.as_mut().poll(task));
            self.readying = None;
            match readied {
                Ok(Readied::Started) => return Poll::Ready(Ok(())),
                Ok(Readied::Anew(start)) => match Self::go_on(self.arrival.clone(), start) {
                    Ok(anew) => *self = anew,
                    Err(answer) => return Poll::Ready(Err(answer)),
                },
                Err(error) => return Poll::Ready(Err(Answer::Refuse(error))),
            }
        }
    }

    fn context_of_body(&self) -> Context {
        let footing = match &self.guard {
            Some(guard) => Footing::Held(Arc::clone(guard.attempt())),
            None => Footing::Unprotected(Arc::clone(&self.arrival.core), self.arrival.key.clone()),
        };
        self.arrival.context.of_body(footing)
    }

    /// The reconcile expression is about to be asked: it is polled like an action.
    pub(super) fn start_asking(&mut self, attempt: &Attempt) {
        attempt.start_asking(self.arrival.now());
        self.context = Some(self.context_of_body());
    }

    /// Reconcile has said that the effect did not happen: the action may run.
    pub(super) fn answered(&mut self, attempt: &Attempt) {
        attempt.answered();
        self.context = None;
    }
}

impl Replay {
    pub(crate) const fn outcome(&self) -> &Record {
        &self.outcome
    }

    pub(crate) fn is_read(&self) {
        let Self { arrival, outcome, source } = self;
        arrival.tell(match source {
            Source::Waited => {
                EventKind::WaitedThenReplayed { waited: arrival.now().since(arrival.at) }
            }
            _ => EventKind::Replayed,
        });
        arrival.report(Facts {
            source: *source,
            attempt: outcome.attempt,
            first_at: at_ms(outcome.first_reserved_at_ms),
            stored: true,
            lapsed: false,
            protected: true,
        });
    }

    pub(crate) fn is_not_read(&self, why: Unusable) -> Error {
        self.arrival.error(why.kind).detail(why.why)
    }
}
