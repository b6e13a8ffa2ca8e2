//! What a codec would bring back as another value is refused, with what to do instead.

#![allow(
    clippy::unwrap_used,
    reason = "clippy allows it in the tests themselves, not in what they share"
)]

mod codec_types;

use std::collections::{BTreeMap, HashMap};
use std::error::Error as _;

use codec_types::*;
#[cfg(feature = "bincode")]
use idem_runtime::codec::Bincode;
use idem_runtime::codec::{Codec, CodecError, Json, MessagePack};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The error of plain encoding, which has to know it by itself.
fn refused<C: Codec, T: Value>(value: &T) -> String {
    C::encode_checked(value, &mut Vec::new()).unwrap_err();
    C::encode(value, &mut Vec::new()).unwrap_err().to_string()
}

/// The error of encoding and reading back.
fn not_read_back<C: Codec, T: Value>(value: &T) -> String {
    let mut out = Vec::new();
    let error = C::encode_checked(value, &mut out).unwrap_err();
    assert!(error.is_not_kept());
    assert_eq!(out, b"");
    error.to_string()
}

fn kept<C: Codec, T: Value>(value: &T) {
    let mut out = Vec::new();
    C::encode_checked(value, &mut out).unwrap();
    assert_eq!(C::decode::<T>(&out).unwrap(), *value);
}

#[test]
fn some_of_nothing() {
    fn both<T: Value>(value: &T) {
        for message in [refused::<MessagePack, T>(value), refused::<Json, T>(value)] {
            assert!(message.ends_with("return an enum instead, or use `Bincode`"), "{message}");
        }
        #[cfg(feature = "bincode")]
        kept::<Bincode, T>(value);
    }
    both(&Some(()));
    both(&Some(None::<u8>));
    both(&Some(Some(None::<u8>)));
    both(&vec![Some(Newtype(None::<u8>))]);
    both(&HashMap::from([(1, Newtype(Some(Newtype(()))))]));
    both(&vec![Some(Some(Node::Unit)), Some(None)]);
}

#[test]
fn nothing_elsewhere_is_kept() {
    fn all<T: Value>(value: &T) {
        kept::<MessagePack, T>(value);
        kept::<Json, T>(value);
        #[cfg(feature = "bincode")]
        kept::<Bincode, T>(value);
    }
    all(&());
    all(&None::<Option<u8>>);
    all(&Some(Some(1)));
    all(&Some(vec![None::<u8>, Some(1)]));
    all(&Some((None::<u8>, ())));
    all(&Some(Empty {}));
    all(&Some(Node::Option(None)));
    all(&Newtype(None::<u8>));
    all(&Node::Option(Some(Box::new(Node::Option(None)))));
    all(&(Marker, [(); 3], vec![(); 100], BTreeMap::from([(1, ())])));
    kept::<MessagePack, _>(&Some(Marker));
    refused::<Json, _>(&Some(Marker));
}

#[test]
fn json_floats() {
    for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let message = refused::<Json, _>(&Some(Float(float)));
        assert!(message.contains("no infinite numbers and no NaN"), "{message}");
        kept::<MessagePack, _>(&Some(Float(float)));
    }
    for float in [f64::MAX, f64::MIN_POSITIVE, -0.0, 0.1, 1e-7, 12.34, 1e21, 5e-324] {
        kept::<Json, _>(&Float(float));
    }
    kept::<Json, _>(&f32::MAX);
    refused::<Json, _>(&f32::NEG_INFINITY);
}

#[test]
fn json_keys() {
    kept::<Json, _>(&BTreeMap::from([(i128::MIN, 1), (i128::MAX, 2)]));
    kept::<Json, _>(&BTreeMap::from([("\"\u{0}é".to_owned(), 1)]));
    kept::<Json, _>(&BTreeMap::from([(true, 1), (false, 2)]));
    kept::<Json, _>(&HashMap::from([(Bare::One, 1)]));
    kept::<Json, _>(&BTreeMap::from([(Some('x'), 1)]));
    for message in [
        refused::<Json, _>(&BTreeMap::from([((1, 2), 3)])),
        refused::<Json, _>(&BTreeMap::from([(None::<u8>, 3)])),
        refused::<Json, _>(&BTreeMap::from([((), 3)])),
        refused::<Json, _>(&BTreeMap::from([([1], 3)])),
    ] {
        assert_eq!(message, "Json cannot write the value");
    }
}

#[test]
fn a_variant_that_an_earlier_one_reads() {
    for message in [
        not_read_back::<MessagePack, _>(&Untagged::Large(5)),
        not_read_back::<Json, _>(&Untagged::Large(5)),
        not_read_back::<Json, _>(&Untagged::Second { a: 1, b: 2 }),
        not_read_back::<Json, _>(&Untagged::Text("x".into())),
        not_read_back::<Json, _>(&Untagged::List(vec![1])),
    ] {
        assert!(message.contains("cannot keep the value: it reads back as another"), "{message}");
    }
    kept::<MessagePack, _>(&Untagged::Large(500));
    kept::<Json, _>(&Untagged::Large(u64::MAX));
}

#[test]
fn keys_that_become_one() {
    #[derive(Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Key {
        Number(u8),
        Text(String),
    }
    let both = HashMap::from([(Key::Number(1), 1), (Key::Text("1".into()), 2)]);
    kept::<MessagePack, _>(&both);
    not_read_back::<Json, _>(&both);
}

#[test]
fn halves_that_do_not_agree() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Renamed {
        #[serde(rename(serialize = "b"), alias = "b", default)]
        a: u8,
        #[serde(default, rename(deserialize = "d"))]
        c: u8,
    }
    kept::<MessagePack, _>(&Renamed { a: 1, c: 0 });
    not_read_back::<MessagePack, _>(&Renamed { a: 1, c: 2 });
    not_read_back::<Json, _>(&Renamed { a: 1, c: 2 });
}

#[test]
fn a_depth_of_ten_thousand() {
    fn all<T: Value>(value: &T, named: &str) {
        let messages = [
            refused::<MessagePack, T>(value),
            refused::<Json, T>(value),
            #[cfg(feature = "bincode")]
            refused::<Bincode, T>(value),
        ];
        for message in messages {
            assert!(message.contains("nested more than 100 deep"), "{named}: {message}");
        }
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Chain(Option<Box<Chain>>);
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct List(Vec<List>);

    let deep = 0..10_000;
    all(&deep.clone().fold(Node::Unit, |inner, _| Node::Boxed(Box::new(inner))), "variants");
    all(&deep.clone().fold(Chain(None), |inner, _| Chain(Some(Box::new(inner)))), "options");
    all(&deep.fold(List(vec![]), |inner, _| List(vec![inner])), "sequences");

    kept::<MessagePack, _>(&(0..99).fold(Node::Unit, |inner, _| Node::Boxed(Box::new(inner))));
    kept::<Json, _>(&(0..99).fold(Node::Unit, |inner, _| Node::Boxed(Box::new(inner))));
    #[cfg(feature = "bincode")]
    kept::<Bincode, _>(&(0..99).fold(Node::Unit, |inner, _| Node::Boxed(Box::new(inner))));
}

#[test]
fn a_width_of_ten_thousand_is_not_deep() {
    fn all<T: Value>(value: &T) {
        kept::<MessagePack, _>(value);
        kept::<Json, _>(value);
        #[cfg(feature = "bincode")]
        kept::<Bincode, _>(value);
    }
    all(&vec![vec![Newtype(Some((1, 2)))]; 10_000]);
    all(&vec![BTreeMap::from([(1, Empty {})]); 10_000]);
    all(&vec![Node::Tuple(1, String::new()); 10_000]);
    all(&vec![Node::Struct { number: None, nodes: vec![] }; 10_000]);
}

#[test]
fn what_a_type_says_itself() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Refuses;
    impl Serialize for Refuses {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("not me"))
        }
    }
    assert!(refused::<MessagePack, _>(&Refuses).ends_with("its `Serialize` says: not me"));
}

/// A codec of a user's own is checked as well, without knowing its limits.
#[test]
fn a_codec_of_ones_own() {
    struct Plain;
    impl Codec for Plain {
        const ID: u8 = 200;

        fn encode<T: Serialize + DeserializeOwned>(
            value: &T,
            out: &mut Vec<u8>,
        ) -> Result<(), CodecError> {
            serde_json::to_writer(out, value).map_err(|error| CodecError::not_kept("Plain", error))
        }

        fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
            serde_json::from_slice(bytes).map_err(|error| CodecError::unreadable("Plain", error))
        }
    }
    kept::<Plain, _>(&Some(1));
    let message = not_read_back::<Plain, _>(&Some(None::<u8>));
    assert!(message.contains("reads back as another value"), "{message}");
    let message = not_read_back::<Plain, _>(&f64::NAN);
    assert!(message.contains("cannot read back what it wrote"), "{message}");
    let error = Plain::decode::<u8>(b"x").unwrap_err();
    assert!(error.is_unreadable() && error.source().is_some());
    assert_eq!(error.codec(), "Plain");
}

#[cfg(feature = "bincode")]
mod bincode {
    use super::*;

    #[test]
    fn skipped_fields() {
        let value = Skipping { first: None, second: 1, third: Some(3), fourth: vec![1] };
        let message = refused::<Bincode, _>(&value);
        assert!(message.contains("its field `first` is skipped"), "{message}");
        kept::<Bincode, _>(&Skipping { first: Some(1), ..value });
    }

    /// These are left out without telling the serializer.
    #[test]
    fn fields_that_only_one_half_has() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct OnlyRead {
            a: u8,
            #[serde(skip_serializing, default)]
            b: u8,
        }
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct OnlyWritten {
            a: u8,
            #[serde(skip_deserializing)]
            b: u8,
            c: u8,
        }
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Tuple(u8, #[serde(skip_serializing_if = "is_zero", default)] u8);
        fn is_zero(number: &u8) -> bool {
            *number == 0
        }

        not_read_back::<Bincode, _>(&(OnlyRead { a: 1, b: 2 }, 3_u8));
        not_read_back::<Bincode, _>(&(OnlyWritten { a: 1, b: 2, c: 3 }, 3_u8));
        not_read_back::<Bincode, _>(&vec![Tuple(1, 0), Tuple(2, 0)]);
        kept::<MessagePack, _>(&vec![Tuple(1, 0), Tuple(2, 0)]);
    }

    /// Written with its place in the enum, read with its place among those that can be read.
    #[test]
    fn a_variant_after_a_skipped_one() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        enum Choice {
            #[serde(skip)]
            #[expect(dead_code, reason = "it only takes a place")]
            Hidden,
            First,
            Second,
        }
        not_read_back::<Bincode, _>(&Choice::First);
        not_read_back::<Bincode, _>(&Choice::Second);
        kept::<MessagePack, _>(&Choice::Second);
    }

    #[test]
    fn types_that_need_to_be_described() {
        for message in [
            not_read_back::<Bincode, _>(&serde_json::json!({ "a": 1 })),
            not_read_back::<Bincode, _>(&Untagged::Unit),
            not_read_back::<Bincode, _>(&Internal::Unit),
            not_read_back::<Bincode, _>(&Flat {
                id: 1,
                known: Pairs { a: None, b: HashMap::new() },
                rest: HashMap::new(),
            }),
        ] {
            assert!(message.starts_with("Bincode cannot "), "{message}");
        }
    }
}
