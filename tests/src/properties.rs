//! What has to hold, under the names by which the model proves it and a history is checked for it.
//!
//! The model has each of these as a property. A [rule](crate::soak::check::Rule) on histories names those
//! that it checks on runs of the real thing; what no rule can see stands in [`UNSEEN`].

/// A property of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Property {
    /// Promise 1: at most one caller believes itself owner inside its own deadline.
    OneBeliever,
    /// Promises 1 and 2: no body starts beside another's record, nor beside an outcome.
    StartsUnderOwnReservation,
    /// Promise 2: nobody changes an outcome.
    OutcomeIsFinal,
    /// Promise 2: an outcome is gone when its ttl ends.
    ExpiredStaysExpired,
    /// Promise 2: whoever hears *stored* finds it stored.
    StoredIsStored,
    /// Promise 3: a stale owner changes nothing while another's record stands.
    StaleChangesNothing,
    /// A refused duplicate, a mismatch and a stale command change nothing.
    RefusalChangesNothing,
    /// A begin is acquired only with a reservation of one's own.
    AcquiredIsReserved,
    /// Promise 6: a command that takes the key, and is repeated, finds its own reservation its own.
    RepeatKnowsItself,
    /// Promise 4: an owner whose record was replaced by another's outcome is not told *stored*.
    ReplacedIsTold,
    /// Promise 4: an owner beside which another body started is told *lapsed*.
    LapsedIsTold,
    /// Promise 5: a reservation lives for a lease after a command, and is remembered after that.
    LivesForALease,
    /// Promise 5: an attempt that has ended, with nothing of it under way, holds nothing.
    EndedHoldsNothing,
    /// `refuse`, `reconcile`: no body starts while a remembered crash is undecided.
    CrashIsNotForgotten,
    /// `refuse`, `reconcile`: nobody is told of a crash whose body never came near its first poll.
    NoCrashWithoutBody,
    /// Renewals: two misses in a row never put an owner at risk.
    TwoMissesAreAbsorbed,
    /// In the end: an owner that lives comes to the end of its attempt.
    LiveOwnerCompletes,
    /// In the end: every call has ended.
    WaitersEnd,
    /// In the end: the next caller does not find the key taken.
    KeyBecomesFree,
}

impl Property {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::OneBeliever,
        Self::StartsUnderOwnReservation,
        Self::OutcomeIsFinal,
        Self::ExpiredStaysExpired,
        Self::StoredIsStored,
        Self::StaleChangesNothing,
        Self::RefusalChangesNothing,
        Self::AcquiredIsReserved,
        Self::RepeatKnowsItself,
        Self::ReplacedIsTold,
        Self::LapsedIsTold,
        Self::LivesForALease,
        Self::EndedHoldsNothing,
        Self::CrashIsNotForgotten,
        Self::NoCrashWithoutBody,
        Self::TwoMissesAreAbsorbed,
        Self::LiveOwnerCompletes,
        Self::WaitersEnd,
        Self::KeyBecomesFree,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneBeliever => "one owner at a time",
            Self::StartsUnderOwnReservation => "a body starts under its own reservation",
            Self::OutcomeIsFinal => "an outcome is final",
            Self::ExpiredStaysExpired => "an expired outcome stays expired",
            Self::StoredIsStored => "told stored, it was stored",
            Self::StaleChangesNothing => "a stale owner changes nothing",
            Self::RefusalChangesNothing => "a refusal changes nothing",
            Self::AcquiredIsReserved => "acquired means reserved",
            Self::RepeatKnowsItself => "a repeat knows itself",
            Self::ReplacedIsTold => "a replaced owner is told",
            Self::LapsedIsTold => "an overlapped owner is told lapsed",
            Self::LivesForALease => "a reservation lives for a lease",
            Self::EndedHoldsNothing => "an ended attempt holds nothing",
            Self::CrashIsNotForgotten => "a crash is remembered until decided",
            Self::NoCrashWithoutBody => "no crash without a body",
            Self::TwoMissesAreAbsorbed => "two misses are absorbed",
            Self::LiveOwnerCompletes => "a live owner completes",
            Self::WaitersEnd => "waiters end",
            Self::KeyBecomesFree => "the key becomes free",
        }
    }
}

/// The properties that no history shows to be broken, and why.
pub const UNSEEN: [(Property, &str); 1] = [(
    Property::AcquiredIsReserved,
    "it is about one reply of the store; this runtime sends no begin to which that reply could still \
     matter, so nothing that a caller sees depends on it",
)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::check::Rule;

    #[test]
    fn a_history_is_checked_for_every_property_that_it_can_show() {
        for property in Property::ALL {
            let seen = Rule::ALL.iter().any(|rule| rule.properties().contains(&property));
            let unseen = UNSEEN.iter().any(|(unseen, _)| *unseen == property);
            assert!(seen != unseen, "{}: checked {seen}, unseen {unseen}", property.name());
        }
    }
}
