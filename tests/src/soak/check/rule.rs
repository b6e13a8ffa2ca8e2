//! The rules, and what each of them checks.

use crate::properties::Property::{self, *};

/// What has to hold in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Promise 1: two owners never claim a key at the same time.
    TwoClaims,
    /// Promise 1: an owner that can reach the store does not lose its lease.
    LapsedForNoReason,
    /// A body is first polled with most of its lease left.
    BeganLate,
    /// Promise 2: nothing runs while an outcome stands.
    RanOverAnOutcome,
    /// Promise 2: while an outcome stands it is what every call gets, if it gets an outcome.
    AnotherOutcome,
    /// Promise 3: an outcome is not stored over another one.
    StoredOverAnOutcome,
    /// Promise 3: an outcome is not stored while another owner claims the key.
    StoredBesideAnOwner,
    /// A call that finds an outcome is not refused for another reason than the store or its arguments.
    RefusedAtAnOutcome,
    /// An outcome does not outlive its ttl.
    Revived,
    /// A value was made by an action of its key, with the same arguments, that ended with it.
    NobodysValue,
    /// Promise 4: an owner that another ran beside or after is told.
    NotTold,
    /// Promise 5: a crash is not forgotten, under `refuse` and `reconcile`.
    CrashForgotten,
    /// Nobody is told of a crash, or asked about one, where none can have been.
    NobodyCrashed,
    /// Promise 5: a key is not blocked by nobody.
    BlockedByNobody,
    /// When all is over every key has an outcome in time.
    NotFree,
    /// Each error is one that the call could get.
    WrongError,
    /// A call ends.
    NeverEnds,
    /// A later owner's fence is greater.
    Fence,
    /// The history is one.
    History,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::TwoClaims,
        Self::LapsedForNoReason,
        Self::BeganLate,
        Self::RanOverAnOutcome,
        Self::AnotherOutcome,
        Self::StoredOverAnOutcome,
        Self::StoredBesideAnOwner,
        Self::RefusedAtAnOutcome,
        Self::Revived,
        Self::NobodysValue,
        Self::NotTold,
        Self::CrashForgotten,
        Self::NobodyCrashed,
        Self::BlockedByNobody,
        Self::NotFree,
        Self::WrongError,
        Self::NeverEnds,
        Self::Fence,
        Self::History,
    ];

    /// The properties of the model that are broken where this rule is. None where it is about what the
    /// model leaves out.
    #[must_use]
    pub const fn properties(self) -> &'static [Property] {
        match self {
            Self::TwoClaims => &[OneBeliever, StartsUnderOwnReservation],
            // An owner loses its lease by missing renewals, or by what somebody does to its record.
            Self::LapsedForNoReason => {
                &[TwoMissesAreAbsorbed, StaleChangesNothing, RefusalChangesNothing]
            }
            Self::BeganLate => &[StartsUnderOwnReservation],
            Self::RanOverAnOutcome => &[StartsUnderOwnReservation, OutcomeIsFinal, StoredIsStored],
            Self::AnotherOutcome | Self::StoredOverAnOutcome => &[OutcomeIsFinal, StoredIsStored],
            Self::StoredBesideAnOwner => &[StaleChangesNothing],
            Self::RefusedAtAnOutcome => &[StoredIsStored],
            Self::Revived => &[ExpiredStaysExpired],
            Self::NotTold => &[ReplacedIsTold, LapsedIsTold],
            Self::CrashForgotten => &[CrashIsNotForgotten],
            Self::NobodyCrashed => &[NoCrashWithoutBody, EndedHoldsNothing],
            Self::BlockedByNobody => &[LivesForALease, RepeatKnowsItself],
            Self::NotFree => &[KeyBecomesFree, LivesForALease],
            Self::NeverEnds => &[LiveOwnerCompletes, WaitersEnd],
            // The model's values tell nothing but whose they are; which error a call gets is the
            // runtime's, and so are deadlines and outages; fences are not in it; nor is a history.
            Self::NobodysValue | Self::WrongError | Self::Fence | Self::History => &[],
        }
    }
}
