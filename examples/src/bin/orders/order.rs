//! What is ordered, and what a bill says.

use serde::{Deserialize, Serialize};

/// An order, as it stands in the stream: its fields are the message's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// What makes two messages the same order.
    pub(crate) id: String,
    pub(crate) cents: u64,
}

/// A bill: the effect that must not repeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bill {
    pub(crate) order: String,
    pub(crate) cents: u64,
    /// Which consumer wrote it.
    pub(crate) by: String,
}

impl Order {
    /// The order of this number. Its id is of this batch only: a store that remembers does not know it.
    pub(crate) fn nth(batch: &str, nth: u32) -> Self {
        Self { id: format!("{batch}-{nth:06}"), cents: 500 + u64::from(nth) * 37 % 9_000 }
    }
}
