//! A figure: what was measured, what it should be, and why it is what it is.

use std::fmt;

use crate::samples::Samples;

/// One row of a suite.
pub(crate) struct Figure {
    pub(crate) case: String,
    /// One value a round.
    pub(crate) values: Samples,
    pub(crate) unit: &'static str,
    /// `None` where a figure is there to explain another.
    pub(crate) goal: Option<Goal>,
    /// What the value is made of, as measured in this run.
    pub(crate) limits: String,
}

/// What a figure's median should be.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
    /// For counts.
    Exactly(f64),
}

impl Goal {
    fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
            Self::Exactly(count) => (value - count).abs() < f64::EPSILON,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "≤ {most}"),
            Self::AtLeast(least) => write!(f, "≥ {least}"),
            Self::Exactly(count) => write!(f, "= {count}"),
        }
    }
}

impl Figure {
    /// Whether the median meets the goal; `None` without one.
    pub(crate) fn is_met(&self) -> Option<bool> {
        self.goal.map(|goal| goal.is_met_by(self.values.median()))
    }
}
