//! The clocks of one process.
//!
//! Time is tokio's: the system's monotonic clock, and under a paused test runtime that runtime's.

use std::time::{Duration, SystemTime};

use crate::protocol::Moment;
use crate::sync::time::Instant;

/// Gives the protocol's moments from tokio's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: Instant::now() }
    }

    pub(crate) fn now(self) -> Moment {
        Moment::ORIGIN.after(self.origin.elapsed())
    }

    /// The instant to sleep until; a moment too far away to be one is a year from now.
    pub(crate) fn instant(self, moment: Moment) -> Instant {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
        let away = moment.since(self.now()).min(YEAR);
        Instant::now() + away
    }
}

/// Whether tokio's clock, as seen from here, runs apart from the system's: it is paused, or was.
pub(crate) fn runtime_clock_is_its_own() -> bool {
    let before = std::time::Instant::now();
    let tokio = Instant::now().into_std();
    tokio < before || tokio > std::time::Instant::now()
}

/// Milliseconds since the Unix epoch by the wall clock; information only.
pub(crate) fn wall_ms() -> u64 {
    since_epoch().as_millis().try_into().unwrap_or(u64::MAX)
}

pub(crate) fn wall_us() -> u64 {
    since_epoch().as_micros().try_into().unwrap_or(u64::MAX)
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
