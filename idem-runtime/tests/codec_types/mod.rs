//! Types with everything that serde knows, and values of them.

#![allow(dead_code, reason = "not every test needs every type")]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Debug;

use proptest::prelude::*;
use serde::de::{self, DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) trait Value: Serialize + DeserializeOwned + PartialEq + Debug {}

impl<T: Serialize + DeserializeOwned + PartialEq + Debug> Value for T {}

/// A float that equals itself also when it is not a number.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Float(pub(crate) f64);

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits() || (self.0.is_nan() && other.0.is_nan())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Bytes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Bytes, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = seq.next_element()? {
                    bytes.push(byte);
                }
                Ok(Bytes(bytes))
            }
        }
        deserializer.deserialize_byte_buf(Either)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Marker;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Empty {}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Newtype<T>(pub(crate) T);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pair(pub(crate) u8, pub(crate) String);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Bare {
    One,
    Two,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Node {
    Unit,
    Newtype(i64),
    Option(Option<Box<Node>>),
    Boxed(Box<Node>),
    Tuple(u8, String),
    Struct { number: Option<u32>, nodes: Vec<Node> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scalars {
    pub(crate) unit: (),
    pub(crate) flag: bool,
    pub(crate) unsigned: (u8, u16, u32, u64, u128),
    pub(crate) signed: (i8, i16, i32, i64, i128),
    pub(crate) single: f32,
    pub(crate) character: char,
    pub(crate) text: String,
    pub(crate) bytes: Bytes,
    pub(crate) marker: Marker,
    pub(crate) empty: Empty,
    pub(crate) array: [i8; 3],
    pub(crate) pair: Pair,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Everything {
    pub(crate) scalars: Scalars,
    pub(crate) node: Node,
    pub(crate) newtype: Newtype<Option<i16>>,
    pub(crate) result: Result<u8, String>,
    pub(crate) option: Option<String>,
    pub(crate) marker: Option<Empty>,
    pub(crate) list: Vec<Newtype<u16>>,
    pub(crate) set: HashSet<i32>,
    pub(crate) by_text: HashMap<String, Option<u8>>,
    pub(crate) by_number: BTreeMap<i64, Vec<bool>>,
    pub(crate) by_wide: BTreeMap<u128, ()>,
    pub(crate) by_char: BTreeMap<char, Marker>,
    pub(crate) by_bool: BTreeMap<bool, String>,
    pub(crate) by_bare: HashMap<Bare, Bare>,
}

/// What some codec or other does not keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Delicate {
    pub(crate) double: Option<Option<u8>>,
    pub(crate) unit: Option<()>,
    pub(crate) wrapped: Option<Newtype<Option<Newtype<()>>>>,
    pub(crate) marker: Option<Marker>,
    pub(crate) float: Float,
    pub(crate) by_pair: BTreeMap<(u8, u8), bool>,
    pub(crate) by_option: BTreeMap<Option<u8>, bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub(crate) enum Internal {
    Unit,
    Newtype(Pairs),
    Struct { float: Float, inner: Option<Box<Internal>>, bare: Bare },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pairs {
    pub(crate) a: Option<u64>,
    pub(crate) b: HashMap<String, i8>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "content")]
pub(crate) enum Adjacent {
    Unit,
    Newtype(Option<u8>),
    Tuple(u8, char),
    Struct { a: Newtype<bool> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Untagged {
    Small(u8),
    Large(u64),
    Wide(u128),
    Character(char),
    Text(String),
    Bytes(Bytes),
    Narrow(f32),
    Float(Float),
    Option(Option<bool>),
    List(Vec<u8>),
    First { a: u8 },
    Second { a: u8, b: u8 },
    Unit,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flat {
    pub(crate) id: u8,
    #[serde(flatten)]
    pub(crate) known: Pairs,
    #[serde(flatten)]
    pub(crate) rest: HashMap<String, Untagged>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Skipping {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<u8>,
    pub(crate) second: u8,
    #[serde(default = "seven", skip_serializing_if = "Option::is_none")]
    pub(crate) third: Option<u8>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) fourth: Vec<u16>,
}

fn seven() -> Option<u8> {
    Some(7)
}

pub(crate) fn nodes() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![
        Just(Node::Unit),
        Just(Node::Option(None)),
        any::<i64>().prop_map(Node::Newtype),
        any::<(u8, String)>().prop_map(|(number, text)| Node::Tuple(number, text)),
    ];
    leaf.prop_recursive(5, 20, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|node| Node::Option(Some(Box::new(node)))),
            inner.clone().prop_map(|node| Node::Boxed(Box::new(node))),
            (any::<Option<u32>>(), prop::collection::vec(inner, 0..4))
                .prop_map(|(number, nodes)| Node::Struct { number, nodes }),
        ]
    })
}

pub(crate) fn scalars() -> impl Strategy<Value = Scalars> {
    let numbers = (any::<(u8, u16, u32, u64, u128)>(), any::<(i8, i16, i32, i64, i128)>());
    let rest = (any::<bool>(), any::<[i8; 3]>(), any::<char>(), any::<(String, String)>());
    let single = prop::num::f32::NORMAL | prop::num::f32::SUBNORMAL | prop::num::f32::ZERO;
    (numbers, rest, single, any::<Vec<u8>>()).prop_map(
        |((unsigned, signed), (flag, array, character, (text, other)), single, bytes)| Scalars {
            unit: (),
            flag,
            unsigned,
            signed,
            single,
            character,
            text,
            bytes: Bytes(bytes),
            marker: Marker,
            empty: Empty {},
            array,
            pair: Pair(unsigned.0, other),
        },
    )
}

fn bares() -> impl Strategy<Value = Bare> {
    prop_oneof![Just(Bare::One), Just(Bare::Two)]
}

pub(crate) fn everything() -> impl Strategy<Value = Everything> {
    let few = 0..4_usize;
    let maps = (
        prop::collection::hash_map(any::<String>(), any::<Option<u8>>(), few.clone()),
        prop::collection::btree_map(any::<i64>(), any::<Vec<bool>>(), few.clone()),
        prop::collection::btree_map(any::<u128>(), Just(()), few.clone()),
        prop::collection::btree_map(any::<char>(), Just(Marker), few.clone()),
        prop::collection::btree_map(any::<bool>(), any::<String>(), few.clone()),
        prop::collection::hash_map(bares(), bares(), few.clone()),
    );
    let options = (any::<Option<i16>>(), any::<Option<String>>(), any::<bool>());
    let lists = (any::<Vec<u16>>(), prop::collection::hash_set(any::<i32>(), few));
    (scalars(), nodes(), any::<Result<u8, String>>(), options, lists, maps).prop_map(
        |(scalars, node, result, (number, option, marked), (list, set), maps)| Everything {
            scalars,
            node,
            newtype: Newtype(number),
            result,
            option,
            marker: marked.then_some(Empty {}),
            list: list.into_iter().map(Newtype).collect(),
            set,
            by_text: maps.0,
            by_number: maps.1,
            by_wide: maps.2,
            by_char: maps.3,
            by_bool: maps.4,
            by_bare: maps.5,
        },
    )
}

pub(crate) fn delicate() -> impl Strategy<Value = Delicate> {
    let markers = any::<(Option<()>, Option<Option<()>>, bool)>();
    let maps = (
        prop::collection::btree_map(any::<(u8, u8)>(), any::<bool>(), 0..2),
        prop::collection::btree_map(any::<Option<u8>>(), any::<bool>(), 0..3),
    );
    (any::<Option<Option<u8>>>(), markers, prop::num::f64::ANY, maps).prop_map(
        |(double, (unit, wrapped, marked), float, (by_pair, by_option))| Delicate {
            double,
            unit,
            wrapped: wrapped.map(|inner| Newtype(inner.map(Newtype))),
            marker: marked.then_some(Marker),
            float: Float(float),
            by_pair,
            by_option,
        },
    )
}

fn pairs() -> impl Strategy<Value = Pairs> {
    (any::<Option<u64>>(), any::<HashMap<String, i8>>()).prop_map(|(a, b)| Pairs { a, b })
}

pub(crate) fn internals() -> impl Strategy<Value = Internal> {
    let leaf = prop_oneof![Just(Internal::Unit), pairs().prop_map(Internal::Newtype)];
    leaf.prop_recursive(3, 6, 1, |inner| {
        (any::<i32>(), prop::option::of(inner), bares()).prop_map(|(float, inner, bare)| {
            Internal::Struct { float: Float(float.into()), inner: inner.map(Box::new), bare }
        })
    })
}

pub(crate) fn adjacents() -> impl Strategy<Value = Adjacent> {
    prop_oneof![
        Just(Adjacent::Unit),
        any::<Option<u8>>().prop_map(Adjacent::Newtype),
        any::<(u8, char)>().prop_map(|(number, character)| Adjacent::Tuple(number, character)),
        any::<bool>().prop_map(|flag| Adjacent::Struct { a: Newtype(flag) }),
    ]
}

pub(crate) fn untagged() -> impl Strategy<Value = Untagged> {
    prop_oneof![
        any::<u8>().prop_map(Untagged::Small),
        any::<u64>().prop_map(Untagged::Large),
        (0..500_u64).prop_map(Untagged::Large),
        any::<u128>().prop_map(Untagged::Wide),
        any::<char>().prop_map(Untagged::Character),
        "[a-z]{0,3}".prop_map(Untagged::Text),
        any::<Vec<u8>>().prop_map(|bytes| Untagged::Bytes(Bytes(bytes))),
        any::<f32>().prop_map(Untagged::Narrow),
        prop::num::f64::ANY.prop_map(|float| Untagged::Float(Float(float))),
        any::<Option<bool>>().prop_map(Untagged::Option),
        any::<Vec<u8>>().prop_map(Untagged::List),
        any::<u8>().prop_map(|a| Untagged::First { a }),
        any::<(u8, u8)>().prop_map(|(a, b)| Untagged::Second { a, b }),
        Just(Untagged::Unit),
    ]
}

pub(crate) fn flats() -> impl Strategy<Value = Flat> {
    let rest = prop::collection::hash_map("[abx]{0,2}", untagged(), 0..3);
    (any::<u8>(), pairs(), rest).prop_map(|(id, known, rest)| Flat { id, known, rest })
}

pub(crate) fn skipping() -> impl Strategy<Value = Skipping> {
    any::<(Option<u8>, u8, Option<u8>, Vec<u16>)>()
        .prop_map(|(first, second, third, fourth)| Skipping { first, second, third, fourth })
}
