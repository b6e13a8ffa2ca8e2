//! Damaged bytes are an error or a value, never a panic, an overflow of the stack or of the memory.

#![allow(
    clippy::unwrap_used,
    reason = "clippy allows it in the tests themselves, not in what they share"
)]

mod codec_types;

use codec_types::*;
#[cfg(feature = "bincode")]
use idem_runtime::codec::Bincode;
use idem_runtime::codec::{Codec, Json, MessagePack};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde::{Deserialize, Serialize};

/// What recurses without a byte for each level: codecs' own limits do not count it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Chain(Option<Box<Chain>>);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Cons {
    Nil,
    Cons(Box<Cons>),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct List(Vec<List>);

fn unreadable<C: Codec, T: Value>(bytes: &[u8]) -> String {
    let error = C::decode::<T>(bytes).unwrap_err();
    assert!(error.is_unreadable());
    std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
}

fn samples() -> Vec<Everything> {
    let mut runner = TestRunner::deterministic();
    (0..3).map(|_| everything().new_tree(&mut runner).unwrap().current()).collect()
}

/// Cut off anywhere it is unreadable; with any byte changed it is some value or unreadable.
fn damaged<C: Codec>() {
    for value in samples() {
        let mut bytes = Vec::new();
        if C::encode_checked(&value, &mut bytes).is_err() {
            continue;
        }
        assert_eq!(C::decode::<Everything>(&bytes).unwrap(), value);
        for end in 0..bytes.len() {
            unreadable::<C, Everything>(&bytes[..end]);
        }
        for at in 0..bytes.len() {
            let was = bytes[at];
            for other in [0, 1, 0x80, 0xc0, 0xdd, 0xfd, 0xff, was ^ 1, was ^ 0x40] {
                bytes[at] = other;
                if let Ok(read) = C::decode::<Everything>(&bytes) {
                    // It is a value like any other: it can be kept in its turn.
                    let _ = C::encode_checked(&read, &mut Vec::new());
                }
            }
            bytes[at] = was;
        }
    }
}

#[test]
fn damage_in_message_pack() {
    damaged::<MessagePack>();
}

#[test]
fn damage_in_json() {
    damaged::<Json>();
}

#[cfg(feature = "bincode")]
#[test]
fn damage_in_bincode() {
    damaged::<Bincode>();
    // A damaged shape is always found out.
    let mut bytes = Vec::new();
    Bincode::encode(&samples()[0], &mut bytes).unwrap();
    for bit in 0..64 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        unreadable::<Bincode, Everything>(&bytes);
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in any::<Vec<u8>>()) {
        fn read<T: Value>(bytes: &[u8]) {
            let _ = MessagePack::decode::<T>(bytes);
            let _ = Json::decode::<T>(bytes);
            #[cfg(feature = "bincode")]
            let _ = Bincode::decode::<T>(bytes);
        }
        read::<Everything>(&bytes);
        read::<Node>(&bytes);
        read::<Untagged>(&bytes);
        read::<Vec<String>>(&bytes);
        read::<Flat>(&bytes);
        read::<serde_json::Value>(&bytes);
    }
}

#[test]
fn a_depth_of_ten_thousand_in_message_pack() {
    let cons = b"\x81\xa4Cons".repeat(10_000);
    for message in [
        unreadable::<MessagePack, Cons>(&cons),
        unreadable::<MessagePack, List>(&[0x91; 10_000]),
        unreadable::<MessagePack, serde_json::Value>(&[0x91; 10_000]),
        // A number is neither nothing nor a link, so this goes on for ever without a bound.
        unreadable::<MessagePack, Chain>(&[7]),
    ] {
        assert_eq!(message, "nested more than 128 deep");
    }
}

/// What stands behind a value is looked at, too.
#[test]
fn a_depth_of_ten_thousand_behind_a_value() {
    let left_over = "it holds more than its type asks for";
    for behind in [&[0x91; 10_000][..], &[0xc1], &[7]] {
        let message = unreadable::<MessagePack, u8>(&[&[7], behind].concat());
        assert!(message.contains(left_over), "{message}");
    }
    let message = unreadable::<Json, u8>(&[b"7".as_slice(), &[b'['; 10_000]].concat());
    assert!(message.contains(left_over), "{message}");
    #[cfg(feature = "bincode")]
    assert!(unreadable::<Bincode, u8>(&[1; 10_000]).contains(left_over));
}

#[test]
fn a_depth_of_ten_thousand_in_json() {
    unreadable::<Json, Cons>(&b"{\"Cons\":".repeat(10_000));
    unreadable::<Json, List>(&[b'['; 10_000]);
    unreadable::<Json, serde_json::Value>(&[b'['; 10_000]);
    unreadable::<Json, Untagged>(&[b'['; 10_000]);
    assert!(unreadable::<Json, Chain>(b"7").starts_with("nested more than 128 deep"));
    // Fields that the type does not know are skipped, without end.
    let skipped = [b"{\"Struct\":{\"other\":".as_slice(), &[b'['; 10_000]].concat();
    unreadable::<Json, Node>(&skipped);
    let skipped = [b"\x81\xa6Struct\x81\xa5other".as_slice(), &[0x91; 10_000]].concat();
    unreadable::<MessagePack, Node>(&skipped);
}

#[cfg(feature = "bincode")]
#[test]
fn a_depth_of_ten_thousand_in_bincode() {
    assert!(unreadable::<Bincode, Cons>(&[1; 10_000]).contains("nested more than 128 deep"));
    assert!(unreadable::<Bincode, List>(&[1; 10_000]).contains("nested more than 128 deep"));
    assert!(unreadable::<Bincode, Chain>(&[1; 10_000]).contains("nested more than 128 deep"));
}

/// What the process has asked the system for, in bytes.
#[cfg(target_os = "linux")]
fn address_space() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmPeak:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// A length of four gigabytes, or of everything, before a handful of bytes.
#[cfg(target_os = "linux")]
#[test]
fn a_damaged_length_allocates_nothing_of_its_size() {
    let before = address_space();
    for head in [[0xdb, 0xff, 0xff, 0xff, 0xff], [0xc6, 0xff, 0xff, 0xff, 0xff]] {
        unreadable::<MessagePack, String>(&head);
        unreadable::<MessagePack, Bytes>(&head);
    }
    unreadable::<MessagePack, Vec<u64>>(&[0xdd, 0xff, 0xff, 0xff, 0xff]);
    unreadable::<MessagePack, std::collections::HashMap<u64, u64>>(&[0xdf, 0xff, 0xff, 0xff, 0xff]);
    #[cfg(feature = "bincode")]
    {
        let four_gigabytes = [&[0; 8], &[0xfc, 0xff, 0xff, 0xff, 0xff][..], b"few"].concat();
        let everything = [&[0; 8], &[0xfd][..], &[0xff; 8], b"few"].concat();
        for bytes in [four_gigabytes, everything] {
            unreadable::<Bincode, String>(&bytes);
            unreadable::<Bincode, Bytes>(&bytes);
            unreadable::<Bincode, Vec<u64>>(&bytes);
            unreadable::<Bincode, Vec<String>>(&bytes);
            unreadable::<Bincode, std::collections::HashMap<u64, u64>>(&bytes);
            // Units take no bytes, so the end of the bytes does not end them.
            let message = unreadable::<Bincode, Vec<()>>(&bytes);
            assert!(message.contains("more elements than its bytes can hold"), "{message}");
        }
    }
    // Other tests run beside this one, so leave room for their stacks and heaps.
    assert!(address_space() - before < 2 << 30);
}
