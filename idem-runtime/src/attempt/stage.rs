//! How an attempt began, where it stands, and why it is stopped.

use std::time::Duration;

use crate::protocol::Moment;
use crate::record::Record;

/// How the key was taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// Before the first command that took it was sent.
    pub(crate) sent: Moment,
    /// The record's attempt: 1, or one more than the attempt that was taken over.
    pub(crate) number: u32,
    pub(crate) first_reserved_at_ms: u64,
    /// The retention the record has in the store: more than zero from the start of a takeover.
    pub(crate) remembered: Duration,
    pub(crate) takeover: bool,
}

impl Taken {
    /// By a begin, first sent at `sent`.
    pub(crate) fn first(sent: Moment, reservation: &Record) -> Self {
        Self {
            sent,
            number: reservation.attempt,
            first_reserved_at_ms: reservation.first_reserved_at_ms,
            remembered: reservation.retention(),
            takeover: false,
        }
    }
}

/// Where an attempt stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The key is taken; nothing has been polled.
    Starting,
    /// The reconcile expression is being asked.
    Asking,
    /// The body runs.
    Running,
    /// The body is done: its outcome is being settled, by the call or by the keeper.
    Settling,
    /// Nothing more is done for this attempt.
    Over,
}

/// Why a body is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    LeaseLost,
    Deadline,
}

/// Whether a body may be polled for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Starting {
    /// It may, and from now on counts as running.
    Started,
    /// The attempt has to be renewed first.
    NotYet,
    /// The store said gone or taken before the body ran: this attempt is over.
    Forfeited,
}
