//! The payload of a record: an encoded outcome, or what is left of one that was damaged.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// An encoded outcome. Cheap to clone: the bytes are shared.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Payload(Content);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Content {
    Nothing,
    Value(Arc<[u8]>),
    /// All that stood behind the head, as it stood there.
    Damaged(Arc<[u8]>),
}

/// The record's length or checksum disagrees with its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the stored outcome is damaged: its length or checksum does not match")]
pub struct Damaged;

impl Payload {
    /// No payload, as in the reservation of a call.
    pub const EMPTY: Self = Self(Content::Nothing);

    /// A payload of what `write` appends to the buffer it is handed.
    ///
    /// # Errors
    /// The error of `write`; nothing is kept then.
    pub fn of<E>(write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<Self, E> {
        let mut bytes = Vec::with_capacity(128);
        write(&mut bytes)?;
        Ok(Self::of_value(&bytes))
    }

    pub(super) fn of_value(value: &[u8]) -> Self {
        Self(Content::Value(value.into()))
    }

    /// What stands where a payload should, and is none.
    pub(super) fn damaged(stored: &[u8]) -> Self {
        Self(Content::Damaged(stored.into()))
    }

    /// The value's bytes.
    ///
    /// # Errors
    /// [`Damaged`] if the record it was read from was, or if there is no value.
    pub fn value(&self) -> Result<&[u8], Damaged> {
        match &self.0 {
            Content::Value(value) => Ok(value),
            Content::Nothing | Content::Damaged(_) => Err(Damaged),
        }
    }

    /// The value's length in bytes; 0 if it is damaged.
    #[must_use]
    pub fn value_len(&self) -> usize {
        self.value().map_or(0, <[u8]>::len)
    }

    /// The bytes of what is no value, as they were found.
    pub(super) fn remains(&self) -> &[u8] {
        match &self.0 {
            Content::Damaged(stored) => stored,
            Content::Nothing | Content::Value(_) => &[],
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values may be confidential: only their size is shown.
        match &self.0 {
            Content::Damaged(stored) => write!(f, "Payload({} bytes, damaged)", stored.len()),
            _ => write!(f, "Payload({} bytes)", self.value_len()),
        }
    }
}
