//! What a runner is asked, and what it tells.

use std::time::Duration;

use idem_runtime::{Receipt, RunId};
use serde::{Deserialize, Serialize};

use crate::caller::Refused;

/// The operation that runners dispatch.
pub const OPERATION: &str = "reports.render";

/// What a runner is asked to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// To dispatch.
    Dispatch(Dispatch),
    /// To work off a run.
    Attach(RunId, Body),
    /// To cancel a run.
    Cancel(RunId),
    /// To say how a run stands.
    Look(RunId),
    /// To let what is held under this name end, now and later: a queue by the dispatch's key, a body
    /// by its run's id.
    Finish(String),
}

/// A dispatch to make.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dispatch {
    /// Its key.
    pub key: String,
    /// How long its run may come back.
    pub hold: Duration,
    /// How long its run may wait for a worker.
    pub queue_timeout: Duration,
    /// Where its run goes.
    pub way: Way,
}

impl Dispatch {
    /// A dispatch to the test's own queue, with times longer than a test.
    #[must_use]
    pub fn of(key: &str) -> Self {
        let long = Duration::from_secs(600);
        Self { key: key.to_owned(), hold: long, queue_timeout: long, way: Way::Queue }
    }

    /// The same with another hold.
    #[must_use]
    pub fn hold(self, hold: Duration) -> Self {
        Self { hold, ..self }
    }

    /// The same with another queue timeout.
    #[must_use]
    pub fn queue_timeout(self, queue_timeout: Duration) -> Self {
        Self { queue_timeout, ..self }
    }

    /// The same by another way.
    #[must_use]
    pub fn way(self, way: Way) -> Self {
        Self { way, ..self }
    }
}

/// Where a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    /// To a queue, which the test is: it is told of the run.
    Queue,
    /// To that queue, whose answer comes only when the runner is told to finish the dispatch's key.
    SlowQueue,
    /// To the runner itself.
    Spawn(Body),
}

/// What a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// What it returns.
    pub value: u64,
    /// Whether it ends only when the runner is told to finish the run.
    pub held: bool,
}

impl Body {
    /// A body that ends at once.
    #[must_use]
    pub const fn of(value: u64) -> Self {
        Self { value, held: false }
    }

    /// A body that ends when it is told to.
    #[must_use]
    pub const fn held(value: u64) -> Self {
        Self { value, held: true }
    }
}

/// What a runner tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Told {
    /// It is connected and takes asks.
    Ready,
    /// A run was handed to the queue.
    Queued {
        /// The key of its dispatch.
        key: String,
        /// The run.
        run: RunId,
    },
    /// A dispatch has ended.
    Dispatched {
        /// Its key.
        key: String,
        /// How.
        given: Result<Given, Refused>,
    },
    /// A body runs.
    Began {
        /// Its run.
        run: RunId,
        /// Which attempt it is.
        attempt: u32,
    },
    /// The token of a body's lease is cancelled.
    Lost {
        /// Its run.
        run: RunId,
    },
    /// The runner is done with a run.
    Worked {
        /// The run.
        run: RunId,
        /// What became of it.
        ran: Result<Ran, Refused>,
    },
    /// A cancel has ended.
    Cancelled {
        /// The run.
        run: RunId,
        /// How it stands.
        status: Result<String, Refused>,
    },
    /// How a run stands.
    Looked {
        /// The run.
        run: RunId,
        /// How it stands.
        status: Result<String, Refused>,
        /// Its result, if it can be had.
        result: Option<u64>,
    },
    /// Something happened: the name of an `idem_runtime::Event`.
    Event(String),
}

/// A receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// Its run.
    pub run: RunId,
    /// Whether it was given before.
    pub replay: bool,
}

impl From<Receipt> for Given {
    fn from(receipt: Receipt) -> Self {
        Self { run: receipt.id(), replay: receipt.is_replay() }
    }
}

/// An `idem_runtime::Ran`, with statuses as they are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ran {
    /// It ran and returned this.
    Ended(u64),
    /// It did not run.
    NotStarted(String),
}
