//! What happens to calls, told to observers as it happens.

use std::fmt;
use std::time::Duration;

use crate::backend::BackendError;
use crate::error::{ErrorKind, KeyShown};
use crate::receipt::Verdict;
use crate::record_key::RecordKey;

/// Something that happened to one call or one lease.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event<'a> {
    /// The operation's name.
    pub operation: &'a str,
    /// The key as it may be shown.
    pub key: KeyText<'a>,
    /// What happened.
    pub kind: EventKind<'a>,
}

impl<'a> Event<'a> {
    pub(crate) fn new(key: &'a RecordKey, shown: KeyShown, kind: EventKind<'a>) -> Self {
        Self { operation: key.operation(), key: KeyText { key, shown }, kind }
    }
}

/// A key as it may be shown: a short hash, unless the builder says that keys may be logged. The
/// text is only made when it is displayed.
#[derive(Clone, Copy)]
pub struct KeyText<'a> {
    key: &'a RecordKey,
    shown: KeyShown,
}

impl fmt::Display for KeyText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown.text(self.key))
    }
}

impl fmt::Debug for KeyText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// In which part of an attempt its lease was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Before the action was first polled; the call begins anew.
    Starting,
    /// While it ran.
    Running,
    /// When its outcome was to be stored.
    Completing,
}

/// How a worker has moved a run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunMove {
    /// It has a result.
    Succeeded,
    /// It has ended without one.
    Failed,
    /// Another run had its receipt's place.
    Skipped,
    /// It waits to be tried again.
    GivenBack,
}

/// What came of the second begin of a dispatch that found a run which is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NextRun {
    /// This call started a new run.
    Started,
    /// Another call was faster: this one has its receipt.
    Found,
    /// The call was refused; its error says why.
    Refused,
}

/// What happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EventKind<'a> {
    /// The action ran and its outcome was settled: stored, or the key freed after an error.
    #[non_exhaustive]
    Executed {
        /// Whether the outcome is stored.
        stored: bool,
        /// Whether it is the operation's own error.
        error: bool,
        /// From the call's arrival until its outcome was settled.
        took: Duration,
    },
    /// The call was answered from a completed record.
    Replayed,
    /// The call waited for another one's outcome and was answered from it.
    #[non_exhaustive]
    WaitedThenReplayed {
        /// From the call's arrival.
        waited: Duration,
    },
    /// The call's wait ended without an outcome.
    #[non_exhaustive]
    WaitEnded {
        /// From the call's arrival.
        waited: Duration,
    },
    /// A duplicate was refused at once.
    Rejected,
    /// A call with other arguments under the same key was refused.
    Mismatch,
    /// A call failed at its store; nothing was run.
    #[non_exhaustive]
    Failed {
        /// The kind of the error the caller got.
        kind: ErrorKind,
        /// What the store said.
        error: &'a BackendError,
    },
    /// A lapsed reservation was taken over.
    #[non_exhaustive]
    TakenOver {
        /// The attempt that takes over: 2 for the first takeover.
        attempt: u32,
    },
    /// A call was refused because an earlier attempt vanished without an outcome.
    OutcomeUnknown,
    /// The reconcile expression found that the effect had happened.
    Reconciled,
    /// A lease was renewed.
    #[non_exhaustive]
    Renewed {
        /// How much later than planned the renewal was sent.
        late: Duration,
    },
    /// A renewal was sent more than a tenth of its interval late.
    #[non_exhaustive]
    RenewedLate {
        /// How much later than planned.
        late: Duration,
    },
    /// A renewal was not answered, or with an error; the next interval tries again.
    #[non_exhaustive]
    RenewalFailed {
        /// What the store said.
        error: &'a BackendError,
    },
    /// The lease deadline passed without a confirmed renewal; nobody may have noticed.
    LeaseAtRisk,
    /// The store had no record of a lease; the key is reserved again while the action runs.
    LeaseGone,
    /// Another owner's record stands where this lease was.
    #[non_exhaustive]
    LeaseLost {
        /// In which part of the attempt.
        phase: Phase,
    },
    /// The store did not take the outcome in time; the caller has its value, the keeper goes on.
    CompletionDeferred,
    /// A deferred outcome was stored after all.
    DeferredStored,
    /// Another owner's record stands; the outcome was not stored.
    #[non_exhaustive]
    CompletionRefused {
        /// Whether the caller had its value already.
        deferred: bool,
    },
    /// The time in which an outcome may be stored ended before the store took it.
    WindowClosed,
    /// The outcome is stored without its value.
    #[non_exhaustive]
    NotKept {
        /// Why.
        reason: &'a str,
    },
    /// A key could not be freed; it lapses with its lease.
    #[non_exhaustive]
    ReleaseFailed {
        /// What the store said.
        error: &'a BackendError,
    },
    /// A dispatch was given the receipt of an earlier one.
    #[non_exhaustive]
    ReceiptReplayed {
        /// Why: what its run was found to be, or what a call that would have started another was told.
        verdict: Verdict,
    },
    /// A dispatch was given the receipt of a run whose worker has not been heard of, and may come back.
    ReceiptHeld,
    /// A dispatch found the receipt of a run that is over, and began once more.
    #[non_exhaustive]
    ReceiptReclaimed {
        /// What the run was found to be.
        verdict: Verdict,
        /// Whether it was this call that removed the receipt.
        discarded: bool,
        /// What the second begin led to.
        next: NextRun,
    },
    /// A worker has moved a run on, and the store has taken it; the operation is the one that was
    /// dispatched. (What the keeper stores later is told as [`DeferredStored`](Self::DeferredStored).)
    #[non_exhaustive]
    RunMoved {
        /// How.
        state: RunMove,
    },
    /// The caller's future was dropped while the action ran.
    AbandonedByDrop,
    /// The action panicked.
    Panicked,
    /// The action ran past its deadline and was dropped.
    DeadlineExceeded,
    /// One poll of the action held its thread for long.
    #[non_exhaustive]
    BlockedPoll {
        /// For how long.
        held: Duration,
    },
    /// The store could not be reached and the action ran without protection.
    #[non_exhaustive]
    RunUnprotected {
        /// What the store said.
        error: &'a BackendError,
    },
}

impl EventKind<'_> {
    /// The event's name, as it stands in logs and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Executed { .. } => "executed",
            Self::Replayed => "replayed",
            Self::WaitedThenReplayed { .. } => "waited_then_replayed",
            Self::WaitEnded { .. } => "wait_ended",
            Self::Rejected => "rejected",
            Self::Mismatch => "mismatch",
            Self::Failed { .. } => "failed",
            Self::TakenOver { .. } => "taken_over",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Reconciled => "reconciled",
            Self::Renewed { .. } => "renewed",
            Self::RenewedLate { .. } => "renewed_late",
            Self::RenewalFailed { .. } => "renewal_failed",
            Self::LeaseAtRisk => "lease_at_risk",
            Self::LeaseGone => "lease_gone",
            Self::LeaseLost { .. } => "lease_lost",
            Self::CompletionDeferred => "completion_deferred",
            Self::DeferredStored => "deferred_stored",
            Self::CompletionRefused { .. } => "completion_refused",
            Self::WindowClosed => "window_closed",
            Self::NotKept { .. } => "not_kept",
            Self::ReleaseFailed { .. } => "release_failed",
            Self::ReceiptReplayed { .. } => "receipt_replayed",
            Self::ReceiptHeld => "receipt_held",
            Self::ReceiptReclaimed { .. } => "receipt_reclaimed",
            Self::RunMoved { .. } => "run_moved",
            Self::AbandonedByDrop => "abandoned_by_drop",
            Self::Panicked => "panicked",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::BlockedPoll { .. } => "blocked_poll",
            Self::RunUnprotected { .. } => "run_unprotected",
        }
    }
}

/// Hears of every event.
///
/// Two come with every `Idem` by themselves. One writes every event to `tracing`, target `idem`, with
/// the fields `event`, `operation` and `key`: what an operator has to look into as a warning (an error
/// where an outcome may be in doubt), ordinary life at debug and trace level. The other, under the
/// feature `metrics`, counts them through the `metrics` facade; no label is a key:
///
/// | name | kind | unit | labels |
/// | --- | --- | --- | --- |
/// | `idem_events_total` | counter | events | `operation`, `event` (see [`EventKind::name`]) |
/// | `idem_executed_seconds` | histogram | seconds | `operation` |
/// | `idem_waited_seconds` | histogram | seconds | `operation` |
/// | `idem_renewal_lateness_seconds` | histogram | seconds | none |
/// | `idem_blocked_poll_seconds` | histogram | seconds | `operation` |
///
/// It is called where the event happens, on the caller's thread or the keeper's: it should be quick
/// and must not block. A panic is caught and logged; the other observers still hear of the event.
pub trait Observer: Send + Sync + 'static {
    /// Takes note of an event.
    fn observe(&self, event: &Event<'_>);
}
