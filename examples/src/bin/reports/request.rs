//! What a client asks for, and what it gets.

use fastrand::Rng;
use idem_runtime::RunId;
use serde::{Deserialize, Serialize};

/// The fewest and the most pages of a report.
const PAGES: std::ops::RangeInclusive<u32> = 5..=10;

/// A report that is asked for. All of it is the fingerprint: the same id with other words is refused.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    /// What makes two asks the same request.
    pub(crate) id: String,
    pub(crate) pages: u32,
    /// Whether its first rendering that comes so far is to fail.
    pub(crate) fails_once: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) request: String,
    pub(crate) pages: Vec<String>,
}

/// What stands in the queue: a run, and what it is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) run: RunId,
    pub(crate) request: Request,
}

impl Request {
    /// So many. Their ids are of this batch only: a store that remembers knows none of them.
    pub(crate) fn batch(batch: &str, count: u16, rng: &mut Rng) -> Vec<Self> {
        let one = |nth: u16| Self {
            id: format!("{batch}-{nth:02}"),
            pages: rng.u32(PAGES),
            fails_once: nth % 4 == 2,
        };
        (1..=count).map(one).collect()
    }
}
