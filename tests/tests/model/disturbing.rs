//! What the adversary does in a run, as what goes wrong in a soak.
//!
//! A message that it meddles with is trouble on the way of its process, from when it was sent until it
//! arrives; a lost renewal is a stall for the time that a renewal may take, since two of them have to be
//! borne.

use idem_tests::soak::history::{Disturbance, Line, What};

use crate::message::Fate;
use crate::setting::Fault;
use crate::state::World;
use crate::steps::{Channel, Step};
use crate::telling::{LEASE, Tale, Teller};
use crate::walk::Stride;

impl Tale<'_> {
    /// What goes wrong in this step, or is over.
    pub(crate) fn adversary_does(&mut self, stride: &Stride) {
        match stride.step {
            Step::Send(caller, channel, fate) => self.meddles(caller, channel, fate),
            Step::Fault(Fault::Crash, caller) => {
                self.goes_on(caller);
                let (process, life) = (caller as u64, self.tellers[caller].life);
                self.disturbed(Disturbance::Killed { process, life }, self.at);
                self.tellers[caller] = Teller::of_life(life + 1);
            }
            Step::Fault(Fault::Pause, caller) => self.tellers[caller].paused = Some(self.at),
            Step::Resume(caller) => self.goes_on(caller),
            Step::Fault(Fault::Evict, _) => self.disturbed(Disturbance::ServerEmptied, self.at),
            Step::Fault(Fault::Outage | Fault::Wipe, _) => self.away = Some(self.at),
            Step::Back { wiped } => self.is_back(wiped),
            _ => {}
        }
        self.holds_back(&stride.after);
    }

    fn goes_on(&mut self, caller: usize) {
        if let Some(since) = self.tellers[caller].paused.take() {
            self.disturbed(Disturbance::Paused(caller as u64), since);
        }
    }

    fn is_back(&mut self, wiped: bool) {
        if let Some(since) = self.away.take() {
            let by = if wiped { Disturbance::ServerEmptied } else { Disturbance::ServerRestarted };
            self.disturbed(by, since);
        }
    }

    /// A message that does not go through as it should.
    fn meddles(&mut self, caller: usize, channel: Channel, fate: Fate) {
        let (process, since) = (caller as u64, self.at);
        match fate {
            Fate::Answered | Fate::Unheard => {}
            Fate::Lost | Fate::ReplyLost if channel == Channel::Renewal => {
                let by = Disturbance::Stalled(process);
                let what = What::Disturbed { by, since };
                self.lines.push(Line { at: since + LEASE / 8 - 1, what });
            }
            _ => self.disturbed(Disturbance::Way(process), since),
        }
    }

    /// Takes note of the messages that are held back from now on, and of those that are not any more.
    fn holds_back(&mut self, after: &World) {
        let (held, over): (Vec<_>, _) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|(message, _)| after.network.contains(message));
        for (message, since) in over {
            self.disturbed(Disturbance::Way(u64::from(message.ask.caller)), since);
        }
        self.held = held;
        for message in &after.network {
            if !self.held.iter().any(|(held, _)| held == message) {
                self.held.push((*message, self.at));
            }
        }
    }

    /// What is not over at the end of the run.
    pub(crate) fn end(&mut self) {
        for caller in 0..self.tellers.len() {
            self.goes_on(caller);
        }
        for (message, since) in std::mem::take(&mut self.held) {
            self.disturbed(Disturbance::Way(u64::from(message.ask.caller)), since);
        }
        self.is_back(false);
    }
}
