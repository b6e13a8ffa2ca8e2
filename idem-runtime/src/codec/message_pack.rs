//! MessagePack, with the names of fields.

use rmp_serde::decode::{Deserializer, Error};
use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny};
use std::marker::PhantomData;

use super::error::LEFT_OVER;
use super::guard::{Guard, Reading, Unwatched};
use super::walk::{Limits, walk};
use super::{Codec, CodecError, check};

/// MessagePack with the names of fields: the default.
///
/// Fields with `#[serde(default)]` may be added, fields may be removed, reordered and put behind
/// another, variants may be added. Refuses `Some(None)` and `Some(())`, which it would read back as
/// `None`.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct MessagePack;

impl Limits for MessagePack {
    const NAME: &'static str = "MessagePack";
    const LOSES_NULL_IN_SOME: bool = true;
}

impl Codec for MessagePack {
    const ID: u8 = 1;

    fn encode<T: Serialize + DeserializeOwned>(
        value: &T,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        walk::<Self, T>(value).map_err(|loss| CodecError::lost(Self::NAME, loss))?;
        write(value, out)
    }

    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
        let mut deserializer = Deserializer::from_read_ref(bytes);
        let mut reading = Reading::new(Unwatched);
        let value = Guard::new(PhantomData, &mut reading)
            .deserialize(&mut deserializer)
            .map_err(|error| CodecError::unreadable(Self::NAME, error))?;
        // The reader does not say how far it came, but at the end there is no marker to read. What
        // else there is may nest as well.
        let behind = Guard::new(PhantomData::<IgnoredAny>, &mut reading);
        match behind.deserialize(&mut deserializer) {
            Err(Error::InvalidMarkerRead(_)) => Ok(value),
            _ => Err(CodecError::mismatch(Self::NAME, LEFT_OVER)),
        }
    }

    fn encode_checked<T: Serialize + DeserializeOwned>(
        value: &T,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        check::<Self, T>(Self::NAME, value, out, |value, out| {
            let start = out.len();
            write(value, out)?;
            Self::decode(&out[start..])
        })
    }
}

fn write<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), CodecError> {
    rmp_serde::encode::write_named(out, value)
        .map_err(|error| CodecError::not_kept(MessagePack::NAME, error))
}
