//! Outcomes as bytes: what of a result is stored, and how it is read back.

use std::convert::Infallible;

use crate::bounds::{FromRefusal, Returned, Storable, StorableError};
use crate::codec::{Codec, OWN};
use crate::error::{Error, ErrorKind};
use crate::record::{Flags, Payload, Record};

/// What is to be done about the key when an action has ended.
pub(crate) enum Ending {
    /// An error that is no outcome: the key is freed.
    Free,
    /// An outcome to store.
    Store(Encoded),
}

/// An outcome as it is stored.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) flags: Flags,
    pub(crate) payload: Payload,
    /// Why the value is not kept, if it is not.
    pub(crate) not_kept: Option<String>,
}

/// Why a completed record gives no value.
pub(crate) struct Unusable {
    pub(crate) kind: ErrorKind,
    pub(crate) why: String,
}

/// Errors that free the key: `on_error = release`.
#[derive(Clone, Copy, Debug)]
pub struct Freed;

/// How the results of one function are stored, read back, and made from refusals: plain function
/// pointers, so that everything around them is compiled once. `W` says which errors are stored.
#[derive(Debug)]
pub(crate) struct Table<R, W> {
    pub(crate) codec: u8,
    pub(crate) version: u32,
    pub(crate) encode: fn(&R, &W) -> Ending,
    pub(crate) decode: fn(&Record) -> Result<R, Unusable>,
    pub(crate) refuse: fn(Error) -> R,
    pub(crate) which: W,
}

impl<R, W: Copy> Clone for Table<R, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, W: Copy> Copy for Table<R, W> {}

impl<R> Table<R, Freed> {
    /// Errors free the key.
    pub(crate) const fn freeing<C: Codec>() -> Self
    where
        R: Returned<Ok: Storable, Err: FromRefusal>,
    {
        Self {
            codec: C::ID,
            version: 0,
            encode: encode_success::<R, C>,
            decode: decode_success::<R, C>,
            refuse: refuse::<R>,
            which: Freed,
        }
    }
}

/// Which errors are stored: all, or those that the function picks.
pub(crate) type Which<R> = Option<fn(&<R as Returned>::Err) -> bool>;

impl<R: Returned> Table<R, Which<R>> {
    /// Errors are outcomes too.
    pub(crate) const fn storing<C: Codec>(which: Which<R>) -> Self
    where
        R: Returned<Ok: Storable, Err: FromRefusal + StorableError>,
    {
        Self {
            codec: C::ID,
            version: 0,
            encode: encode_either::<R, C>,
            decode: decode_either::<R, C>,
            refuse: refuse::<R>,
            which,
        }
    }
}

impl<R, W> Table<R, W> {
    /// What is to be done about the key after this result. A value larger than `max_result` bytes
    /// is not kept.
    pub(crate) fn ending(&self, result: &R, max_result: usize) -> Ending {
        let mut ending = (self.encode)(result, &self.which);
        if let Ending::Store(encoded) = &mut ending
            && encoded.payload.value_len() > max_result
        {
            let why = format!(
                "the encoded value has {} bytes, more than the limit of {max_result} (`max_result`)",
                encoded.payload.value_len()
            );
            *encoded = not_kept(encoded.flags, why);
        }
        ending
    }

    /// The result that a completed record holds.
    pub(crate) fn read(&self, outcome: &Record) -> Result<R, Unusable> {
        let unreadable = |why: String| Unusable { kind: ErrorKind::Unreadable, why };
        // First, since of a damaged outcome nothing else can be believed either.
        let bytes = outcome.payload.value().map_err(|damaged| unreadable(damaged.to_string()))?;
        if outcome.flags.contains(Flags::NOT_KEPT) {
            let why = String::from_utf8_lossy(bytes).into_owned();
            return Err(Unusable { kind: ErrorKind::NotKept, why });
        }
        if outcome.value_version != self.version {
            let (stored, own) = (outcome.value_version, self.version);
            return Err(unreadable(format!(
                "it was stored as version {stored}, this code reads version {own}"
            )));
        }
        if outcome.codec == OWN {
            let why = "it is a receipt: the operation was dispatched, not called".to_owned();
            return Err(unreadable(why));
        }
        if outcome.codec != self.codec {
            let (stored, own) = (outcome.codec, self.codec);
            return Err(unreadable(format!(
                "it was stored by codec {stored}, this code reads codec {own}"
            )));
        }
        (self.decode)(outcome)
    }
}

fn refuse<R: Returned>(refusal: Error) -> R
where
    R::Err: FromRefusal,
{
    R::from_result(Err(R::Err::from_refusal(refusal)))
}

fn encode_success<R: Returned, C: Codec>(result: &R, _: &Freed) -> Ending
where
    R::Ok: Storable,
{
    match result.as_result() {
        Ok(value) => Ending::Store(encode::<R::Ok, C>(value, Flags::default())),
        Err(_) => Ending::Free,
    }
}

fn encode_either<R: Returned, C: Codec>(result: &R, which: &Which<R>) -> Ending
where
    R::Ok: Storable,
    R::Err: StorableError,
{
    match result.as_result() {
        Ok(value) => Ending::Store(encode::<R::Ok, C>(value, Flags::default())),
        Err(error) if which.is_none_or(|which| which(error)) => {
            Ending::Store(encode::<R::Err, C>(error, Flags::ERROR))
        }
        Err(_) => Ending::Free,
    }
}

/// Encodes a value and decodes it back: what the codec cannot bring back is not kept.
pub(crate) fn encode<T, C: Codec>(value: &T, flags: Flags) -> Encoded
where
    T: serde::Serialize + serde::de::DeserializeOwned,
{
    match Payload::of(|out| C::encode_checked(value, out)) {
        Ok(payload) => Encoded { flags, payload, not_kept: None },
        Err(error) => not_kept(flags, error.to_string()),
    }
}

/// In the place of the value stands why it is not there, for those who ask for it later.
fn not_kept(flags: Flags, why: String) -> Encoded {
    let payload = Payload::of(|out| {
        out.extend_from_slice(why.as_bytes());
        Ok::<(), Infallible>(())
    });
    let Ok(payload) = payload;
    Encoded { flags: flags.with(Flags::NOT_KEPT), payload, not_kept: Some(why) }
}

fn decode_success<R: Returned, C: Codec>(outcome: &Record) -> Result<R, Unusable>
where
    R::Ok: Storable,
{
    if outcome.flags.contains(Flags::ERROR) {
        let why = "it is an error, and this code does not store errors (`on_error`)".to_owned();
        return Err(Unusable { kind: ErrorKind::Unreadable, why });
    }
    decode::<R::Ok, C>(outcome).map(|value| R::from_result(Ok(value)))
}

fn decode_either<R: Returned, C: Codec>(outcome: &Record) -> Result<R, Unusable>
where
    R::Ok: Storable,
    R::Err: StorableError,
{
    if outcome.flags.contains(Flags::ERROR) {
        decode::<R::Err, C>(outcome).map(|error| R::from_result(Err(error)))
    } else {
        decode::<R::Ok, C>(outcome).map(|value| R::from_result(Ok(value)))
    }
}

fn decode<T: serde::de::DeserializeOwned, C: Codec>(outcome: &Record) -> Result<T, Unusable> {
    let unreadable = |why: String| Unusable { kind: ErrorKind::Unreadable, why };
    let bytes = outcome.payload.value().map_err(|damaged| unreadable(damaged.to_string()))?;
    C::decode(bytes).map_err(|error| unreadable(error.to_string()))
}
