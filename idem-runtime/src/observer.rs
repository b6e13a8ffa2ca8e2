//! The observers that come with the runtime, and the list of those an `Idem` has.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::KeyShown;
use crate::event::{Event, EventKind, Observer};
use crate::record_key::RecordKey;

#[cfg(feature = "metrics")]
mod metrics;
mod trace;

/// Everybody who hears of this `Idem`'s events.
pub(crate) struct Observers {
    list: Vec<Box<dyn Observer>>,
    shown: KeyShown,
}

impl Observers {
    pub(crate) fn new(mut list: Vec<Box<dyn Observer>>, shown: KeyShown) -> Self {
        #[cfg(feature = "metrics")]
        list.insert(0, Box::new(metrics::MetricsObserver));
        list.insert(0, Box::new(trace::TracingObserver));
        Self { list, shown }
    }

    pub(crate) fn tell(&self, key: &RecordKey, kind: EventKind<'_>) {
        let event = Event::new(key, self.shown, kind);
        for observer in &self.list {
            // An observer that panics must not end the keeper's thread, nor a drop while a panic is
            // under way: that would abort the process.
            let told = catch_unwind(AssertUnwindSafe(|| observer.observe(&event)));
            if told.is_err() {
                // The subscriber itself may be what panics.
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    tracing::error!(target: "idem", event = event.kind.name(), "an observer panicked");
                }));
            }
        }
    }

    pub(crate) const fn shown(&self) -> KeyShown {
        self.shown
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observers").field("count", &self.list.len()).finish()
    }
}
