//! The id of a run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::record::Owner;

/// Names one run: 16 random bytes, as text 32 hexadecimal digits.
///
/// Nobody can guess it, and whoever has it can look at the run and cancel it. With serde it is its text, so
/// that it can travel in a queue's message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(Owner);

/// A text that is no run's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a run's id has 32 hexadecimal digits")]
pub struct InvalidRunId;

impl RunId {
    /// The run that a receipt of this owner names.
    pub(crate) const fn of(owner: Owner) -> Self {
        Self(owner)
    }

    /// Whose the receipt of this run is.
    pub(crate) const fn owner(self) -> Owner {
        self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(*self.0.as_bytes()))
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunId({self})")
    }
}

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        // `from_str_radix` would take a sign as well.
        if text.len() != 32 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(InvalidRunId);
        }
        let number = u128::from_str_radix(text, 16).map_err(|_| InvalidRunId)?;
        Ok(Self(Owner::from_bytes(number.to_be_bytes())))
    }
}

impl TryFrom<String> for RunId {
    type Error = InvalidRunId;

    fn try_from(text: String) -> Result<Self, InvalidRunId> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(run: RunId) -> Self {
        run.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_from_its_text() {
        let id =
            RunId::of(Owner::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]));
        assert_eq!(id.to_string(), "000102030405060708090a0b0c0d0eff");
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn other_texts_are_no_ids() {
        let sign = format!("+{}", "0".repeat(31));
        for text in ["", "00", sign.as_str(), &"g".repeat(32), &"0".repeat(33), &"ä".repeat(16)] {
            assert_eq!(text.parse::<RunId>(), Err(InvalidRunId), "{text:?}");
        }
    }
}
