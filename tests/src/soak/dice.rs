//! Numbers that look random and repeat with their seed.

use std::ops::Range;
use std::time::Duration;

/// A stream of numbers, the same for the same seed (splitmix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The stream of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream of its own for each number; which one does not depend on what was thrown before.
    #[must_use]
    pub fn of(seed: u64, which: &[u64]) -> Self {
        let fold =
            |seed, which: &u64| Self(seed ^ which.wrapping_mul(0xff51_afd7_ed55_8ccd)).next();
        Self(which.iter().fold(Self(seed).next(), fold))
    }

    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// So many milliseconds.
    pub fn ms(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(range.start + self.below(range.end - range.start))
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_its_streams_differ() {
        let throw = |mut dice: Dice| [(); 4].map(|()| dice.next());
        assert_eq!(throw(Dice::of(7, &[1, 2])), throw(Dice::of(7, &[1, 2])));
        assert_ne!(throw(Dice::of(7, &[1, 2])), throw(Dice::of(7, &[2, 1])));
        assert_ne!(throw(Dice::of(7, &[1])), throw(Dice::of(8, &[1])));
    }
}
