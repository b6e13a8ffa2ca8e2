//! The suites there are. A new one is a module with a `run`, and a line here.

use crate::figure::Figure;
use crate::{attribute, consumer, keeper, memory, redis};

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
    /// The server to measure on, if not one of the suite's own.
    pub(crate) url: Option<String>,
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
    Suite {
        name: "redis",
        about: "A call on Redis, against the bare commands",
        rounds: 7,
        run: redis::run,
    },
    Suite {
        name: "keeper",
        about: "Many leases held at once, on the memory backend and on Redis: takes three minutes",
        rounds: 5,
        run: keeper::run,
    },
    Suite {
        name: "consumer",
        about: "Messages of a stream, against the bare commands",
        rounds: 7,
        run: consumer::run,
    },
];
