//! Fingerprints: what has to agree when a key is used again.

use std::fmt;

use serde::Serialize;

mod canonical;
mod serializer;

/// The first half of a BLAKE3 hash of the arguments that have to agree when a key is used again.
///
/// Equal values have equal fingerprints, in every process and release; values that differ have
/// different ones, for all that can be expected of 128 bits. What counts and what does not is
/// chosen so that a rolling deploy does not turn a retry into a mismatch:
///
/// | counts | does not count |
/// | --- | --- |
/// | names of fields and of the chosen variant | names of types, a variant's place |
/// | numbers by value: `5_u8` is `5_i64` | width and sign of the integer's type, `f32` or `f64` |
/// | order in sequences and tuples | order of fields and of a map's entries |
/// | `Some(x)` is neither `x` nor `None` | a newtype around a value; fields that are skipped |
/// | integer, float, text, character, bytes and `bool` are different kinds | a struct, or a map with the same entries; a tuple, or a sequence; the sign of zero, the bits of a NaN |
///
/// So a new field changes the fingerprint, unless it is skipped while it has its old meaning
/// (`#[serde(skip_serializing_if = "Option::is_none")]`).
///
/// A `HashSet` is a sequence to serde, in an order that differs from one process to the next:
/// collect it into a `BTreeSet` or a sorted `Vec` first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// No fingerprint: sixteen zeros, which no value has.
    pub const NONE: Fingerprint = Fingerprint([0; 16]);

    /// The fingerprint of a value.
    ///
    /// Costs one allocation and one hash for a small value; the canonical form of a large one is
    /// held in memory.
    ///
    /// # Errors
    /// If the value is nested more than 128 deep, or if its own `Serialize` fails.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Fingerprint, FingerprintError> {
        let bytes = canonical::bytes(value)?;
        let mut half = [0; 16];
        half.copy_from_slice(&blake3::hash(&bytes).as_bytes()[..16]);
        // Never seen, but then it must not read as none.
        Ok(if half == [0; 16] { Fingerprint([0xff; 16]) } else { Fingerprint(half) })
    }

    /// The fingerprint that was stored as these bytes; zeros are [`Fingerprint::NONE`].
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Fingerprint {
        Fingerprint(bytes)
    }

    /// The bytes to store.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// Whether this is [`Fingerprint::NONE`].
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Fingerprint::NONE
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({:032x})", u128::from_be_bytes(self.0))
    }
}

/// Why a value has no fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FingerprintError {
    /// The value is nested too deep.
    #[error(
        "the fingerprint's value is nested more than {} deep; fingerprint a part of it",
        canonical::MAX_DEPTH
    )]
    TooDeep,
    /// The value's own `Serialize` failed.
    #[error("the fingerprint's value cannot be serialised: {0}")]
    Serialize(String),
}

impl serde::ser::Error for FingerprintError {
    fn custom<M: fmt::Display>(message: M) -> Self {
        FingerprintError::Serialize(message.to_string())
    }
}
