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
        fields.read().map_err(|error| without_value(error.to_string()))
    }
}

impl<C: Codec> Payload for InField<C> {
    fn read<T: DeserializeOwned>(&self, fields: Fields) -> Result<T, String> {
        match fields.get(&self.name) {
            Some(bytes) => C::decode(bytes).map_err(|error| {
                // What the codec says of its own is about stored results.
                let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                format!("field `{}`: {}", self.name, without_value(why))
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

/// What serde says of a value that does not fit, without the value: it may be a secret, and errors go to
/// logs. What the code of a type says by itself stays as it is.
pub(super) fn without_value(told: String) -> String {
    let begins = ["invalid type: ", "invalid value: ", "unknown variant "];
    let fault = begins.iter().find(|begins| told.contains(**begins));
    match (fault, told.rsplit_once(", expected ")) {
        (Some(fault), Some((before, expected))) => {
            let at = before.find(*fault).unwrap_or_default();
            let fault = fault.trim_end_matches([':', ' ']);
            format!("{}{fault}, expected {expected}", &before[..at])
        }
        _ => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_told_without_the_value() {
        for (told, without) in [
            (
                r#"invalid type: string "a, expected b", expected u64 at line 1"#,
                "invalid type, expected u64 at line 1",
            ),
            (
                "field `k`: unknown variant `4111`, expected `A` or `B`",
                "field `k`: unknown variant, expected `A` or `B`",
            ),
            ("missing field `cents`", "missing field `cents`"),
        ] {
            assert_eq!(without_value(told.to_owned()), without);
        }
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::InFields {}
    impl<C> Sealed for super::InField<C> {}
}
