//! Codecs: outcomes to bytes and back.
//!
//! Of each codec one has to know what it does not keep. None of them brings back another value than
//! was stored: what it cannot keep is an error before it is stored, and bytes that it cannot read
//! are an error when they are decoded.
//!
//! | codec | for | what it refuses | a type may change by |
//! | --- | --- | --- | --- |
//! | [`MessagePack`] (the default) | any serde type | `Some(None)`, `Some(())` | fields with `#[serde(default)]` added; fields removed or reordered; variants added or reordered |
//! | [`Bincode`] (feature `bincode`) | compact bytes, exact `Option`s | skipped fields, untagged, internally tagged and flattened types, `serde_json::Value`, millions of elements that take no bytes | variants appended |
//! | [`Json`] | people who read the store | `Some(None)`, `Some(())`, `Some` of a unit struct; infinite floats and NaN; keys of maps that are no text, number, `bool`, `char` or bare variant; floats that serde_json does not read exactly | as for `MessagePack` |
//!
//! All of them refuse values nested more than 100 deep. And since types, too, can lose something on
//! the way, like an untagged enum whose earlier variant reads what a later one wrote,
//! [`Codec::encode_checked`] reads back what it wrote, and compares what the two values tell serde.
//!
//! What no codec can see is what a type does not tell: fields with `#[serde(skip)]` come back as
//! their default, a duration that is written in whole seconds comes back in whole seconds, and a
//! NaN comes back as some NaN.

use serde::Serialize;
use serde::de::DeserializeOwned;

#[cfg(feature = "bincode")]
mod bincode;
mod error;
mod guard;
mod guard_visitor;
mod hash;
mod json;
mod message_pack;
#[cfg(feature = "bincode")]
mod shape;
mod walk;
mod walk_serializer;

#[cfg(feature = "bincode")]
pub use bincode::Bincode;
pub use error::CodecError;
pub use json::Json;
pub use message_pack::MessagePack;

use walk::{Limits, Loss, Nothing, walk};

/// Stands in the place of a codec's id in what only idem reads: receipts and runs.
pub(crate) const OWN: u8 = 4;

/// Turns outcomes into bytes and back.
///
/// A codec of your own needs an [`ID`](Codec::ID) and the two functions, which may lose something
/// without noticing: [`encode_checked`](Codec::encode_checked), which is what a runtime calls,
/// notices it. It should bound the recursion of both.
pub trait Codec: 'static {
    /// Stands in the record, so that a reader with another codec knows that it cannot read it.
    ///
    /// 1 is [`MessagePack`], 2 [`Bincode`], 3 [`Json`]; 4 stands in the records of receipts and runs,
    /// which no function reads as its value; those from 128 on are for codecs of your own.
    const ID: u8;

    /// Appends the bytes of a value to `out`.
    ///
    /// # Errors
    /// If the value is known to be one that would not read back as it is. What was appended until
    /// then may be there or not.
    fn encode<T: Serialize + DeserializeOwned>(
        value: &T,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError>;

    /// Reads a value from all of `bytes`.
    ///
    /// # Errors
    /// If they are not the bytes of such a value, or if some are left over.
    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError>;

    /// Appends the bytes of a value to `out`, once they have been read back as the same value.
    ///
    /// Same is what looks the same to serde, since `T` need not be `PartialEq`; the order of
    /// sequences is not compared, since a set has none. Costs an encode, a decode, and a walk over
    /// both values.
    ///
    /// # Errors
    /// If the value cannot be written, or not be read back, or reads back as another one. Then
    /// `out` is as it was.
    fn encode_checked<T: Serialize + DeserializeOwned>(
        value: &T,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        check::<Nothing, T>(std::any::type_name::<Self>(), value, out, |value, out| {
            let start = out.len();
            Self::encode(value, out)?;
            Self::decode(&out[start..])
        })
    }
}

/// Writes a value and reads it back with `round_trip`, which appends to `out`, and compares.
fn check<L: Limits, T: Serialize>(
    codec: &'static str,
    value: &T,
    out: &mut Vec<u8>,
    round_trip: impl FnOnce(&T, &mut Vec<u8>) -> Result<T, CodecError>,
) -> Result<(), CodecError> {
    let start = out.len();
    let lost = |loss| CodecError::lost(codec, loss);
    let checked = walk::<L, T>(value).map_err(lost).and_then(|before| {
        let read = round_trip(value, out).map_err(CodecError::while_encoding)?;
        let after = walk::<L, T>(&read).map_err(lost)?;
        if before == after { Ok(()) } else { Err(lost(Loss::Changed)) }
    });
    if checked.is_err() {
        out.truncate(start);
    }
    checked
}
