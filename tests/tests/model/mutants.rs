//! Mutants: the protocol with one rule taken out, each of which the model must catch.
//!
//! Those of the store lie to the real transitions about what stands, or answer in their place; those
//! of the owner are asked about by the callers' steps.

use idem_runtime::protocol::transition::{self, Change};

use crate::message::{Command, Reply};
use crate::record::Rec;
use crate::setting::Setting;
use crate::time::duration;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mutant {
    // Of the store.
    ComparesWithoutOwner,
    CompletesAnything,
    ReleasesAnything,
    RenewalCreates,
    StoresWhereNothingIs,
    KnowsItselfInOutcome,
    ReplacesByOwnerAlone,
    // Of the begin.
    TakeoverInTwoSteps,
    MismatchCleansUp,
    RetentionOfTheReader,
    RememberedBeforeArmed,
    FirstPollWithoutTimeLeft,
    TakeoverReleasedUnanswered,
    // Of the owner's clock.
    DeadlineFromReply,
    DeadlineFromRepeat,
    AgainMovesDeadline,
    RenewsAtAThird,
    // Of the end.
    AgainNotWaitedFor,
    WritesAfterWindow,
    RepeatsAfterWindow,
    ReleaseForgets,
}

impl Mutant {
    /// What the store makes the real transitions believe to stand.
    pub(crate) fn as_seen_by(self, command: &Command, stands: Option<Rec>) -> Option<Rec> {
        let reserved = stands.filter(|record| !record.completed);
        match (self, *command) {
            (
                Self::ComparesWithoutOwner,
                Command::Renew { owner, .. } | Command::Release(owner),
            ) => reserved.map(|record| Rec { owner, ..record }).or(stands),
            (Self::ComparesWithoutOwner, Command::Complete(outcome)) => {
                reserved.map(|record| Rec { owner: outcome.owner, ..record }).or(stands)
            }
            (Self::CompletesAnything, Command::Complete(outcome)) => Some(reservation_of(outcome)),
            (Self::StoresWhereNothingIs, Command::Complete(outcome)) => {
                stands.or(Some(reservation_of(outcome)))
            }
            (Self::ReleasesAnything, Command::Release(owner)) => {
                stands.map(|record| Rec { completed: false, owner, ..record })
            }
            (Self::KnowsItselfInOutcome, Command::Begin(mine)) => stands.map(|record| Rec {
                completed: record.completed && record.owner != mine.owner,
                ..record
            }),
            (Self::ReplacesByOwnerAlone, Command::Replace { seen, .. }) => {
                let completed = |record: Rec| {
                    if record.owner == seen.owner { seen.completed } else { record.completed }
                };
                stands.map(|record| Rec { completed: completed(record), ..record })
            }
            (Self::RetentionOfTheReader, Command::Replace { by, .. }) => {
                stands.map(|record| Rec { retention: by.retention, ..record })
            }
            _ => stands,
        }
    }

    /// What the store does in the place of the real transition, if it does.
    pub(crate) fn in_the_store(
        self,
        setting: &Setting,
        command: &Command,
        stands: Option<Rec>,
    ) -> Option<(Reply, Change)> {
        match (self, *command, stands) {
            (Self::RenewalCreates, Command::Renew { owner, retention }, None) => {
                let created = Rec { retention, ..Rec::reservation(owner, 0) };
                let (_, change) = transition::begin(None, &created.real(), duration(setting.lease));
                Some((Reply::Renewed, change))
            }
            (Self::TakeoverInTwoSteps, Command::DiscardLapsed { seen }, stands) => {
                Some(if stands == Some(seen) {
                    (Reply::Discarded, Change::Remove)
                } else {
                    (Reply::Stands, Change::Keep)
                })
            }
            _ => None,
        }
    }
}

fn reservation_of(outcome: Rec) -> Rec {
    Rec { completed: false, ..outcome }
}
