//! The record: what a backend stores under one operation and key, and its byte layout.
//!
//! The head has a fixed size, so that a script inside a store can compare version, state and owner
//! as one prefix. All numbers are big-endian.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::fingerprint::Fingerprint;

mod layout;
mod owner;
mod payload;
pub mod seal;

pub use owner::Owner;
pub use payload::{Damaged, Payload};

/// The layout's version; a record of another version reads as *in progress*.
pub const VERSION: u8 = 1;

/// Whether a record says "somebody is running this" or "this is the outcome".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// A reservation: an owner is running this now.
    Reserved,
    /// An outcome, kept for the result's ttl.
    Completed,
}

/// What stands in a completed record beside its value.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// The outcome is the operation's own error.
    pub const ERROR: Self = Self(1);
    /// The operation is done, its value could not be kept.
    pub const NOT_KEPT: Self = Self(2);

    /// Whether every flag of `other` is set here.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.contains(Self::ERROR).then_some("error"))
            .entries(self.contains(Self::NOT_KEPT).then_some("not kept"))
            .finish()
    }
}

/// One record: a reservation or a completed outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Reserved or completed.
    pub state: State,
    /// Who reserved the key, or whose outcome this is.
    pub owner: Owner,
    /// What the arguments must agree with; [`Fingerprint::NONE`] where none was asked for.
    pub fingerprint: Fingerprint,
    /// How long a lapsed reservation is remembered, in milliseconds; 0 under `on_crash = rerun`.
    pub retention_ms: u64,
    /// The number given by the store's `fence`; 0 until asked for.
    pub fence: u64,
    /// When the key was first reserved, in milliseconds since the Unix epoch by the owner's wall
    /// clock. Information only: no decision rests on it.
    pub first_reserved_at_ms: u64,
    /// 1, 2, …: counts takeovers, where the store can know them.
    pub attempt: u32,
    /// What kind of outcome this is.
    pub flags: Flags,
    /// The [`Codec::ID`](crate::codec::Codec::ID) of the payload.
    pub codec: u8,
    /// The attribute's `version`; 0 in a reservation.
    pub value_version: u32,
    /// The encoded outcome; empty in a reservation, but for what that of a run carries along.
    pub payload: Payload,
}

impl Record {
    /// A first reservation by `owner`.
    #[must_use]
    pub fn reservation(owner: Owner, fingerprint: Fingerprint, first_reserved_at_ms: u64) -> Self {
        Self {
            state: State::Reserved,
            owner,
            fingerprint,
            retention_ms: 0,
            fence: 0,
            first_reserved_at_ms,
            attempt: 1,
            flags: Flags::default(),
            codec: 0,
            value_version: 0,
            payload: Payload::EMPTY,
        }
    }

    /// This reservation with another retention.
    #[must_use]
    pub fn remembered_for(mut self, retention: Duration) -> Self {
        self.retention_ms = millis(retention);
        self
    }

    /// How long this reservation is remembered once it has lapsed.
    #[must_use]
    pub const fn retention(&self) -> Duration {
        Duration::from_millis(self.retention_ms)
    }

    /// The part of the record that says who stands there.
    #[must_use]
    pub const fn head(&self) -> Head {
        Head { state: self.state, owner: self.owner }
    }

    /// Whether this is an outcome whose bytes were changed: of the rest of it, too, nothing can be
    /// believed.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.state == State::Completed && self.payload.value().is_err()
    }

    /// Whether this is a reservation by `owner`.
    #[must_use]
    pub fn is_reservation_of(&self, owner: Owner) -> bool {
        self.state == State::Reserved && self.owner == owner
    }
}

/// Version, state and owner of a record: enough to say "this is still the one I saw".
///
/// The version is the one this code writes: a record of another version matches no head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Head {
    /// Reserved or completed.
    pub state: State,
    /// Whose record it is.
    pub owner: Owner,
}

/// What stands under a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// A record this version of idem can read.
    Record(Record),
    /// Bytes it cannot read: another version's, or damaged in the head. They count as somebody's
    /// work in progress: never as absent, never as an outcome.
    Foreign(Arc<[u8]>),
}

impl Standing {
    /// The record, unless it cannot be read.
    #[must_use]
    pub const fn record(&self) -> Option<&Record> {
        match self {
            Self::Record(record) => Some(record),
            Self::Foreign(_) => None,
        }
    }

    /// Whether what stands here has the version, state and owner of `head`.
    #[must_use]
    pub fn matches(&self, head: Head) -> bool {
        self.record().is_some_and(|record| record.head() == head)
    }
}

/// What a backend found under a key, and how long it will stay there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What stands there.
    pub standing: Standing,
    /// What is left of its life, by the store's clock.
    pub left: Duration,
}

/// A duration in whole milliseconds, as the layout keeps it.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
