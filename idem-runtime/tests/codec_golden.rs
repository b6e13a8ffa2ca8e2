//! Stored bytes, pinned: a change here makes every stored result unreadable.

#![allow(
    clippy::unwrap_used,
    reason = "clippy allows it in the tests themselves, not in what they share"
)]

mod codec_types;

use std::collections::BTreeMap;

use codec_types::*;
#[cfg(feature = "bincode")]
use idem_runtime::codec::Bincode;
use idem_runtime::codec::{Codec, Json, MessagePack};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Receipt {
    id: String,
    cents: u64,
    paid: bool,
    note: Option<String>,
    lines: Vec<Line>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Line {
    Nothing,
    Item(u32),
    Pair(i8, char),
    Named { by: BTreeMap<u8, f64> },
}

fn receipt() -> Receipt {
    let named = Line::Named { by: BTreeMap::from([(1, 1.5)]) };
    Receipt {
        id: "r-1".into(),
        cents: 1250,
        paid: true,
        note: None,
        lines: vec![Line::Nothing, Line::Item(7), Line::Pair(-1, 'é'), named],
    }
}

fn pinned<C: Codec, T: Value>(value: &T, hex: &str) {
    let mut bytes = Vec::new();
    C::encode(value, &mut bytes).unwrap();
    let found: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(found, hex);
    let read: T = C::decode(&bytes).unwrap();
    assert_eq!(read, *value);
}

#[test]
fn ids() {
    assert_eq!(MessagePack::ID, 1);
    assert_eq!(Json::ID, 3);
    #[cfg(feature = "bincode")]
    assert_eq!(Bincode::ID, 2);
}

#[test]
fn message_pack() {
    pinned::<MessagePack, _>(
        &receipt(),
        "85a26964a3722d31a563656e7473cd04e2a470616964c3a46e6f7465c0a56c696e657394a74e6f74\
         68696e6781a44974656d0781a45061697292ffa2c3a981a54e616d656481a262798101cb3ff80000\
         00000000",
    );
}

#[test]
fn json() {
    let text = "{\"id\":\"r-1\",\"cents\":1250,\"paid\":true,\"note\":null,\"lines\":[\"Nothing\",\
                {\"Item\":7},{\"Pair\":[-1,\"é\"]},{\"Named\":{\"by\":{\"1\":1.5}}}]}";
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    pinned::<Json, _>(&receipt(), &hex);
}

/// The first eight bytes are the shape.
#[cfg(feature = "bincode")]
#[test]
fn bincode() {
    pinned::<Bincode, _>(
        &receipt(),
        "99b9f19b298f2b3a03722d31fbe20401000400010702ffc3a9030101000000000000f83f",
    );
    pinned::<Bincode, _>(&(), "598fda724f4262d9");
    pinned::<Bincode, _>(&5_u8, "e082b5f4db7719d705");
    pinned::<Bincode, _>(&5_u16, "d315a7e451b0a39705");
    pinned::<Bincode, _>(&Some(Some(Newtype(-5_i32))), "fe412e04bb5e032d010109");
    pinned::<Bincode, _>(&[1_u64, 2], "b4a6842b564968860102");
    pinned::<Bincode, _>(
        &(Bytes(vec![1, 2]), Marker, Empty {}, u128::MAX),
        "7192163240b6b89d020102feffffffffffffffffffffffffffffffff",
    );
    pinned::<Bincode, _>(&BTreeMap::from([(Bare::Two, 'x')]), "18d441f01f150f47010178");
}
