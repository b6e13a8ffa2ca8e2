//! What a caller is asked, and what it tells.

use std::time::{Duration, SystemTime};

use idem_runtime::{Error, Outcome};
use serde::{Deserialize, Serialize};

/// The operation that callers call.
pub const OPERATION: &str = "charge";

/// What a caller is asked to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// To call.
    Call(Call),
    /// To let the actions of this key end, now and later.
    Finish(String),
}

/// A call to make, or several at once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Call {
    /// Its key.
    pub key: String,
    /// What its action returns.
    pub value: u64,
    /// Its fingerprint is that of this number, if any.
    pub fingerprint: Option<u64>,
    /// How many such calls are made.
    pub times: usize,
    /// When its action ends.
    pub ends: Ends,
}

impl Call {
    /// One call whose action ends at once.
    #[must_use]
    pub fn of(key: &str, value: u64) -> Self {
        Self { key: key.to_owned(), value, fingerprint: None, times: 1, ends: Ends::AtOnce }
    }

    /// The same with this fingerprint.
    #[must_use]
    pub fn fingerprint(self, of: u64) -> Self {
        Self { fingerprint: Some(of), ..self }
    }

    /// The same, several times.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// The same with an action that ends otherwise.
    #[must_use]
    pub fn ends(self, ends: Ends) -> Self {
        Self { ends, ..self }
    }
}

/// When an action has its effect and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ends {
    /// As soon as it runs.
    AtOnce,
    /// After this time.
    After(Duration),
    /// When the caller is told to finish it.
    WhenTold,
    /// When the caller is told to finish it; until then it holds its thread.
    WhenToldBlocking,
}

/// What a caller tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Told {
    /// It is connected and takes calls.
    Ready,
    /// All calls of one ask are under way: each has an answer, is the one that asks the store for
    /// its process, or waits beside that one.
    Called {
        /// Their key.
        key: String,
    },
    /// An action runs.
    Begun {
        /// Its key.
        key: String,
        /// Which attempt it is.
        attempt: u32,
        /// What the caller's wall clock says.
        at: SystemTime,
    },
    /// An action has had its effect.
    Ran {
        /// Its key.
        key: String,
    },
    /// A call has ended.
    Answered {
        /// Its key.
        key: String,
        /// How.
        answer: Answer,
    },
    /// Something happened: the name of an `idem_runtime::Event`.
    Event(String),
}

/// How a call ended.
pub type Answer = Result<Done, Refused>;

/// A value, and the facts of the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// The value.
    pub value: u64,
    /// The name of the `idem_runtime::Source`.
    pub source: String,
    /// The attempt that gave the outcome.
    pub attempt: u32,
    /// Whether it is stored.
    pub stored: bool,
    /// Whether the lease lapsed meanwhile.
    pub lapsed: bool,
}

impl From<Outcome<u64>> for Done {
    fn from(outcome: Outcome<u64>) -> Self {
        let Outcome { value, source, attempt, stored, lapsed, .. } = outcome;
        Self { value, source: format!("{source:?}"), attempt, stored, lapsed }
    }
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The name of the `idem_runtime::ErrorKind`.
    pub kind: String,
    /// What it says to people.
    pub message: String,
    /// When to come back.
    pub retry_after: Option<Duration>,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let (kind, retry_after) = (format!("{:?}", error.kind()), error.retry_after());
        Self { kind, message: error.to_string(), retry_after }
    }
}
