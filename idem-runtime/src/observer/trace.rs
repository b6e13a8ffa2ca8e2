//! Events as `tracing` events, target `idem`.

use std::time::Duration;

use crate::backend::BackendError;
use crate::event::{Event, EventKind, Observer, RunMove};

/// Writes every event to `tracing`, target `idem`, with the fields `event`, `operation` and `key`.
///
/// What an operator has to look into is a warning (an error where an outcome may be in doubt);
/// ordinary life is at debug and trace level. Part of every `Idem`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TracingObserver;

macro_rules! emit {
    ($level:ident, $event:expr, $text:literal $(, $($field:tt)+)?) => {
        tracing::$level!(
            target: "idem",
            event = $event.kind.name(),
            operation = $event.operation,
            key = %$event.key,
            $($($field)+,)?
            $text
        )
    };
}

impl Observer for TracingObserver {
    fn observe(&self, event: &Event<'_>) {
        match &event.kind {
            EventKind::Executed { .. }
            | EventKind::Replayed
            | EventKind::WaitedThenReplayed { .. }
            | EventKind::WaitEnded { .. }
            | EventKind::Rejected
            | EventKind::Mismatch
            | EventKind::Failed { .. }
            | EventKind::OutcomeUnknown
            | EventKind::RunUnprotected { .. } => answered(event),
            EventKind::ReceiptReplayed { .. }
            | EventKind::ReceiptHeld
            | EventKind::ReceiptReclaimed { .. }
            | EventKind::RunMoved { .. } => dispatched(event),
            EventKind::NotKept { .. }
            | EventKind::AbandonedByDrop
            | EventKind::Panicked
            | EventKind::DeadlineExceeded
            | EventKind::BlockedPoll { .. }
            | EventKind::Reconciled => ran(event),
            _ => kept(event),
        }
    }
}

/// How a call was answered.
fn answered(event: &Event<'_>) {
    match &event.kind {
        EventKind::Executed { stored, error, took } => {
            emit!(debug, event, "ran", stored = stored, error = error, took_ms = ms(*took));
        }
        EventKind::Replayed => emit!(debug, event, "answered from the stored outcome"),
        EventKind::WaitedThenReplayed { waited } => {
            emit!(debug, event, "waited, then answered from the outcome", waited_ms = ms(*waited));
        }
        EventKind::WaitEnded { waited } => {
            emit!(info, event, "the wait ended without an outcome", waited_ms = ms(*waited));
        }
        EventKind::Rejected => emit!(debug, event, "refused: in progress"),
        EventKind::Mismatch => emit!(warn, event, "refused: the key was used with other arguments"),
        EventKind::Failed { kind, error } => {
            emit!(warn, event, "failed at the store", kind = ?kind, error = %error);
        }
        EventKind::OutcomeUnknown => {
            emit!(error, event, "refused: an earlier attempt vanished without an outcome");
        }
        EventKind::RunUnprotected { error } => {
            emit!(error, event, "the store is out of reach: ran without protection", error = %error);
        }
        _ => {}
    }
}

/// What became of receipts and their runs.
fn dispatched(event: &Event<'_>) {
    match &event.kind {
        EventKind::ReceiptReplayed { verdict } => {
            emit!(debug, event, "gave an earlier receipt", verdict = verdict.name());
        }
        EventKind::ReceiptHeld => {
            emit!(info, event, "gave the receipt of a run that has not been heard of");
        }
        EventKind::ReceiptReclaimed { verdict, discarded, next } => emit!(
            info,
            event,
            "the run of an earlier receipt is over",
            verdict = verdict.name(),
            discarded = discarded,
            next = ?next
        ),
        EventKind::RunMoved { state: RunMove::Failed } => emit!(warn, event, "a run failed"),
        EventKind::RunMoved { state } => emit!(debug, event, "a run moved on", state = ?state),
        _ => {}
    }
}

/// What the action did.
fn ran(event: &Event<'_>) {
    match &event.kind {
        EventKind::NotKept { reason } => {
            emit!(warn, event, "stored as done, without its value", reason = reason);
        }
        EventKind::AbandonedByDrop => {
            emit!(warn, event, "the caller dropped the call while it ran");
        }
        EventKind::Panicked => emit!(error, event, "the action panicked"),
        EventKind::DeadlineExceeded => emit!(warn, event, "the action ran past its deadline"),
        EventKind::BlockedPoll { held } => {
            emit!(warn, event, "one poll of the action held its thread", held_ms = ms(*held));
        }
        EventKind::Reconciled => emit!(info, event, "reconciled: the effect had happened"),
        _ => {}
    }
}

/// What became of leases and of outcomes at the store.
fn kept(event: &Event<'_>) {
    match &event.kind {
        EventKind::TakenOver { attempt } => {
            emit!(warn, event, "took over from an owner that vanished", attempt = attempt);
        }
        EventKind::Renewed { late } => emit!(trace, event, "renewed", late_ms = ms(*late)),
        EventKind::RenewedLate { late } => emit!(warn, event, "renewed late", late_ms = ms(*late)),
        EventKind::RenewalFailed { error } => failed(event, "a renewal failed", error),
        EventKind::LeaseAtRisk => {
            emit!(warn, event, "the lease deadline passed without a confirmed renewal");
        }
        EventKind::LeaseGone => emit!(warn, event, "the store had no record of the lease"),
        EventKind::LeaseLost { phase } => {
            emit!(error, event, "another owner took the key", phase = ?phase);
        }
        EventKind::CompletionDeferred => {
            emit!(
                warn,
                event,
                "the store has not taken the outcome yet: the keeper goes on trying"
            );
        }
        EventKind::DeferredStored => emit!(info, event, "the deferred outcome is stored"),
        EventKind::CompletionRefused { deferred } => {
            emit!(
                error,
                event,
                "another owner's record stands: the outcome was not stored",
                deferred = deferred
            );
        }
        EventKind::WindowClosed => emit!(error, event, "too late to store the outcome"),
        EventKind::ReleaseFailed { error } => failed(event, "a key could not be freed", error),
        _ => {}
    }
}

fn failed(event: &Event<'_>, what: &'static str, error: &BackendError) {
    emit!(warn, event, "at the store", what = what, error = %error);
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
