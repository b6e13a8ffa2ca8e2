//! Where in a message its value stands.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;

use idem_runtime::Codec;
use serde::de::DeserializeOwned;

use super::fields::Fields;

/// How the value of a message is read from its fields.
pub trait Payload: sealed::Sealed + Send + Sync + 'static {
    /// The value, or why it cannot be read.
    #[doc(hidden)]
    fn read<T: DeserializeOwned>(&self, fields: Fields) -> Result<T, String>;
}

/// The fields of the message are the fields of the value: `XADD orders * id 17 cents 4200`.
#[derive(Clone, Copy, Debug, Default)]
pub struct InFields;

/// The value stands in one field, written by a codec.
pub struct InField<C> {
    name: String,
    codec: PhantomData<fn() -> C>,
}

impl<C> InField<C> {
    pub(super) fn new(name: String) -> Self {
        Self { name, codec: PhantomData }
    }
}

impl Payload for InFields {
    fn read<T: DeserializeOwned>(&self, fields: Fields) -> Result<T, String> {
        fields.read().map_err(|error| error.to_string())
    }
}

impl<C: Codec> Payload for InField<C> {
    fn read<T: DeserializeOwned>(&self, fields: Fields) -> Result<T, String> {
        match fields.get(&self.name) {
            Some(bytes) => C::decode(bytes).map_err(|error| {
                // What the codec says of its own is about stored results.
                let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                format!("field `{}`: {why}", self.name)
            }),
            None => Err(format!("there is no field `{}`", self.name)),
        }
    }
}

impl<C> fmt::Debug for InField<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, codec: _ } = self;
        f.debug_struct("InField").field("name", name).finish()
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::InFields {}
    impl<C> Sealed for super::InField<C> {}
}
