//! One step of the model: a copy of the world and what is done to it.

use idem_runtime::protocol::Moment;

use super::properties::{Rule, Situation};
use super::run::{Run, Seen};
use super::setting::Setting;
use super::state::{Actor, Again, Asked, Doing, Held, Place, World};
use super::steps::{Channel, Step};
use crate::message::{Command, Fate, Reply};
use crate::record::{Id, Rec};
use crate::report::Reached;
use crate::setting::Fault;
use crate::time::{Tick, moment};

pub(crate) struct Turn<'a> {
    pub(crate) setting: &'a Setting,
    pub(crate) reached: &'a Reached,
    pub(crate) world: World,
}

impl Turn<'_> {
    pub(crate) fn take(&mut self, step: Step) {
        match step {
            Step::Pass => self.pass(),
            Step::Call(actor) => self.call(actor),
            Step::Send(actor, channel, fate) => self.send(actor, channel, fate),
            Step::GiveUp(actor, Channel::Keeper) => self.held(actor).again = Again::No,
            Step::GiveUp(actor, Channel::Own) => self.give_up(actor),
            Step::Start(actor) => self.start(actor),
            Step::Push(actor) => self.push(actor),
            Step::Answer(actor, taken) => self.queue_answers(actor, taken),
            Step::End(actor, state) => self.body_ends(actor, state),
            Step::Drop(actor) => self.settle_unasked(actor),
            Step::Hand(actor, run) => self.hand(actor, run),
            Step::Cancel(actor, run) => {
                self.actor(actor).calls -= 1;
                self.set(actor, Doing::Look { run });
            }
            Step::Deliver(index) => {
                let asked = self.world.network.remove(index);
                self.carry_out(&asked);
            }
            Step::Fault(fault, actor) => {
                self.world.faults -= 1;
                self.fault(fault, actor);
            }
            Step::Resume(actor) => {
                self.actor(actor).paused = false;
                self.observe_time(actor);
            }
        }
    }

    fn send(&mut self, actor: usize, channel: Channel, fate: Fate) {
        let now = self.world.now;
        let asked = self.asks(actor, channel);
        if channel == Channel::Own {
            let who = self.actor(actor);
            if !who.tried {
                who.first = now;
            }
            who.tried = true;
        }
        self.sending(actor, channel);
        if fate != Fate::Answered {
            self.world.faults -= 1;
            self.actor(actor).disturbed = true;
        }
        if matches!(fate, Fate::Late | Fate::Twice) {
            self.world.network.push(asked);
        }
        if !matches!(fate, Fate::Lost | Fate::Late) {
            let reply = self.carry_out(&asked);
            if fate != Fate::ReplyLost {
                self.hear(actor, channel, reply, asked.place);
            }
        }
    }

    fn hear(&mut self, actor: usize, channel: Channel, reply: Reply, place: Place) {
        if channel == Channel::Keeper {
            return self.hear_of_keeping(actor, reply);
        }
        let stands = self.world.kept(place).map(|kept| kept.record);
        match self.actor(actor).doing {
            Doing::Read { .. }
            | Doing::ReadAgain { .. }
            | Doing::Mark { .. }
            | Doing::Discard { .. } => {
                self.hear_of_reclaim(actor, reply, stands);
            }
            Doing::Fetch { .. }
            | Doing::Take { .. }
            | Doing::SeeTo { .. }
            | Doing::SeeBegin { .. }
            | Doing::Renew { .. }
            | Doing::Start { .. } => self.hear_of_attach(actor, reply),
            Doing::Skip { .. } | Doing::End { .. } | Doing::GiveBack { .. } => {
                self.hear_of_end(actor, reply);
            }
            Doing::Look { .. } | Doing::Cancel { .. } => self.hear_of_cancel(actor, reply),
            _ => self.hear_of_dispatch(actor, reply, stands),
        }
    }

    /// What this actor, or its keeper, asks for now.
    pub(crate) fn asks(&self, actor: usize, channel: Channel) -> Asked {
        let (place, command, life) = if channel == Channel::Keeper {
            self.asks_for_keeping(actor)
        } else if actor < self.setting.callers.len() {
            self.asks_for_call(actor)
        } else {
            self.asks_for_run(actor)
        };
        Asked { actor, place, command, life }
    }

    pub(crate) fn actor(&mut self, actor: usize) -> &mut Actor {
        &mut self.world.actors[actor]
    }

    pub(crate) fn held(&mut self, actor: usize) -> &mut Held {
        self.world.actors[actor].held.as_mut().expect("a reservation")
    }

    pub(crate) fn canceller(&self) -> usize {
        self.setting.callers.len() + self.setting.workers
    }

    pub(crate) fn now(&self) -> Moment {
        moment(self.world.now)
    }

    /// The last owner that this actor has made up.
    pub(crate) fn me(&self, actor: usize) -> Id {
        Id::of(actor, self.world.actors[actor].owners)
    }

    /// What the actor turns to next.
    pub(crate) fn set(&mut self, actor: usize, doing: Doing) {
        let who = self.actor(actor);
        who.doing = doing;
        who.tried = false;
        who.next = 0;
        who.first = 0;
    }

    /// The keeper asks again, after a pause, what was not answered in time.
    pub(crate) fn defer(&mut self, actor: usize, doing: Doing) {
        let next = self.world.now + 1;
        self.set(actor, doing);
        self.actor(actor).next = next;
    }

    /// The actor is done with what it was at.
    pub(crate) fn idle(&mut self, actor: usize) {
        self.set(actor, Doing::Idle);
        let who = self.actor(actor);
        who.held = None;
        who.told = false;
        who.over = 0;
        who.disturbed = false;
    }

    /// What a read of a run's record says.
    pub(crate) fn seen(&self, reply: Reply) -> Seen {
        let Reply::Seen(found) = reply else { panic!("a read hears {reply:?}") };
        Seen::of(found, self.setting)
    }

    /// The hold of this run, by its record.
    pub(crate) fn hold_of(&self, id: Id) -> Tick {
        self.world.runs.iter().find(|run| run.id == id).map_or(0, |run| run.hold)
    }

    /// The runs for which this holds, as bits.
    pub(crate) fn runs_that(&self, holds: impl Fn(&Run) -> bool) -> u16 {
        let bits = self.world.runs.iter().enumerate().filter(|(_, run)| holds(run));
        bits.fold(0, |bits, (index, _)| bits | 1 << index)
    }

    /// A complete of the receipt of a run: the same, whoever sends it.
    pub(crate) fn receipt_of(&self, run: Id) -> (Place, Command, Tick) {
        let receipt = Rec::reservation(run, 0).outcome();
        (Place::Receipt, Command::Complete(receipt), self.setting.ttl)
    }

    /// The first rule that a step breaks is the one that counts.
    pub(crate) fn broke(&mut self, rule: Rule) {
        self.world.broken.get_or_insert(rule);
    }

    pub(crate) fn reach(&self, situation: Situation) {
        self.reached.note(situation as usize);
    }

    pub(crate) fn fault(&mut self, fault: Fault, actor: usize) {
        match fault {
            Fault::Pause => {
                let who = self.actor(actor);
                who.paused = true;
                who.disturbed = true;
            }
            Fault::Crash => self.idle(actor),
            fault => panic!("{fault:?} is the fate of a message"),
        }
    }
}
