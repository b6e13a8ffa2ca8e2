//! What the keeper tells of the leases.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idem_runtime::{Event, EventKind, Observer};

/// The renewals since they were taken, and what went wrong so far.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    late_ms: Vec<f64>,
    wrong: Wrong,
}

/// What is not to happen.
#[derive(Clone, Copy, Default)]
pub(super) struct Wrong {
    /// Leases whose deadline passed unconfirmed, or that the store did not have any more.
    pub(super) lost: u64,
    /// Renewals that were not answered in time.
    pub(super) unanswered: u64,
}

impl Log {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// By how many milliseconds each renewal was late, in ascending order.
    pub(super) fn take(&self) -> Vec<f64> {
        let mut late = std::mem::take(&mut self.entries().late_ms);
        late.sort_by(f64::total_cmp);
        late
    }

    pub(super) fn wrong(&self) -> Wrong {
        self.entries().wrong
    }
}

impl Observer for Log {
    fn observe(&self, event: &Event<'_>) {
        let mut entries = self.entries();
        match &event.kind {
            EventKind::Renewed { late, .. } => entries.late_ms.push(late.as_secs_f64() * 1e3),
            EventKind::LeaseAtRisk | EventKind::LeaseGone | EventKind::LeaseLost { .. } => {
                entries.wrong.lost += 1;
            }
            EventKind::RenewalFailed { .. } => entries.wrong.unanswered += 1,
            _ => {}
        }
    }
}
