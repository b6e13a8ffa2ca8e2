//! An attempt from the taken key to the end of its body, step for step as the runtime makes it:
//! `attempt.rs`, `run.rs`, `call/reconcile.rs`.

use idem_runtime::protocol::Moment;
use idem_runtime::protocol::tenure::Tenure;
use idem_runtime::{OnCrash, OnDrop};
use idem_tests::properties::Property;

use crate::message::{Ask, Command, Fate, Purpose, Reply};
use crate::mutants::Mutant;
use crate::properties::Situation;
use crate::state::{Attempt, Call, Stage};
use crate::time::{duration, sent};
use crate::turn::Turn;

/// How a body ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Value,
    /// An error, which frees the key.
    Error,
}

/// What `reconcile` answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Value,
    RunIt,
    Failed,
}

/// Whether a body may be polled for the first time (`Attempt::try_start`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Starting {
    Started,
    NotYet,
    Forfeited,
}

impl Turn<'_> {
    /// `Attempt::try_start`, without its effect.
    pub(crate) fn may_start(&self, caller: usize, attempt: &Attempt) -> Starting {
        if attempt.lost || attempt.forfeited {
            return Starting::Forfeited;
        }
        let armed = attempt.takeover || attempt.remembered >= self.policy(caller).remembered();
        let in_time = attempt.tenure.may_start(self.now())
            || self.setting.is(Mutant::FirstPollWithoutTimeLeft);
        if armed && in_time { Starting::Started } else { Starting::NotYet }
    }

    /// The body is polled for the first time.
    pub(crate) fn start(&mut self, caller: usize) {
        let (now, policy) = (self.world.now, self.policy(caller));
        let attempt = self.attempt(caller);
        let owner = attempt.owner;
        if policy.on_crash == OnCrash::Rerun && attempt.takeover {
            // By this caller's terms a crash is settled by running.
            self.world.history.unsettled = false;
        }
        let attempt = self.attempt(caller);
        attempt.stage = Stage::Running;
        attempt.must_lapse = false;
        attempt.started = now;
        if self.world.history.unsettled {
            self.broke(Property::CrashIsNotForgotten);
        }
        // Whose record the store itself has taken away does not count: it could not know.
        if self.world.callers[caller].robbed {
            return;
        }
        if self.world.store.is_none_or(|kept| kept.record.owner != owner) {
            self.broke(Property::StartsUnderOwnReservation);
        }
        for (index, other) in self.world.callers.iter_mut().enumerate() {
            if let Call::Holding(attempt) = &mut other.call
                && index != caller
                && matches!(attempt.stage, Stage::Running | Stage::Settling)
            {
                attempt.overlapped = true;
            }
        }
    }

    /// `run::make_ready`: a renewal before the first poll, which also arms.
    pub(crate) fn send_ready(&mut self, caller: usize, fate: Fate) {
        let now = self.world.now;
        let wanted = self.policy(caller).remembered();
        let attempt = self.attempt(caller);
        let ask = attempt.ask.unwrap_or_else(|| Ask::new(Purpose::Ready, now)).sending(now);
        attempt.ask = Some(ask);
        let (owner, retention) = (attempt.owner, attempt.remembered.max(wanted));
        self.world.history.armed.add(owner);
        self.send((caller, owner), ask, Command::Renew { owner, retention }, fate);
    }

    /// `Attempt::renewed_before_start`, or the loss of the key before its body ran.
    pub(crate) fn hear_of_ready(&mut self, caller: usize, reply: Reply) {
        let (now, wanted) = (self.now(), self.policy(caller).remembered());
        let from_reply = self.setting.is(Mutant::DeadlineFromReply);
        let attempt = self.attempt(caller);
        let Some(ask) = attempt.ask.take() else { return };
        if reply != Reply::Renewed {
            attempt.lost = true;
            return;
        }
        let since = if from_reply { now } else { sent(ask.first) };
        attempt.tenure.renewed(since, now);
        attempt.remembered = attempt.remembered.max(wanted);
        let tenure = attempt.tenure.clone();
        self.attempt(caller).renewal_due = self.first_renewal(&tenure);
        self.confirmed(caller);
    }

    /// `call/reconcile.rs`: what the asked expression says.
    pub(crate) fn answer(&mut self, caller: usize, answer: Answer) {
        match answer {
            Answer::Value => {
                self.world.history.unsettled = false;
                // The question is answered; what becomes of the answer is the attempt's as any outcome.
                self.attempt(caller).must_lapse = false;
                self.settle(caller);
            }
            Answer::RunIt => {
                self.world.history.unsettled = false;
                let attempt = self.attempt(caller);
                attempt.must_lapse = false;
                attempt.stage = Stage::Starting;
            }
            Answer::Failed => {
                self.reach(Situation::Unknown);
                self.abandon(caller);
            }
        }
    }

    /// The body has ended.
    pub(crate) fn end(&mut self, caller: usize, end: End) {
        match end {
            End::Value => self.settle(caller),
            End::Error => {
                self.reach(Situation::Freed);
                self.release(caller);
            }
        }
    }

    /// `on_lost = cancel`: the body is dropped at its next await.
    pub(crate) fn stop(&mut self, caller: usize) {
        let asking = self.attempt(caller).stage == Stage::Asking;
        self.reach(if asking { Situation::Unknown } else { Situation::Stopped });
        self.abandon(caller);
    }

    /// The caller's future is dropped.
    pub(crate) fn drop_future(&mut self, caller: usize) {
        self.reach(Situation::Dropped);
        let detached = self.policy(caller).on_drop == OnDrop::Detach;
        match &mut self.world.callers[caller].call {
            Call::Taking { owner, ask } => {
                let (owner, asked) = (*owner, ask.sent.is_some());
                if asked { self.forget(caller, owner) } else { self.set(caller, Call::Over) }
            }
            Call::Holding(attempt) => match attempt.stage {
                // The keeper goes on, or a task of the body's own does.
                Stage::Settling | Stage::Releasing => attempt.told = true,
                Stage::Running if detached => attempt.told = true,
                _ => self.abandon(caller),
            },
            call => *call = Call::Over,
        }
    }

    /// `settle::abandon`: an attempt without an outcome ends.
    pub(crate) fn abandon(&mut self, caller: usize) {
        let on_drop = self.policy(caller).on_drop;
        let forgets = self.setting.is(Mutant::TakeoverReleasedUnanswered);
        let attempt = self.attempt(caller);
        let release = match attempt.stage {
            Stage::Starting => !attempt.must_lapse,
            Stage::Asking => forgets,
            _ => on_drop == OnDrop::Release,
        };
        attempt.told = true;
        if release {
            self.release(caller);
        } else {
            // The reservation lapses.
            self.set(caller, Call::Over);
        }
    }

    /// `run::begin_anew`: the key was lost before the body ran.
    pub(crate) fn anew(&mut self, caller: usize) {
        self.reach(Situation::Forfeited);
        self.begin(caller);
    }

    /// The way to the first poll took too long.
    pub(crate) fn give_up_ready(&mut self, caller: usize) {
        self.reach(Situation::NoAnswer);
        self.abandon(caller);
    }

    pub(crate) fn first_renewal(&self, tenure: &Tenure) -> Moment {
        if self.setting.is(Mutant::RenewsAtAThird) {
            let confirmed = tenure.first_renewal().before(tenure.interval());
            return confirmed.after(duration(self.setting.lease) / 3);
        }
        tenure.first_renewal()
    }
}
