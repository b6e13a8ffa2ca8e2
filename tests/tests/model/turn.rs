//! One step of the model: a copy of the world and what is done to it.

use idem_runtime::protocol::Moment;
use idem_tests::properties::Property;

use crate::message::{Ask, Body, Command, Fate, Message, Purpose, Reply};
use crate::properties::Situation;
use crate::record::Id;
use crate::report::Reached;
use crate::setting::{Policy, Setting};
use crate::state::{Attempt, Call, World};
use crate::time::moment;

pub(crate) struct Turn<'a> {
    pub(crate) setting: &'a Setting,
    pub(crate) reached: &'a Reached,
    pub(crate) world: World,
}

impl Turn<'_> {
    pub(crate) fn now(&self) -> Moment {
        moment(self.world.now)
    }

    pub(crate) fn policy(&self, caller: usize) -> Policy {
        self.setting.callers[caller]
    }

    /// The first property that a step breaks is the one that counts.
    pub(crate) fn broke(&mut self, property: Property) {
        self.world.broken.get_or_insert(property);
    }

    pub(crate) fn reach(&self, situation: Situation) {
        self.reached.note(situation as usize);
    }

    pub(crate) fn set(&mut self, caller: usize, call: Call) {
        self.world.callers[caller].call = call;
    }

    /// The attempt that this caller holds.
    pub(crate) fn attempt(&mut self, caller: usize) -> &mut Attempt {
        match &mut self.world.callers[caller].call {
            Call::Holding(attempt) => attempt,
            call => panic!("no attempt: {call:?}"),
        }
    }

    /// The store has said that this caller's reservation stands; that may be old news.
    pub(crate) fn confirmed(&mut self, caller: usize) {
        let owner = self.attempt(caller).owner;
        let stands = self.world.store.is_some_and(|kept| kept.record.is_reservation_of(owner));
        self.world.callers[caller].robbed &= !stands;
    }

    /// Sends a command of `owner`'s and lets it meet its fate.
    pub(crate) fn send(
        &mut self,
        (caller, owner): (usize, Id),
        ask: Ask,
        command: Command,
        fate: Fate,
    ) {
        let ask = ask.id(u8::try_from(caller).expect("few callers"), owner);
        let mut hold = |body| self.world.network.push(Message { ask, body });
        match fate {
            Fate::Lost | Fate::Unheard => {}
            Fate::Late => hold(Body::Command(command)),
            Fate::ReplyLost => {
                self.carry_out(owner, &command);
            }
            Fate::ReplyLate => {
                let reply = self.carry_out(owner, &command);
                self.world.network.push(Message { ask, body: Body::Reply(reply) });
            }
            Fate::Answered => {
                let reply = self.carry_out(owner, &command);
                self.hear(caller, ask.purpose, reply);
            }
            Fate::Twice => {
                hold(Body::Command(command));
                let reply = self.carry_out(owner, &command);
                self.hear(caller, ask.purpose, reply);
            }
        }
    }

    /// A message that was held back arrives.
    pub(crate) fn deliver(&mut self, index: usize) {
        let message = self.world.network.remove(index);
        let caller = usize::from(message.ask.caller);
        let reply = match message.body {
            Body::Reply(reply) => reply,
            Body::Command(command) => self.carry_out(message.ask.owner, &command),
        };
        if !self.world.expects(message.ask) {
            self.revived(caller, message.ask.owner);
            return;
        }
        if self.world.callers[caller].paused {
            // It waits in the caller's socket.
            let reply = Message { ask: message.ask, body: Body::Reply(reply) };
            self.world.network.push(reply);
            return;
        }
        self.hear(caller, message.ask.purpose, reply);
    }

    /// A reservation that the store lost, and that a begin which was held back brings back before its
    /// owner noticed, hides what came between: nobody could know.
    fn revived(&mut self, caller: usize, owner: Id) {
        let stands = self.world.store.is_some_and(|kept| kept.record.is_reservation_of(owner));
        let Some(who) = self.world.callers.get_mut(caller) else { return };
        if let (true, true, Call::Holding(attempt)) = (stands, who.robbed, &mut who.call)
            && attempt.owner == owner
        {
            attempt.overlapped = false;
        }
    }

    /// A reply to a question that is open.
    fn hear(&mut self, caller: usize, purpose: Purpose, reply: Reply) {
        match purpose {
            Purpose::Take | Purpose::Look | Purpose::TakeOver | Purpose::Discard => {
                self.hear_of_begin(caller, reply);
            }
            Purpose::Ready => self.hear_of_ready(caller, reply),
            Purpose::Renew => self.hear_of_renewal(caller, reply),
            Purpose::Again => self.hear_of_again(caller, reply),
            Purpose::Complete | Purpose::AgainForOutcome => self.hear_of_outcome(caller, reply),
            Purpose::Release => self.hear_of_release(caller),
        }
    }
}
