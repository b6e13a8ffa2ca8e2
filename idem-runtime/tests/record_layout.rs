//! The layout of a record, byte for byte: what is stored from the first release on is read by every later
//! version.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use idem_runtime::record::{Flags, Owner, Payload, Record, Standing, State};
use idem_runtime::{Fingerprint, Key, RecordKey};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

fn reservation() -> Record {
    Record {
        fence: 0x0102_0304_0506_0708,
        attempt: 3,
        retention_ms: 86_400_000,
        ..Record::reservation(
            Owner::from_bytes(*b"0123456789abcdef"),
            Fingerprint::from_bytes(*b"FEDCBA9876543210"),
            1_764_000_000_123,
        )
    }
}

const RESERVED: &str = "
    01 00
    30313233 34353637 38396162 63646566
    46454443 42413938 37363534 33323130
    00000000 05265c00
    01020304 05060708
    0000019a b697e87b
    00000003
    00 00
    df05dbbd";

const COMPLETED: &str = "
    01 01
    30313233 34353637 38396162 63646566
    46454443 42413938 37363534 33323130
    00000000 05265c00
    01020304 05060708
    0000019a b697e87b
    00000003
    03 02
    00000007
    00000005 1f7741ab
    68656c6c 6f";

#[test]
fn a_reservation() {
    assert_eq!(reservation().to_bytes(), bytes(RESERVED));
    assert_eq!(Standing::from_bytes(&bytes(RESERVED)), Standing::Record(reservation()));
}

fn hello() -> Payload {
    let payload = Payload::of(|out| {
        out.extend_from_slice(b"hello");
        Ok::<(), ()>(())
    });
    payload.unwrap()
}

/// A reservation that carries something along, as a run's does.
fn carrying() -> Record {
    Record { codec: 4, payload: hello(), ..reservation() }
}

#[test]
fn a_reservation_that_carries_something_along() {
    let bytes = carrying().to_bytes();
    assert_eq!(bytes[..62], reservation().to_bytes()[..62]);
    assert_eq!(bytes[62..], self::bytes("00 04 df05dbbd 00000005 c5a2a65f 68656c6c 6f"));
    assert_eq!(Standing::from_bytes(&bytes), Standing::Record(carrying()));
    // A renewal and a fence leave alone what it carries.
    let renewed = Record { retention_ms: 1, fence: 2, ..carrying() };
    assert_eq!(renewed.to_bytes()[68..], bytes[68..]);
}

#[test]
fn a_completed_record() {
    let completed = Record {
        state: State::Completed,
        flags: Flags::ERROR.with(Flags::NOT_KEPT),
        codec: 2,
        value_version: 7,
        payload: hello(),
        ..reservation()
    };
    assert_eq!(completed.to_bytes(), bytes(COMPLETED));
    let Standing::Record(read) = Standing::from_bytes(&bytes(COMPLETED)) else {
        panic!("readable")
    };
    assert_eq!(read, completed);
    assert_eq!(read.payload.value().unwrap(), b"hello");
}

#[test]
fn what_cannot_be_read_is_foreign() {
    let good = bytes(RESERVED);
    for version in [0, 2, 255] {
        let mut other = good.clone();
        other[0] = version;
        assert!(matches!(Standing::from_bytes(&other), Standing::Foreign(_)));
    }
    for state in 2..=255 {
        let mut other = good.clone();
        other[1] = state;
        assert!(matches!(Standing::from_bytes(&other), Standing::Foreign(_)));
    }
    for len in 0..good.len() {
        assert!(matches!(Standing::from_bytes(&good[..len]), Standing::Foreign(_)));
    }
}

/// With each bit changed in turn.
fn damaged(good: &[u8], places: std::ops::Range<usize>) -> impl Iterator<Item = Vec<u8>> {
    places.flat_map(|at| (0..8).map(move |bit| (at, bit))).map(|(at, bit)| {
        let mut damaged = good.to_vec();
        damaged[at] ^= 1 << bit;
        damaged
    })
}

#[test]
fn a_damaged_outcome_has_no_value() {
    let good = bytes(COMPLETED);
    // Behind version and state.
    for bytes in damaged(&good, 2..good.len()) {
        let Standing::Record(read) = Standing::from_bytes(&bytes) else { panic!("readable") };
        assert!(read.is_damaged() && read.payload.value().is_err());
        assert_eq!(read.to_bytes(), bytes);
    }
    assert!(matches!(Standing::from_bytes(&with_state(&good, 0)), Standing::Foreign(_)));
}

#[test]
fn a_damaged_reservation_is_foreign() {
    let good = bytes(RESERVED);
    // Owner, retention, checksum.
    for place in [2..18, 34..42, 64..68] {
        for bytes in damaged(&good, place) {
            assert!(matches!(Standing::from_bytes(&bytes), Standing::Foreign(_)));
        }
    }
    let longer = [&good[..], &[0]].concat();
    assert!(matches!(Standing::from_bytes(&longer), Standing::Foreign(_)));
    let carrying = carrying().to_bytes();
    for bytes in damaged(&carrying, 68..carrying.len()) {
        assert!(matches!(Standing::from_bytes(&bytes), Standing::Foreign(_)));
    }
    let Standing::Record(read) = Standing::from_bytes(&with_state(&good, 1)) else {
        panic!("readable")
    };
    assert!(read.is_damaged());
}

fn with_state(good: &[u8], state: u8) -> Vec<u8> {
    let mut bytes = good.to_vec();
    bytes[1] = state;
    bytes
}

#[test]
fn a_flag_twice_is_a_flag() {
    let both = Flags::ERROR.with(Flags::NOT_KEPT);
    assert_eq!(both.with(Flags::ERROR), both);
    assert!(both.contains(Flags::NOT_KEPT) && !Flags::ERROR.contains(both));
}

/// A value and a key may be confidential.
#[test]
fn what_is_shown_names_no_key_and_no_value() {
    let payload = Payload::of(|out| {
        out.extend_from_slice(b"secret");
        Ok::<(), ()>(())
    });
    let flags = Flags::ERROR.with(Flags::NOT_KEPT);
    let record = Record { payload: payload.unwrap(), flags, ..reservation() };
    let shown = format!("{record:?}");
    for part in
        ["Owner(30313233343536373839616263646566)", "Payload(6 bytes)", r#"{"error", "not kept"}"#]
    {
        assert!(shown.contains(part), "{part} is missing in {shown}");
    }
    let mut bytes = Record { state: State::Completed, ..record }.to_bytes();
    *bytes.last_mut().unwrap() ^= 1;
    let damaged = format!("{:?}", Standing::from_bytes(&bytes));
    assert!(damaged.contains("damaged") && !damaged.contains("115, 101"), "{damaged}");
    let key = RecordKey::new("shop".into(), "charge".into(), Key::of("secret").unwrap());
    assert_eq!(key.key_tag(), blake3::hash(b"secret").to_hex()[..8]);
    assert_eq!(format!("{key:?}"), format!("RecordKey(charge, #{})", key.key_tag()));
}

/// Two names are one exactly if all their parts are.
#[test]
fn each_part_of_a_name_tells_records_apart() {
    let name = |prefix: &str, operation: &'static str, key: &str| {
        RecordKey::new(prefix.into(), operation.into(), Key::of(key).unwrap())
    };
    let one = name("shop", "charge", "k");
    assert_eq!(one, name("shop", "charge", "k"));
    assert_eq!(one.local_hash(), name("shop", "charge", "k").local_hash());
    for other in
        [name("bar", "charge", "k"), name("shop", "refund", "k"), name("shop", "charge", "l")]
    {
        assert_ne!(one, other);
    }
    assert_eq!((one.prefix(), one.operation(), one.key()), ("shop", "charge", "k"));
    assert_eq!(name("", "charge", "k").prefix(), "");
    // What maps and shards go by.
    let names: Vec<_> = (0..100_u32).map(|n| name("", "charge", &n.to_string())).collect();
    let hashes: HashSet<_> = names.iter().map(RecordKey::local_hash).collect();
    assert_eq!(hashes.len(), names.len());
    let hasher = RandomState::new();
    let hashes: HashSet<_> = names.iter().map(|name| hasher.hash_one(name)).collect();
    assert_eq!(hashes.len(), names.len());
}
