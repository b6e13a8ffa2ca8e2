//! The payload of a record: an encoded outcome framed by its length and checksum.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// Length and checksum, four bytes each.
const FRAME: usize = 8;

/// An encoded outcome with its length and checksum. Cheap to clone: the bytes are shared.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Payload(Option<Arc<[u8]>>);

/// The payload's length or checksum disagrees with its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the stored value is damaged: its length or checksum does not match")]
pub struct Damaged;

impl Payload {
    /// No payload, as in a reservation.
    pub const EMPTY: Self = Self(None);

    /// A payload of what `write` appends to the buffer it is handed.
    ///
    /// # Errors
    /// The error of `write`; nothing is kept then.
    pub fn of<E>(write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<Self, E> {
        let mut bytes = Vec::with_capacity(128);
        bytes.extend_from_slice(&[0; FRAME]);
        write(&mut bytes)?;
        // A value of 4 GiB is over every limit; a wrong length could only make it unreadable.
        let length = u32::try_from(bytes.len() - FRAME).unwrap_or(u32::MAX);
        let checksum = crc32fast::hash(&bytes[FRAME..]);
        bytes[..4].copy_from_slice(&length.to_be_bytes());
        bytes[4..FRAME].copy_from_slice(&checksum.to_be_bytes());
        Ok(Self(Some(bytes.into())))
    }

    /// The bytes as they came from a store, checked only when they are read.
    #[must_use]
    pub fn from_stored(bytes: &[u8]) -> Self {
        Self((!bytes.is_empty()).then(|| bytes.into()))
    }

    /// The bytes as they go into a store: length, checksum, value.
    #[must_use]
    pub fn as_stored(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The value's bytes.
    ///
    /// # Errors
    /// [`Damaged`] if the length or the checksum does not match.
    pub fn value(&self) -> Result<&[u8], Damaged> {
        let (frame, value) = self.as_stored().split_first_chunk::<FRAME>().ok_or(Damaged)?;
        let [l0, l1, l2, l3, checksum @ ..] = *frame;
        let intact = u32::from_be_bytes([l0, l1, l2, l3]) as usize == value.len()
            && u32::from_be_bytes(checksum) == crc32fast::hash(value);
        intact.then_some(value).ok_or(Damaged)
    }

    /// The value's length in bytes, without its frame.
    #[must_use]
    pub fn value_len(&self) -> usize {
        self.as_stored().len().saturating_sub(FRAME)
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values may be confidential: only their size is shown.
        write!(f, "Payload({} bytes)", self.value_len())
    }
}
