//! Every codec brings back the value that it was given, or an error: never another value.

#![allow(
    clippy::unwrap_used,
    reason = "clippy allows it in the tests themselves, not in what they share"
)]

mod codec_types;

use std::collections::HashMap;

use codec_types::*;
#[cfg(feature = "bincode")]
use idem_runtime::codec::Bincode;
use idem_runtime::codec::{Codec, CodecError, Json, MessagePack};
use proptest::prelude::*;

/// What `encode_checked` says, which must be true, and then what decoding says.
fn kept<C: Codec, T: Value>(value: &T) -> Result<(), CodecError> {
    let mut out = b"before".to_vec();
    let checked = C::encode_checked(value, &mut out);
    let Some(bytes) = out.strip_prefix(b"before") else { panic!("the bytes before are gone") };
    match &checked {
        Ok(()) => assert_eq!(C::decode::<T>(bytes).unwrap(), *value),
        Err(error) => {
            assert_eq!(bytes, b"", "nothing may be left of what was not kept");
            assert!(error.is_not_kept() && !error.is_unreadable(), "{error}");
        }
    }
    checked
}

/// The same of plain `encode`, for types of which each codec knows in advance what it loses.
fn known<C: Codec, T: Value>(value: &T) -> Result<(), CodecError> {
    let mut bytes = Vec::new();
    if C::encode(value, &mut bytes).is_ok()
        && let Ok(read) = C::decode::<T>(&bytes)
    {
        assert_eq!(read, *value);
    }
    kept::<C, T>(value)
}

/// Unless serde_json reads floats exactly, it may refuse them; that and nothing else.
fn json<T: Value>(value: &T, known: impl Fn(&T) -> Result<(), CodecError>) {
    if let Err(error) = known(value) {
        assert!(error.to_string().contains("float_roundtrip"), "{error}");
    }
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: ProptestConfig::default().cases.max(400),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn everything_is_kept(value in everything()) {
        known::<MessagePack, _>(&value).unwrap();
        #[cfg(feature = "bincode")]
        known::<Bincode, _>(&value).unwrap();
        json(&value, known::<Json, _>);
    }

    #[test]
    fn delicate_values_are_kept_or_refused(value in delicate()) {
        let null_in_some = value.double == Some(None)
            || value.unit.is_some()
            || value.wrapped.is_some();
        prop_assert_eq!(known::<MessagePack, _>(&value).is_err(), null_in_some);
        #[cfg(feature = "bincode")]
        known::<Bincode, _>(&value).unwrap();
        let refused = null_in_some
            || value.marker.is_some()
            || !value.float.0.is_finite()
            || !value.by_pair.is_empty()
            || value.by_option.contains_key(&None);
        if refused {
            prop_assert!(known::<Json, _>(&value).is_err());
        } else {
            json(&value, known::<Json, _>);
        }
    }

    #[test]
    fn internally_tagged_values_are_kept(value in internals()) {
        kept::<MessagePack, _>(&value).unwrap();
        kept::<Json, _>(&value).unwrap();
        #[cfg(feature = "bincode")]
        kept::<Bincode, _>(&value).unwrap_err();
    }

    #[test]
    fn adjacently_tagged_values_are_kept(value in adjacents()) {
        kept::<MessagePack, _>(&value).unwrap();
        kept::<Json, _>(&value).unwrap();
        #[cfg(feature = "bincode")]
        let _ = kept::<Bincode, _>(&value);
    }

    #[test]
    fn untagged_values_are_kept_or_refused(value in untagged()) {
        let _ = kept::<MessagePack, _>(&value);
        let _ = kept::<Json, _>(&value);
        #[cfg(feature = "bincode")]
        kept::<Bincode, _>(&value).unwrap_err();
    }

    #[test]
    fn flattened_values_are_kept_or_refused(value in flats()) {
        let _ = kept::<MessagePack, _>(&value);
        let _ = kept::<Json, _>(&value);
        #[cfg(feature = "bincode")]
        kept::<Bincode, _>(&value).unwrap_err();
    }

    #[test]
    fn skipped_fields_are_kept_or_refused(value in skipping()) {
        // A default that is not what was skipped brings back another value.
        prop_assert_eq!(kept::<MessagePack, _>(&value).is_err(), value.third.is_none());
        prop_assert_eq!(kept::<Json, _>(&value).is_err(), value.third.is_none());
        #[cfg(feature = "bincode")]
        {
            let skips = value.first.is_none() || value.third.is_none() || value.fourth.is_empty();
            prop_assert_eq!(known::<Bincode, _>(&value).is_err(), skips);
        }
    }

    #[test]
    fn floats_are_kept(value in prop::num::f64::ANY, single in prop::num::f32::ANY) {
        known::<MessagePack, _>(&Float(value)).unwrap();
        known::<MessagePack, _>(&Float(single.into())).unwrap();
        if value.is_finite() {
            json(&value, known::<Json, _>);
        }
        if single.is_finite() {
            json(&single, known::<Json, _>);
            json(&HashMap::from([(String::new(), single)]), known::<Json, _>);
        }
    }

    #[test]
    fn numbers_are_kept_at_the_root(value in any::<(u128, i128, u64, i64)>(), text in any::<String>()) {
        known::<Json, _>(&value.0).unwrap();
        known::<Json, _>(&value.1).unwrap();
        known::<MessagePack, _>(&value.0).unwrap();
        known::<MessagePack, _>(&value.1).unwrap();
        known::<MessagePack, _>(&(value.2, value.3)).unwrap();
        known::<Json, _>(&text).unwrap();
    }

    #[test]
    fn json_values_are_kept(value in documents()) {
        kept::<MessagePack, _>(&value).unwrap();
        json(&value, kept::<Json, _>);
        #[cfg(feature = "bincode")]
        kept::<Bincode, _>(&value).unwrap_err();
    }
}

fn documents() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        prop::num::f64::NORMAL.prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}
