//! JSON.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed};
use serde_json::Deserializer;

use super::error::LEFT_OVER;
use super::guard::{Guard, Reading, Unwatched};
use super::walk::{Limits, walk};
use super::{Codec, CodecError, check};

/// JSON: for results that people read in the store.
///
/// Types may change as they may under [`MessagePack`](super::MessagePack). Refuses `Some(None)` and
/// `Some` of a unit, floats that are not finite, and maps whose keys are not text, numbers,
/// `bool`s, characters or variants without content.
///
/// Unless serde_json's feature `float_roundtrip` is on, it reads some floats as a neighbour of what
/// was written; a value that holds one of those is refused too.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Json;

impl Limits for Json {
    const NAME: &'static str = "Json";
    const HUMAN_READABLE: bool = true;
    const LOSES_NULL_IN_SOME: bool = true;
    const UNIT_STRUCT_IS_NULL: bool = true;
    const JSON_FLOATS: bool = true;
}

impl Codec for Json {
    const ID: u8 = 3;

    fn encode<T: Serialize + DeserializeOwned>(
        value: &T,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        walk::<Self, T>(value).map_err(|loss| CodecError::lost(Self::NAME, loss))?;
        write(value, out)
    }

    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
        let mut deserializer = Deserializer::from_slice(bytes);
        let mut reading = Reading::new(Unwatched);
        let value = Guard::new(PhantomData, &mut reading)
            .deserialize(&mut deserializer)
            .map_err(|error| CodecError::unreadable(Self::NAME, error))?;
        deserializer.end().map_err(|_| CodecError::mismatch(Self::NAME, LEFT_OVER))?;
        Ok(value)
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
    serde_json::to_writer(out, value).map_err(|error| CodecError::not_kept(Json::NAME, error))
}
