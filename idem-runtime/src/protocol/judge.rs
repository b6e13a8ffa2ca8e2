//! The checks on a found record, in their order: version, fingerprint, state.

use std::time::Duration;

use super::transition::has_lapsed;
use crate::fingerprint::Fingerprint;
use crate::record::{Found, Record, Standing, State};

/// What a call may make of the record it found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// Other arguments under the same key: refused, whatever the state.
    Mismatch,
    /// Somebody's work in progress; it lapses after this time unless it is renewed. A record that
    /// cannot be read counts as this for all its life.
    InProgress {
        /// What is left until it lapses.
        lapses_in: Duration,
    },
    /// A reservation whose owner vanished without an outcome, remembered.
    Lapsed(&'a Record),
    /// An outcome.
    Completed(&'a Record),
}

/// Judges what was found under a key for a call with this fingerprint.
#[must_use]
pub fn judge(found: &Found, fingerprint: Fingerprint) -> Verdict<'_> {
    let Standing::Record(record) = &found.standing else {
        return Verdict::InProgress { lapses_in: found.left };
    };
    if differ(record, fingerprint) {
        return Verdict::Mismatch;
    }
    match record.state {
        State::Completed => Verdict::Completed(record),
        State::Reserved if has_lapsed(record, found.left) => Verdict::Lapsed(record),
        State::Reserved => {
            Verdict::InProgress { lapses_in: found.left.saturating_sub(record.retention()) }
        }
    }
}

/// Whether a record is one of other arguments than those of a call with this fingerprint. What is
/// damaged does not say.
#[must_use]
pub fn differ(record: &Record, fingerprint: Fingerprint) -> bool {
    !agree(record.fingerprint, fingerprint) && !record.is_damaged()
}

/// Whether two calls of a key have the same arguments, as far as both say.
///
/// One that has no fingerprint agrees with all: during a deploy that adds or removes `fingerprint`,
/// both kinds of record meet.
#[must_use]
pub fn agree(one: Fingerprint, other: Fingerprint) -> bool {
    one.is_none() || other.is_none() || one == other
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Owner, Payload};

    const MINE: Fingerprint = Fingerprint::from_bytes([1; 16]);
    const OTHER: Fingerprint = Fingerprint::from_bytes([2; 16]);
    const SECOND: Duration = Duration::from_secs(1);

    /// A reservation that is remembered for ten seconds.
    fn reservation(fingerprint: Fingerprint) -> Record {
        Record::reservation(Owner::from_bytes([3; 16]), fingerprint, 0).remembered_for(SECOND * 10)
    }

    fn outcome(fingerprint: Fingerprint) -> Record {
        let payload = Payload::of(|_| Ok::<(), ()>(())).unwrap();
        Record { state: State::Completed, payload, ..reservation(fingerprint) }
    }

    fn found(record: Record, left: Duration) -> Found {
        Found { standing: Standing::Record(record), left }
    }

    #[test]
    fn what_cannot_be_read_is_in_progress_for_all_its_life() {
        let found = Found { standing: Standing::Foreign([9, 9].into()), left: SECOND };
        assert_eq!(judge(&found, MINE), Verdict::InProgress { lapses_in: SECOND });
    }

    #[test]
    fn other_arguments_are_a_mismatch_whatever_the_state() {
        let completed = outcome(OTHER);
        for (record, left) in
            [(completed, SECOND), (reservation(OTHER), SECOND), (reservation(OTHER), SECOND * 11)]
        {
            assert_eq!(judge(&found(record, left), MINE), Verdict::Mismatch);
        }
    }

    #[test]
    fn a_reservation_lapses_when_only_its_retention_is_left() {
        let live = found(reservation(MINE), SECOND * 11);
        assert_eq!(judge(&live, MINE), Verdict::InProgress { lapses_in: SECOND });
        let lapsed = found(reservation(MINE), SECOND * 10);
        assert_eq!(judge(&lapsed, MINE), Verdict::Lapsed(&reservation(MINE)));
    }

    #[test]
    fn an_outcome_does_not_lapse() {
        let record = outcome(MINE);
        assert_eq!(judge(&found(record.clone(), SECOND), MINE), Verdict::Completed(&record));
    }

    #[test]
    fn a_damaged_outcome_is_one_for_all_arguments() {
        let record = Record { payload: Payload::EMPTY, ..outcome(OTHER) };
        assert_eq!(judge(&found(record.clone(), SECOND), MINE), Verdict::Completed(&record));
    }

    #[test]
    fn who_has_no_fingerprint_agrees_with_all() {
        assert!(agree(MINE, MINE) && !agree(MINE, OTHER));
        assert!(agree(Fingerprint::NONE, OTHER) && agree(MINE, Fingerprint::NONE));
    }
}
