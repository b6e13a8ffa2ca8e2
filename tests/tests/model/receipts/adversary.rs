//! The adversary: what it does to those at work, and to what it holds back, each for one of its faults.

use super::state::Doing;
use super::steps::{Open, Step};
use super::turn::Turn;
use crate::setting::Fault;

impl Open<'_> {
    /// What is held back may arrive at any time.
    pub(crate) fn of_network(&mut self) {
        let network = &self.turn.world.network;
        for (index, asked) in network.iter().enumerate() {
            // Equal commands are one step.
            if index == 0 || network[index - 1] != *asked {
                self.steps.push(Step::Deliver(index));
            }
        }
    }

    pub(crate) fn of_adversary(&mut self) {
        for actor in 0..self.turn.canceller() {
            let who = &self.turn.world.actors[actor];
            let (idle, paused) = (who.doing == Doing::Idle, who.paused);
            if idle {
                continue;
            }
            for fault in [Fault::Crash, Fault::Pause] {
                if self.model.may(self.world(), fault) && !paused {
                    self.steps.push(Step::Fault(fault, actor));
                }
            }
        }
    }
}

impl Turn<'_> {
    /// A tick passes, for the store and for everybody.
    pub(crate) fn pass(&mut self) {
        self.world.now += 1;
        self.store_ages();
        for actor in 0..self.world.actors.len() {
            if !self.world.actors[actor].paused {
                self.observe_time(actor);
            }
        }
    }
}
