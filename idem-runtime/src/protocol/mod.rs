//! The protocol, pure: what each operation does to a record, and what an owner may do when.
//!
//! Nothing here reads a clock or does I/O. A backend that cannot run this code itself (a script
//! inside a server, say) is checked against it by the conformance suite; a model checker drives it
//! directly. [`transition`] holds the store's half, [`tenure`] the owner's, [`judge`] the checks on
//! a record that was found.

pub mod judge;
pub mod tenure;
pub mod transition;

use std::time::Duration;

/// A point on one process's monotonic clock, in nanoseconds since an origin of that clock.
///
/// Plain data, so that a model can make one up; moments of two clocks do not compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The clock's origin.
    pub const ORIGIN: Self = Self(0);
    /// Later than every moment a clock gives.
    pub const NEVER: Self = Self(u64::MAX);

    /// The moment `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// This moment moved later by `by`; [`Moment::NEVER`] where that does not fit.
    #[must_use]
    pub fn after(self, by: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// This moment moved earlier by `by`; the origin where that does not fit.
    #[must_use]
    pub fn before(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The time from `earlier` to this moment; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}
