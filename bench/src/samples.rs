//! Values of one quantity, one a round.

/// At least one value, in ascending order.
#[derive(Debug, Clone)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// One value that is the same in every round, as a count is.
    pub(crate) fn exact(value: f64) -> Self {
        Self(vec![value])
    }

    /// # Panics
    /// Without a value: there is no median of nothing.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        assert!(!values.is_empty(), "a figure needs at least one round");
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    pub(crate) fn min(&self) -> f64 {
        self.0[0]
    }

    /// The value in the middle; of an even number of values the mean of the two there.
    pub(crate) fn median(&self) -> f64 {
        let (low, high) = (self.0[(self.0.len() - 1) / 2], self.0[self.0.len() / 2]);
        f64::midpoint(low, high)
    }

    pub(crate) fn max(&self) -> f64 {
        self.0[self.0.len() - 1]
    }
}

/// The value that so many per cent of the sorted values do not exceed.
///
/// # Panics
/// Without a value.
pub(crate) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1]
}

#[cfg(test)]
mod tests {
    use super::{Samples, percentile};

    #[test]
    fn a_percentile_is_not_exceeded_by_so_many_values() {
        let sorted: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(percentile(&sorted, 50), 100.0);
        assert_eq!(percentile(&sorted, 99), 198.0);
        assert_eq!(percentile(&sorted, 100), 200.0);
        assert_eq!(percentile(&[3.0], 50), 3.0);
    }

    #[test]
    fn the_median_is_the_middle_of_the_sorted_values() {
        let odd = Samples::of([9.0, 1.0, 5.0]);
        assert_eq!((odd.min(), odd.median(), odd.max()), (1.0, 5.0, 9.0));
        assert_eq!(Samples::of([4.0, 1.0, 2.0, 9.0]).median(), 3.0);
        assert_eq!(Samples::exact(7.0).median(), 7.0);
    }
}
