//! Mutants: the page with one rule taken out, each of which the model must catch.

use idem_runtime::protocol::transition::Change;

use super::run::RunState;
use super::store::replaces_anything;
use crate::message::{Command, Reply};
use crate::record::Rec;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mutant {
    // Of who finds a receipt.
    GivesUnread,
    QueueTimeoutDiscards,
    VerdictWithoutReplace,
    HoldNotInReplace,
    HoldOfTheReader,
    ReclaimsMaybeAlive,
    DiscardsWhatever,
    DeletesWhatever,
    // Of who dispatches.
    RefusedOnlyReleases,
    BeginsAgainUnread,
    KeeperBeginsAgainUnread,
    // Of the worker.
    TakesLapsed,
    PollsBeforeReceipt,
    NoRenewalAfterReceipt,
    SkippedNotStored,
    WorkerBeginsAgain,
    // Of who cancels.
    CancelsAnEnd,
}

impl Mutant {
    /// What the store makes the real transitions believe to stand.
    pub(crate) fn as_seen_by(self, command: &Command, stands: Option<Rec>) -> Option<Rec> {
        match (self, *command) {
            (Self::DiscardsWhatever, Command::Discard(owner)) => {
                stands.map(|record| Rec { owner, ..record })
            }
            (Self::DeletesWhatever, Command::Discard(owner)) => {
                stands.map(|record| Rec { owner, completed: true, ..record })
            }
            _ => stands,
        }
    }

    /// What the store does in the place of the real transition, if it does.
    pub(crate) fn in_the_store(
        self,
        command: &Command,
        stands: Option<Rec>,
    ) -> Option<(Reply, Change)> {
        match (self, *command, stands) {
            (Self::CancelsAnEnd, Command::Replace { seen, by, life, .. }, Some(stands))
                if RunState::of(by) == RunState::Cancelled && stands.owner == seen.owner =>
            {
                Some(replaces_anything(stands, by, life))
            }
            _ => None,
        }
    }
}
