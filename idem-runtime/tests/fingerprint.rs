//! Fingerprints: equal for what is equal, different for what differs, and never another tomorrow.

#![allow(
    clippy::unwrap_used,
    reason = "clippy allows it in the tests themselves, not in what they share"
)]

use std::collections::{BTreeMap, HashMap};

use idem_runtime::{Fingerprint, FingerprintError};
use proptest::prelude::*;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

fn of<T: Serialize + ?Sized>(value: &T) -> Fingerprint {
    Fingerprint::of(value).unwrap()
}

#[derive(Serialize)]
struct Order {
    cents: u64,
    currency: &'static str,
}

#[derive(Serialize)]
enum Choice {
    Unit,
    Newtype(u8),
    Tuple(u8, u8),
    Struct { a: u8 },
}

/// A map whose entries come in this order.
struct Entries<K, V>(Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Entries<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

struct Bytes(&'static [u8]);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Stored in records: a change here refuses every retry that is under way while a release is rolled
/// out.
#[test]
fn fingerprints_are_pinned() {
    let pinned = |value: Fingerprint, hex: &str| {
        assert_eq!(format!("{value:?}"), format!("Fingerprint({hex})"));
    };
    pinned(of(&()), "48fc721fbbc172e0925fa27af1671de2");
    pinned(of(&(1250_u64, "EUR")), "9f531e2b72013e7bfb77d46350b0ad22");
    pinned(of(&Order { cents: 1250, currency: "EUR" }), "1880f8a25d0aa8fd117efd7bafffe591");
    pinned(of(&(-1, 1.5, 'x', true, None::<u8>, Some("y"))), "43b970c02fa4c6caeaafaf8f41657708");
    pinned(
        of(&(Choice::Unit, Choice::Newtype(1), Choice::Tuple(1, 2), Choice::Struct { a: 1 })),
        "fee8cfb3c2ddf00fe79384b7a2af0dbf",
    );
    pinned(
        of(&(u128::MAX, i128::MIN, Bytes(b"ab"), BTreeMap::from([(2, "b"), (1, "a")]))),
        "d84f60294eec6e431903dde1f35f05bb",
    );
}

#[test]
fn integers_agree_by_value() {
    let five = of(&5_u8);
    for other in [
        of(&5_u16),
        of(&5_u32),
        of(&5_u64),
        of(&5_usize),
        of(&5_u128),
        of(&5_i8),
        of(&5_i64),
        of(&5_i128),
    ] {
        assert_eq!(other, five);
    }
    assert_eq!(of(&-5_i8), of(&-5_i128));
    assert_eq!(of(&u64::MAX), of(&i128::from(u64::MAX)));
    let distinct = [
        of(&0),
        of(&-1),
        of(&1),
        of(&255),
        of(&-256),
        of(&256),
        of(&i128::MIN),
        of(&i128::MAX),
        of(&u128::MAX),
    ];
    all_differ(&distinct);
}

#[test]
fn floats_agree_by_value() {
    assert_eq!(of(&0.0), of(&-0.0));
    assert_eq!(of(&f64::NAN), of(&-f64::NAN));
    assert_eq!(of(&f64::NAN), of(&f64::from_bits(f64::NAN.to_bits() | 7)));
    assert_eq!(of(&1.5_f32), of(&1.5_f64));
    all_differ(&[
        of(&0.0),
        of(&1.0),
        of(&f64::NAN),
        of(&f64::INFINITY),
        of(&f64::NEG_INFINITY),
        of(&0),
    ]);
}

#[test]
fn kinds_differ() {
    all_differ(&[
        of(&()),
        of(&None::<u8>),
        of(&Some(())),
        of(&Some(None::<u8>)),
        of(&Some(1)),
        of(&1),
        of(&1.0),
        of(&true),
        of(&false),
        of(&"1"),
        of(&'1'),
        of(&Bytes(b"1")),
        of(&[0; 0]),
        of(&[1]),
        of(&[[1]]),
        of(&[1, 1]),
        of(&BTreeMap::<u8, u8>::new()),
        of(&BTreeMap::from([(1, 1)])),
        of(&Choice::Unit),
        of("Unit"),
        of(&Choice::Newtype(1)),
        of(&Choice::Tuple(1, 1)),
        of(&Choice::Struct { a: 1 }),
    ]);
}

#[test]
fn texts_do_not_run_into_each_other() {
    all_differ(&[
        of(&("ab", "c")),
        of(&("a", "bc")),
        of(&("abc", "")),
        of("abc"),
        of(&["a", "b", "c"]),
    ]);
    all_differ(&[of(&(vec![1], vec![2])), of(&(vec![1, 2], vec![0; 0])), of(&vec![vec![1, 2]])]);
}

#[test]
fn entries_stay_in_their_map() {
    let nested = |a: [(&'static str, u8); 2], b: [(&'static str, u8); 1]| {
        of(&Entries(vec![("y", Entries(a.to_vec())), ("x", Entries(b.to_vec()))]))
    };
    all_differ(&[
        nested([("b", 1), ("a", 2)], [("c", 3)]),
        nested([("b", 1), ("c", 3)], [("a", 2)]),
        nested([("a", 2), ("c", 3)], [("b", 1)]),
    ]);
    assert_eq!(nested([("a", 2), ("b", 1)], [("c", 3)]), nested([("b", 1), ("a", 2)], [("c", 3)]));
}

#[test]
fn names_of_fields_count_but_neither_order_nor_type() {
    #[derive(Serialize)]
    struct Renamed {
        amount: u64,
        currency: &'static str,
    }
    #[derive(Serialize)]
    struct Reordered {
        currency: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        cents: u16,
    }
    #[derive(Serialize)]
    struct Wrapped(Order);

    let order = of(&Order { cents: 5, currency: "EUR" });
    assert_ne!(of(&Renamed { amount: 5, currency: "EUR" }), order);
    assert_eq!(of(&Reordered { currency: "EUR".into(), note: None, cents: 5 }), order);
    assert_ne!(of(&Reordered { currency: "EUR".into(), note: Some("x".into()), cents: 5 }), order);
    assert_eq!(of(&Wrapped(Order { cents: 5, currency: "EUR" })), order);
}

#[test]
fn depth_is_bounded() {
    #[derive(Serialize)]
    struct Nested(Option<Box<Nested>>);
    let nested =
        |depth: usize| (0..depth).fold(Nested(None), |inner, _| Nested(Some(Box::new(inner))));
    assert!(Fingerprint::of(&nested(60)).is_ok());
    assert_eq!(Fingerprint::of(&nested(10_000)), Err(FingerprintError::TooDeep));
}

#[test]
fn a_value_that_refuses_is_an_error() {
    struct Refuses;
    impl Serialize for Refuses {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("not me"))
        }
    }
    let error = Fingerprint::of(&Refuses).unwrap_err();
    assert_eq!(error.to_string(), "the fingerprint's value cannot be serialised: not me");
}

#[test]
fn none_is_zeros() {
    assert!(Fingerprint::NONE.is_none());
    assert!(Fingerprint::from_bytes([0; 16]).is_none());
    assert!(!of(&()).is_none());
    assert_eq!(Fingerprint::from_bytes(of(&1).to_bytes()), of(&1));
}

fn all_differ(fingerprints: &[Fingerprint]) {
    for (at, one) in fingerprints.iter().enumerate() {
        for (other_at, other) in fingerprints.iter().enumerate().skip(at + 1) {
            assert_ne!(one, other, "{at} and {other_at}");
        }
    }
}

/// Any value, compared as the table in the docs says.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
enum Value {
    Unit,
    Int(i64),
    Float(f64),
    Text(String),
    Option(Option<Box<Value>>),
    Seq(Vec<Value>),
    Map(Vec<(String, Value)>),
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Unit => serializer.serialize_unit(),
            Value::Int(value) => serializer.serialize_i64(*value),
            Value::Float(value) => serializer.serialize_f64(*value),
            Value::Text(value) => serializer.serialize_str(value),
            Value::Option(value) => value.serialize(serializer),
            Value::Seq(values) => values.serialize(serializer),
            Value::Map(entries) => Entries(entries.clone()).serialize(serializer),
        }
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Unit),
        (-2..3_i64).prop_map(Value::Int),
        (-1..2_i8).prop_map(|value| Value::Float(value.into())),
        "[ab]{0,2}".prop_map(Value::Text),
        Just(Value::Option(None)),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|value| Value::Option(Some(Box::new(value)))),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Seq),
            prop::collection::btree_map("[ab]{0,2}", inner, 0..3)
                .prop_map(|map| Value::Map(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_exactly_when_the_values_are(one in values(), other in values()) {
        prop_assert_eq!(of(&one) == of(&other), one == other);
    }

    #[test]
    fn the_order_of_a_map_does_not_matter(
        entries in prop::collection::hash_map("[a-z]{0,3}", values(), 0..20).prop_map(Vec::from_iter),
    ) {
        let map: HashMap<String, Value> = entries.iter().cloned().collect();
        let mut reversed = entries.clone();
        reversed.reverse();
        prop_assert_eq!(of(&Entries(entries.clone())), of(&Entries(reversed)));
        prop_assert_eq!(of(&Entries(entries)), of(&map));
        prop_assert_eq!(of(&map), of(&BTreeMap::from_iter(map)));
    }
}
