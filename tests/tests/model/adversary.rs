//! The adversary: what it does to callers, messages and the store, each for one of its faults.

use crate::operator::Operation;
use crate::setting::Fault;
use crate::state::{Call, Stage};
use crate::steps::{Open, Step};
use crate::turn::Turn;

impl Open<'_> {
    /// What is held back may arrive at any time.
    pub(crate) fn of_network(&mut self) {
        for (index, message) in self.turn.world.network.iter().enumerate() {
            let world = &self.turn.world;
            let arrives = if message.command().is_some() {
                !world.away
            } else {
                !world.callers[usize::from(message.ask.caller)].paused
            };
            // Equal messages are one step.
            let again = index > 0 && self.turn.world.network[index - 1] == *message;
            if arrives && !again {
                self.steps.push(Step::Deliver(index));
            }
        }
    }

    pub(crate) fn of_adversary(&mut self) {
        for caller in 0..self.world().callers.len() {
            let who = self.turn.world.callers[caller].clone();
            if matches!(who.call, Call::Away | Call::Over) {
                continue;
            }
            self.fault(Fault::Crash, caller);
            if who.paused {
                continue;
            }
            self.fault(Fault::Pause, caller);
            let told = who.call.attempt().is_some_and(|attempt| attempt.told);
            if !told && !matches!(who.call, Call::Forgetting { .. }) {
                self.fault(Fault::Drop, caller);
            }
        }
        if self.world().store.is_some() {
            self.fault(Fault::Evict, 0);
        }
        let kinds = &self.turn.setting.kinds;
        let (restarts, wipes) = (kinds.contains(&Fault::Outage), kinds.contains(&Fault::Wipe));
        if self.world().away {
            if restarts {
                self.steps.push(Step::Back { wiped: false });
            }
            if wipes {
                self.steps.push(Step::Back { wiped: true });
            }
            self.urgent |= self.world().now >= self.turn.setting.calm;
        } else if restarts {
            self.fault(Fault::Outage, 0);
        } else {
            self.fault(Fault::Wipe, 0);
        }
    }

    fn fault(&mut self, fault: Fault, caller: usize) {
        if self.model.may(self.world(), fault) {
            self.steps.push(Step::Fault(fault, caller));
        }
    }

    pub(crate) fn of_operator(&mut self) {
        if self.world().now >= self.turn.setting.late_until || self.world().away {
            return;
        }
        let reserved = self.world().store.is_some_and(|kept| !kept.record.completed);
        for operation in self.world().operator.operations() {
            if reserved || *operation != Operation::Look {
                self.steps.push(Step::Operate(*operation));
            }
        }
    }
}

impl Turn<'_> {
    pub(crate) fn fault(&mut self, fault: Fault, caller: usize) {
        let world = &mut self.world;
        match fault {
            Fault::Crash => {
                let who = &mut world.callers[caller];
                who.paused = false;
                who.robbed = false;
                who.call = if who.calls > 0 { Call::Away } else { Call::Over };
            }
            Fault::Pause => {
                world.callers[caller].paused = true;
                if let Call::Holding(attempt) = &mut world.callers[caller].call {
                    attempt.disturbed = true;
                }
            }
            Fault::Drop => self.drop_future(caller),
            Fault::Evict => self.store_forgets(),
            Fault::Outage | Fault::Wipe => {
                world.away = true;
                for caller in &mut world.callers {
                    if let Call::Holding(attempt) = &mut caller.call {
                        attempt.disturbed = true;
                    }
                }
            }
            fault => panic!("{fault:?} is the fate of a message"),
        }
    }

    pub(crate) fn resume(&mut self, caller: usize) {
        self.world.callers[caller].paused = false;
        self.observe_time(caller);
    }

    pub(crate) fn back(&mut self, wiped: bool) {
        self.world.away = false;
        if wiped {
            self.store_forgets();
        }
    }

    /// A tick passes, for the store and for everybody.
    pub(crate) fn pass(&mut self) {
        self.world.now += 1;
        self.store_ages();
        for caller in 0..self.world.callers.len() {
            if !self.world.callers[caller].paused {
                self.observe_time(caller);
            }
        }
    }

    /// What is due of this caller's channel is sent.
    pub(crate) fn stage_of(&self, caller: usize) -> Option<Stage> {
        self.world.callers[caller].call.attempt().map(|attempt| attempt.stage)
    }
}
