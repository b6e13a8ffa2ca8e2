//! When the keeper is to look at an attempt.

use crate::protocol::Moment;
use crate::sync::atomic::{AtomicU64, Ordering};

/// When the keeper is to look at an attempt: from `early` on, as it passes, and by `late`.
pub(crate) struct Due {
    early: AtomicU64,
    late: AtomicU64,
}

impl Due {
    pub(crate) fn never() -> Self {
        Self { early: AtomicU64::new(u64::MAX), late: AtomicU64::new(u64::MAX) }
    }

    pub(crate) fn set(&self, early: Moment, late: Moment) {
        self.early.store(early.as_nanos(), Ordering::Relaxed);
        // Sequentially consistent with the keeper's agenda: see there.
        self.late.store(late.as_nanos(), Ordering::SeqCst);
    }

    /// Whether the keeper is to look now. The two are not written at once: where only one has
    /// come, whoever writes them holds the attempt's lock, and the look waits for that.
    pub(crate) fn has_come(&self, now: Moment) -> bool {
        self.early.load(Ordering::Relaxed) <= now.as_nanos() || self.late() <= now
    }

    pub(crate) fn late(&self) -> Moment {
        Moment::from_nanos(self.late.load(Ordering::SeqCst))
    }
}
