//! What the parts of a running consumer share.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::event::ConsumerEventKind;
use super::hand::{Hand, Loss};
use super::handler::Handler;
use super::options::Options;
use super::run::Run;
use super::settle::{End, Job};
use super::slots::Slots;
use super::stream::Stream;
use super::teller::Teller;

/// What the parts of a running consumer share.
pub(super) struct Desk {
    pub(super) stream: Stream,
    pub(super) options: Options,
    pub(super) handler: Arc<Handler>,
    pub(super) hand: Arc<Hand>,
    pub(super) slots: Arc<Slots>,
    pub(super) teller: Arc<Teller>,
    /// Where runs hand in what is to be settled.
    pub(super) jobs: mpsc::UnboundedSender<Job>,
}

impl Desk {
    pub(super) fn tell(&self, kind: ConsumerEventKind<'_>) {
        self.teller.tell(kind);
    }

    /// Hands in what is to be settled.
    pub(super) fn settle(&self, run: Arc<Run>, end: End) {
        let unsettled = self.slots.unsettled();
        // Without a receiver the consumer has been dropped, and the run's messages are let go.
        drop(self.jobs.send(Job { run, end, unsettled }));
    }

    pub(super) fn tell_losses(&self, losses: &[Loss]) {
        for Loss { lost, all } in losses {
            self.tell(ConsumerEventKind::LeaseLost { lost, all });
        }
    }
}
