//! The suites there are. A new one is a module with a `run`, and a line here.

use crate::figure::Figure;
use crate::{attribute, memory};

/// A group of figures that are measured together.
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// How many rounds it takes by itself: as many as fit into a minute, and no fewer than five.
    pub(crate) rounds: usize,
    pub(crate) run: fn(&Plan) -> anyhow::Result<Vec<Figure>>,
}

/// How a suite is to be run.
pub(crate) struct Plan {
    pub(crate) rounds: usize,
}

pub(crate) const SUITES: &[Suite] = &[
    Suite {
        name: "memory",
        about: "A call on the memory backend, against a map behind a lock",
        rounds: 11,
        run: memory::run,
    },
    Suite {
        name: "macro",
        about: "What the attribute adds to compile time and to futures",
        rounds: 5,
        run: attribute::run,
    },
];
