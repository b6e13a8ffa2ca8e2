//! The store's half of the protocol: each operation as one step on what stands under a key.
//!
//! Every function takes what the store found (already without what has expired) and answers with
//! the reply and the one [`Change`] to apply. All of them may be repeated with the same owner with
//! no further effect: that is what makes a lost reply harmless.

use std::time::Duration;

use crate::record::{Head, Owner, Record, Standing, State, millis};

/// What a step does to the record under its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    Keep,
    /// This record stands there now, for `life`.
    Put {
        /// The record.
        record: Record,
        /// How long it lives.
        life: Duration,
    },
    /// The reservation's retention and life are set anew.
    Extend {
        /// The record's new retention in milliseconds.
        retention_ms: u64,
        /// What is left of its life from now on.
        life: Duration,
    },
    /// The reservation keeps this number from now on.
    Fence(u64),
    /// Nothing stands there any more.
    Remove,
}

/// The answer to `begin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeginReply {
    /// The key is reserved for this owner.
    Acquired,
    /// This stands there.
    Found(Standing),
}

/// The answer to `renew`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewReply {
    /// The lease is whole again.
    Renewed,
    /// Nothing stands there: nobody holds the key now, somebody may have in between.
    Gone,
    /// Another owner's reservation stands there.
    Taken,
    /// An outcome stands there.
    Completed,
}

/// The answer to `complete`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompleteReply {
    /// The outcome is stored.
    Stored,
    /// It was stored by this owner before.
    AlreadyStored,
    /// Nothing stands there, and nothing was stored.
    Gone,
    /// Another owner's record stands there.
    Refused(Standing),
}

/// The answer to `release`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseReply {
    /// The key is free.
    Released,
    /// No reservation of this owner stands there; nothing was changed.
    NotMine,
}

/// The answer to `replace`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplaceReply {
    /// The new record stands there.
    Replaced,
    /// The condition did not hold; this stands there, if anything.
    Stands(Option<Standing>),
}

/// The answer to `discard`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscardReply {
    /// The outcome is gone.
    Discarded,
    /// No outcome of this owner stands there; nothing was changed.
    NotThere,
}

/// The answer to `fence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceReply {
    /// The number of this owner's reservation.
    Fence(u64),
    /// No reservation of this owner stands there.
    Refused,
}

/// What stands under a key and what is left of its life.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The record.
    pub standing: &'a Standing,
    /// What is left of its life.
    pub left: Duration,
}

impl Entry<'_> {
    fn is_reservation_of(&self, owner: Owner) -> bool {
        self.standing.record().is_some_and(|record| record.is_reservation_of(owner))
    }
}

/// Whether a record with `left` of its life has lapsed: it is a reservation, and no more is left
/// than it is remembered for. The retention is the record's own, never a caller's setting.
#[must_use]
pub fn has_lapsed(record: &Record, left: Duration) -> bool {
    record.state == State::Reserved && left <= record.retention()
}

/// The life of a reservation: its lease, and how long it is remembered after that.
#[must_use]
pub fn reservation_life(lease: Duration, retention: Duration) -> Duration {
    lease.saturating_add(retention)
}

/// Reserves the key where nothing stands. A *reservation* of the same owner is its own; a completed
/// record is a completed record, whoever wrote it.
#[must_use]
pub fn begin(
    found: Option<Entry<'_>>,
    reservation: &Record,
    lease: Duration,
) -> (BeginReply, Change) {
    match found {
        None => {
            let life = reservation_life(lease, reservation.retention());
            (BeginReply::Acquired, Change::Put { record: reservation.clone(), life })
        }
        Some(entry) if entry.is_reservation_of(reservation.owner) => {
            (BeginReply::Acquired, Change::Keep)
        }
        Some(entry) => (BeginReply::Found(entry.standing.clone()), Change::Keep),
    }
}

/// Sets the life of the owner's reservation to lease + retention. Never creates.
#[must_use]
pub fn renew(
    found: Option<Entry<'_>>,
    owner: Owner,
    lease: Duration,
    retention: Duration,
) -> (RenewReply, Change) {
    let Some(entry) = found else { return (RenewReply::Gone, Change::Keep) };
    if entry.is_reservation_of(owner) {
        let life = reservation_life(lease, retention);
        return (RenewReply::Renewed, Change::Extend { retention_ms: millis(retention), life });
    }
    match entry.standing.record().map(|record| record.state) {
        Some(State::Completed) => (RenewReply::Completed, Change::Keep),
        Some(State::Reserved) | None => (RenewReply::Taken, Change::Keep),
    }
}

/// Stores the outcome over the owner's reservation, and only there.
#[must_use]
pub fn complete(
    found: Option<Entry<'_>>,
    outcome: &Record,
    ttl: Duration,
) -> (CompleteReply, Change) {
    let Some(entry) = found else { return (CompleteReply::Gone, Change::Keep) };
    if entry.is_reservation_of(outcome.owner) {
        return (CompleteReply::Stored, Change::Put { record: outcome.clone(), life: ttl });
    }
    if entry.standing.matches(Head { state: State::Completed, owner: outcome.owner }) {
        return (CompleteReply::AlreadyStored, Change::Keep);
    }
    (CompleteReply::Refused(entry.standing.clone()), Change::Keep)
}

/// Frees the owner's reservation. Never deletes what another owns, nor a completed record.
#[must_use]
pub fn release(found: Option<Entry<'_>>, owner: Owner) -> (ReleaseReply, Change) {
    match found {
        Some(entry) if entry.is_reservation_of(owner) => (ReleaseReply::Released, Change::Remove),
        _ => (ReleaseReply::NotMine, Change::Keep),
    }
}

/// Puts `record` in the place of the one that was `seen`, for `life`.
///
/// With `if_lapsed`, only over a reservation that has lapsed and has at most that much of its life
/// left.
#[must_use]
pub fn replace(
    found: Option<Entry<'_>>,
    seen: Head,
    record: &Record,
    life: Duration,
    if_lapsed: Option<Duration>,
) -> (ReplaceReply, Change) {
    let Some(entry) = found else { return (ReplaceReply::Stands(None), Change::Keep) };
    // The repeat of a replace whose reply was lost.
    if record.head() != seen && entry.standing.matches(record.head()) {
        return (ReplaceReply::Replaced, Change::Keep);
    }
    let condition = entry.standing.record().is_some_and(|stands| {
        stands.head() == seen
            && if_lapsed.is_none_or(|most| has_lapsed(stands, entry.left) && entry.left <= most)
    });
    if condition {
        (ReplaceReply::Replaced, Change::Put { record: record.clone(), life })
    } else {
        (ReplaceReply::Stands(Some(entry.standing.clone())), Change::Keep)
    }
}

/// Removes a completed record of this owner.
#[must_use]
pub fn discard(found: Option<Entry<'_>>, owner: Owner) -> (DiscardReply, Change) {
    match found {
        Some(entry) if entry.standing.matches(Head { state: State::Completed, owner }) => {
            (DiscardReply::Discarded, Change::Remove)
        }
        _ => (DiscardReply::NotThere, Change::Keep),
    }
}

/// The number kept in the owner's reservation; `new` where none was asked for yet. Never 0.
#[must_use]
pub fn fence(found: Option<Entry<'_>>, owner: Owner, new: u64) -> (FenceReply, Change) {
    match found.and_then(|entry| entry.standing.record()) {
        Some(record) if record.is_reservation_of(owner) => match record.fence {
            0 => (FenceReply::Fence(new.max(1)), Change::Fence(new.max(1))),
            kept => (FenceReply::Fence(kept), Change::Keep),
        },
        _ => (FenceReply::Refused, Change::Keep),
    }
}
