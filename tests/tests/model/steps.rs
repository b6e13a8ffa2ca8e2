//! The steps that are open in a state: what the callers do by themselves.
//!
//! A caller does at once what is due for it, in any order with the others; only where nothing is due
//! does time pass. What is slow is the adversary's doing.

use idem_runtime::protocol::Moment;

use crate::message::{Ask, Fate, Purpose};
use crate::model::Protocol;
use crate::mutants::Mutant;
use crate::operator::Operation;
use crate::record::Id;
use crate::running::{Answer, End, Starting};
use crate::setting::Fault;
use crate::state::{Attempt, Call, Stage, World};
use crate::time::moment;
use crate::turn::Turn;

/// Which of a caller's questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Channel {
    /// The call's own, or the keeper's in its place.
    Call,
    Renewal,
    /// The begin after *gone*.
    Again,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// A tick passes.
    Pass,
    Arrive(usize),
    Send(usize, Channel, Fate),
    GiveUp(usize, Channel),
    Start(usize),
    Anew(usize),
    Answer(usize, Answer),
    End(usize, End),
    Stop(usize),
    SettleUnasked(usize),
    /// The message at this place, of those held back, arrives.
    Deliver(usize),
    Fault(Fault, usize),
    Resume(usize),
    /// The store is back.
    Back {
        wiped: bool,
    },
    Operate(Operation),
}

/// The open steps of one state, as they are collected.
pub(crate) struct Open<'a> {
    pub(crate) model: &'a Protocol,
    pub(crate) turn: Turn<'a>,
    pub(crate) steps: &'a mut Vec<Step>,
    /// Something is due: time does not pass.
    pub(crate) urgent: bool,
}

impl Open<'_> {
    pub(crate) fn world(&self) -> &World {
        &self.turn.world
    }

    pub(crate) fn due(&mut self, step: Step) {
        self.steps.push(step);
        self.urgent = true;
    }

    pub(crate) fn of_caller(&mut self, caller: usize) {
        let who = self.turn.world.callers[caller].clone();
        if who.paused {
            self.steps.push(Step::Resume(caller));
            self.urgent |= self.world().now >= self.turn.setting.calm;
            return;
        }
        match &who.call {
            Call::Over => {}
            Call::Away => self.arrival(caller),
            Call::Holding(attempt) => self.of_attempt(caller, attempt),
            Call::Taking { owner, ask }
            | Call::TakingOver { owner, ask, .. }
            | Call::Forgetting { owner, ask } => {
                self.ask(caller, *owner, *ask, self.turn.until_of_begin(caller));
            }
            Call::Looking { ask } => {
                self.ask(caller, Id(0), *ask, self.turn.until_of_begin(caller));
            }
        }
    }

    /// Callers by the same policy are told apart by their order only: the first comes first.
    fn arrival(&mut self, caller: usize) {
        let (setting, world) = (self.turn.setting, self.world());
        let first = (0..caller).all(|earlier| {
            !setting.callers[earlier].is_like(&setting.callers[caller])
                || world.callers[earlier].owners > 0
        });
        if first && world.now <= setting.calm {
            self.urgent |= world.now == setting.calm;
            self.steps.push(Step::Arrive(caller));
        }
    }

    /// A question: sent, sent again after a pause, given up when its time is up.
    fn ask(&mut self, caller: usize, owner: Id, ask: Ask, until: Moment) {
        let world = self.world();
        let now = moment(world.now);
        // A waiter that is answered looks again: it ends by its answer, not by its patience.
        let waits = ask.purpose == Purpose::Look;
        // The mutant's repeat, whose pause ends late, is sent once more, however late that is.
        let in_time = |sent| match self.turn.setting.is(Mutant::RepeatsAfterWindow) {
            true => moment(sent) <= until,
            false => now < until,
        };
        let again = |sent| sent < world.now && (in_time(sent) || waits);
        if ask.sent.is_none_or(again) {
            self.send(caller, owner, ask.purpose, Channel::Call);
        }
        let over = now > until || now >= until && ask.sent.is_some();
        if over && (!waits || self.world().away) {
            self.due(Step::GiveUp(caller, Channel::Call));
        }
    }

    fn send(&mut self, caller: usize, owner: Id, purpose: Purpose, channel: Channel) {
        if self.world().away {
            self.due(Step::Send(caller, channel, Fate::Unheard));
            return;
        }
        self.due(Step::Send(caller, channel, Fate::Answered));
        for (fault, fate) in [
            (Fault::Lost, Fate::Lost),
            (Fault::ReplyLost, Fate::ReplyLost),
            (Fault::Late, Fate::Late),
            (Fault::ReplyLate, Fate::ReplyLate),
            (Fault::Twice, Fate::Twice),
        ] {
            let held = matches!(fate, Fate::Late | Fate::Twice);
            // A look that is lost, late or doubled is one that is made a little later.
            let matters = purpose != Purpose::Look || fate == Fate::ReplyLate;
            let room = !held || self.world().held_back(owner) < self.turn.setting.held_back;
            if matters && room && self.model.may(self.world(), fault) {
                self.steps.push(Step::Send(caller, channel, fate));
            }
        }
    }

    fn of_attempt(&mut self, caller: usize, attempt: &Attempt) {
        let now = moment(self.world().now);
        self.of_keeper(caller, attempt, now);
        let (shortest, longest) = self.turn.setting.body;
        let ran = self.world().now - attempt.started;
        let at_end = ran >= longest;
        let acts = matches!(attempt.stage, Stage::Asking | Stage::Running);
        if acts && self.turn.cancels(caller) && (attempt.lost || attempt.tenure.at_risk(now)) {
            self.due(Step::Stop(caller));
        }
        match attempt.stage {
            Stage::Starting => self.starting(caller, attempt),
            Stage::Asking => {
                for answer in [Answer::Value, Answer::RunIt, Answer::Failed] {
                    self.steps.push(Step::Answer(caller, answer));
                }
                self.urgent |= at_end;
            }
            Stage::Running if ran < shortest => {}
            Stage::Running => {
                self.steps.push(Step::End(caller, End::Value));
                if self.turn.setting.errors {
                    self.steps.push(Step::End(caller, End::Error));
                }
                self.urgent |= at_end;
            }
            Stage::Settling | Stage::Releasing if self.turn.waits_for_again(attempt) => {}
            Stage::Settling if self.turn.settles_unasked(attempt) => {
                self.due(Step::SettleUnasked(caller));
                let tried = attempt.ask.is_some_and(|ask| ask.tried);
                if tried && !attempt.lost && self.turn.setting.is(Mutant::RepeatsAfterWindow) {
                    self.ask_of_attempt(caller, attempt);
                }
            }
            Stage::Settling | Stage::Releasing => self.ask_of_attempt(caller, attempt),
        }
    }

    fn starting(&mut self, caller: usize, attempt: &Attempt) {
        match self.turn.may_start(caller, attempt) {
            Starting::Started if attempt.ask.is_none() => self.due(Step::Start(caller)),
            Starting::Forfeited => self.due(Step::Anew(caller)),
            _ if attempt.ask.is_none() => {
                self.send(caller, attempt.owner, Purpose::Ready, Channel::Call);
            }
            _ => self.ask_of_attempt(caller, attempt),
        }
    }

    fn ask_of_attempt(&mut self, caller: usize, attempt: &Attempt) {
        let Some(ask) = attempt.ask else { return };
        self.ask(caller, attempt.owner, ask, self.turn.until_of_attempt(attempt));
    }

    fn of_keeper(&mut self, caller: usize, attempt: &Attempt, now: Moment) {
        if attempt.is_kept() && attempt.renewal_is_unanswered(now) {
            self.due(Step::GiveUp(caller, Channel::Renewal));
        }
        if attempt.renewal_is_due(now) {
            self.send(caller, attempt.owner, Purpose::Renew, Channel::Renewal);
        }
        if attempt.again_is_due(now) {
            if attempt.again_goes_on(now) {
                self.send(caller, attempt.owner, Purpose::Again, Channel::Again);
            } else {
                self.due(Step::GiveUp(caller, Channel::Again));
            }
        }
    }
}
