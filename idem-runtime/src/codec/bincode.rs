//! Bincode, behind a hash of the shape of what was written.

use std::marker::PhantomData;

use ::bincode::config::{Configuration, standard};
use ::bincode::enc::write::Writer;
use ::bincode::error::EncodeError;
use ::bincode::serde::{encode_into_writer, seed_decode_from_slice};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::LEFT_OVER;
use super::guard::{Guard, Reading};
use super::shape::Shape;
use super::walk::Limits;
use super::{Codec, CodecError, check};

/// Bincode 2: compact, and exact about nested `Option`s, for types under one's own control.
///
/// Its bytes say nothing about what they hold, so before them stand eight bytes of *shape*: a hash
/// of what the type asked for when they were read: field names (and their aliases), the names of
/// the chosen variants, kinds of primitives. It is computed again on every read, and no byte may be
/// left over. So a result that an older type wrote is unreadable, never garbage:
///
/// | change to a type | a stored result |
/// | --- | --- |
/// | renamed type; variant appended | reads as before |
/// | field added, removed, renamed, retyped, reordered; alias added | is unreadable |
/// | variant inserted or removed before the stored one, or that one renamed | is unreadable |
///
/// What it would read back wrong is refused when it is written: skipped fields
/// (`skip_serializing_if`), untagged and flattened types. Writing costs a read, to learn the shape.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Bincode;

impl Limits for Bincode {
    const NAME: &'static str = "Bincode";
    const LOSES_SKIPPED_FIELDS: bool = true;
}

const OTHER_SHAPE: &str = "its type had other fields or variants then";
const SHAPE_LEN: usize = size_of::<u64>();

/// Variable-length integers, little-endian.
const CONFIG: Configuration = standard();

impl Codec for Bincode {
    const ID: u8 = 2;

    fn encode<T: Serialize + DeserializeOwned>(
        value: &T,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        check::<Self, T>(Self::NAME, value, out, round_trip)
    }

    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
        let Some((shape, content)) = bytes.split_first_chunk() else {
            return Err(CodecError::unreadable(Self::NAME, "it ends before its shape does"));
        };
        let (value, found) = read(content)?;
        if found.to_le_bytes() == *shape {
            Ok(value)
        } else {
            Err(CodecError::mismatch(Self::NAME, OTHER_SHAPE))
        }
    }

    /// Encoding checks already, since it has to read back.
    fn encode_checked<T: Serialize + DeserializeOwned>(
        value: &T,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        Self::encode(value, out)
    }
}

/// Writes the value behind the shape that reading it finds.
fn round_trip<T: Serialize + DeserializeOwned>(
    value: &T,
    out: &mut Vec<u8>,
) -> Result<T, CodecError> {
    let start = out.len();
    out.extend_from_slice(&[0; SHAPE_LEN]);
    encode_into_writer(value, Append(out), CONFIG)
        .map_err(|error| CodecError::not_kept(Bincode::NAME, error))?;
    let (read, shape) = read(&out[start + SHAPE_LEN..])?;
    out[start..start + SHAPE_LEN].copy_from_slice(&shape.to_le_bytes());
    Ok(read)
}

/// The value, and its shape.
fn read<T: DeserializeOwned>(content: &[u8]) -> Result<(T, u64), CodecError> {
    let mut reading = Reading::new(Shape::of_bytes(content.len()));
    let seed = Guard::new(PhantomData, &mut reading);
    let (value, len) = seed_decode_from_slice(seed, content, CONFIG)
        .map_err(|error| CodecError::unreadable(Bincode::NAME, error))?;
    if len == content.len() {
        Ok((value, reading.watch.finish()))
    } else {
        Err(CodecError::mismatch(Bincode::NAME, LEFT_OVER))
    }
}

struct Append<'a>(&'a mut Vec<u8>);

impl Writer for Append<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}
