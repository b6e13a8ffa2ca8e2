//! The steps that are open in a state. Whoever has a step to take takes it at once, in any order with
//! the others; time passes only where nothing is due. When a call comes, when the queue hands a run out
//! and when somebody cancels is anybody's guess.

use idem_runtime::protocol::Moment;

use super::model::Receipts;
use super::run::RunState;
use super::state::{Again, Doing, World};
use super::turn::Turn;
use crate::message::Fate;
use crate::record::Id;
use crate::setting::Fault;
use crate::time::moment;

/// Whose question: the actor's own, or its keeper's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Channel {
    Own,
    Keeper,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Pass,
    Call(usize),
    Send(usize, Channel, Fate),
    GiveUp(usize, Channel),
    /// The action of a dispatch, or the body of a run, is first polled.
    Start(usize),
    /// The queue has the run.
    Push(usize),
    /// The queue answers its dispatcher: whether it says that it has it.
    Answer(usize, bool),
    /// The body ends.
    End(usize, RunState),
    /// What is to be stored is given up without asking: lost, or too late.
    Drop(usize),
    /// The queue hands a run to a worker.
    Hand(usize, Id),
    /// A run is to be cancelled.
    Cancel(usize, Id),
    /// The command at this place, of those held back, arrives.
    Deliver(usize),
    Fault(Fault, usize),
    Resume(usize),
}

/// The open steps of one state, as they are collected.
pub(crate) struct Open<'a> {
    pub(crate) model: &'a Receipts,
    pub(crate) turn: Turn<'a>,
    pub(crate) steps: &'a mut Vec<Step>,
    /// Something is due: time does not pass.
    pub(crate) urgent: bool,
}

impl Open<'_> {
    pub(crate) fn world(&self) -> &World {
        &self.turn.world
    }

    fn due(&mut self, step: Step) {
        self.steps.push(step);
        self.urgent = true;
    }

    pub(crate) fn of_actor(&mut self, actor: usize) {
        let who = self.world().actors[actor].clone();
        let calm = self.world().now >= self.turn.setting.calm;
        if who.paused {
            self.steps.push(Step::Resume(actor));
            self.urgent |= calm;
            return;
        }
        self.of_keeper(actor);
        match who.doing {
            Doing::Idle => self.of_idle(actor),
            Doing::Enqueue { pushed, since, .. } => {
                if !pushed {
                    self.steps.push(Step::Push(actor));
                } else if self.world().actors[actor]
                    .held
                    .as_ref()
                    .is_none_or(|held| held.again == Again::No)
                {
                    self.steps.push(Step::Answer(actor, true));
                }
                if self.turn.setting.refusals {
                    self.steps.push(Step::Answer(actor, false));
                }
                self.urgent |= self.world().now >= since + self.turn.setting.enqueue;
            }
            Doing::Body { since, .. } => self.of_body(actor, self.world().now - since),
            Doing::Ready { .. } | Doing::Start { .. } if self.turn.may_start(actor) => {
                self.due(Step::Start(actor));
            }
            _ if self.turn.settles_unasked(actor) => self.due(Step::Drop(actor)),
            _ => self.question(actor),
        }
    }

    fn of_body(&mut self, actor: usize, ran: u8) {
        let (shortest, longest) = self.turn.setting.body;
        if ran < shortest {
            return;
        }
        self.steps.push(Step::End(actor, RunState::Succeeded));
        if self.turn.setting.failures {
            self.steps.push(Step::End(actor, RunState::Failed));
        }
        let number = self.world().actors[actor].held.as_ref().map_or(0, |held| held.number);
        if number <= self.turn.setting.retries {
            self.steps.push(Step::End(actor, RunState::Waiting));
        }
        self.urgent |= ran >= longest;
    }

    fn of_idle(&mut self, actor: usize) {
        let (setting, world) = (self.turn.setting, &self.turn.world);
        let callers = setting.callers.len();
        if actor < callers {
            // Callers that are alike are told apart by their order only: the first comes first.
            let first = (0..actor).all(|earlier| {
                setting.callers[earlier] != setting.callers[actor]
                    || world.actors[earlier].owners > 0
            });
            if first && world.actors[actor].calls > 0 {
                self.urgent |= world.now >= setting.calm;
                self.steps.push(Step::Call(actor));
            }
            return;
        }
        if world.now >= setting.late_until {
            return;
        }
        if actor == self.turn.canceller() {
            if world.actors[actor].calls > 0 {
                let runs = world.runs.iter().map(|run| Step::Cancel(actor, run.id));
                self.steps.extend(runs);
            }
            return;
        }
        // One idle worker is like another.
        let first = (callers..actor).all(|earlier| !world.actors[earlier].is_idle());
        if first {
            let mut runs = world.queue.clone();
            runs.dedup();
            self.steps.extend(runs.into_iter().map(|run| Step::Hand(actor, run)));
        }
    }

    /// A question: sent; sent again or given up, where it was not heard.
    fn question(&mut self, actor: usize) {
        let who = &self.world().actors[actor];
        if self.world().now < who.next || self.turn.waits_for_again(actor) {
            return;
        }
        let tried = who.tried;
        if actor == self.turn.canceller() {
            // It takes its time, and is spared by the adversary.
            self.steps.push(Step::Send(actor, Channel::Own, Fate::Answered));
            self.urgent |= self.world().now >= self.turn.setting.late_until;
            return;
        }
        self.send(actor, Channel::Own);
        if tried {
            self.due(Step::GiveUp(actor, Channel::Own));
        }
    }

    fn of_keeper(&mut self, actor: usize) {
        let Some(held) = self.world().actors[actor].held.clone() else { return };
        let now = moment(self.world().now);
        if held.again != Again::No {
            self.send(actor, Channel::Keeper);
            if self.world().actors[actor].disturbed {
                self.due(Step::GiveUp(actor, Channel::Keeper));
            }
        } else if self.turn.is_kept(actor) && held.renewal_due <= now {
            self.send(actor, Channel::Keeper);
        }
    }

    fn send(&mut self, actor: usize, channel: Channel) {
        let asked = self.turn.asks(actor, channel);
        self.due(Step::Send(actor, channel, Fate::Answered));
        let reads = asked.command == crate::message::Command::Peek;
        for (fault, fate) in [
            (Fault::Lost, Fate::Lost),
            (Fault::ReplyLost, Fate::ReplyLost),
            (Fault::Late, Fate::Late),
            (Fault::Twice, Fate::Twice),
        ] {
            // A read that is late, doubled or not answered is one that is lost.
            if self.model.may(self.world(), fault) && (!reads || fault == Fault::Lost) {
                self.steps.push(Step::Send(actor, channel, fate));
            }
        }
    }
}

/// Never: where nothing is to be renewed any more.
pub(crate) const NEVER: Moment = Moment::NEVER;
