//! How long a message rests after a delivery that failed.

use std::time::Duration;

/// How long a message rests after its handler failed, before it is tried again: at least as long as
/// `retry_on_idle`, since until then the server would not tell whether anybody has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    pub(super) first: Duration,
    pub(super) most: Duration,
}

impl Backoff {
    /// The same rest after each delivery.
    #[must_use]
    pub const fn fixed(rest: Duration) -> Self {
        Self { first: rest, most: rest }
    }

    /// `first` after the first delivery, twice that after the second, and so on up to `most`.
    #[must_use]
    pub const fn exponential(first: Duration, most: Duration) -> Self {
        Self { first, most }
    }

    /// The rest after so many deliveries.
    pub(super) fn after(self, deliveries: u64) -> Duration {
        if deliveries == 0 {
            return Duration::ZERO;
        }
        let doublings = u32::try_from(deliveries.saturating_sub(1)).unwrap_or(u32::MAX).min(31);
        self.first.saturating_mul(1 << doublings).min(self.most)
    }
}

/// None: a message that failed is tried again when it has been idle for `retry_on_idle`.
impl Default for Backoff {
    fn default() -> Self {
        Self::fixed(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn it_doubles_up_to_its_most() {
        let backoff = Backoff::exponential(SECOND, 5 * SECOND);
        let rests: Vec<_> = (0..6).map(|deliveries| backoff.after(deliveries).as_secs()).collect();
        assert_eq!(rests, [0, 1, 2, 4, 5, 5]);
        assert_eq!(backoff.after(u64::MAX), 5 * SECOND);
    }

    #[test]
    fn it_stays_as_it_is_where_it_is_fixed() {
        assert_eq!(Backoff::fixed(SECOND).after(1), SECOND);
        assert_eq!(Backoff::fixed(SECOND).after(9), SECOND);
        assert_eq!(Backoff::default().after(9), Duration::ZERO);
    }
}
