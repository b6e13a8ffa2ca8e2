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
