//! Bytes of a value with pieces changed, put in, left out, repeated, and with lengths that promise
//! gigabytes.

use std::ops::Range;

use idem_fuzzing::fuzz;
use idem_runtime::codec::{Bincode, Codec, Json, MessagePack};
use proptest::prelude::*;
use proptest::sample::Index;

use super::read::read;
use super::types::{self, Node, Scalars, Untagged, Value};

/// Heads of lists, maps, texts and bytes that would be gigabytes long, in each codec; and what nests.
const CLAIMS: [&[u8]; 11] = [
    &[0xdd, 0xff, 0xff, 0xff, 0xff],
    &[0xdf, 0x7f, 0xff, 0xff, 0xff],
    &[0xdb, 0xff, 0xff, 0xff, 0xff],
    &[0xc6, 0xff, 0xff, 0xff, 0xff],
    &[0xfc, 0xff, 0xff, 0xff, 0xff],
    &[0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
    b"\x81\xa6Struct\x82\xa6number\xc0\xa5nodes\xdd\xff\xff\xff\xff",
    b"\x05\x00\xfc\xff\xff\xff\xff",
    b"{\"Boxed\":",
    b"[[[[",
    b"\x81\xa5Boxed",
];

#[derive(Clone, Debug)]
enum Change {
    Byte(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Claim(Index, &'static [u8]),
    /// A piece again and again.
    Repeat(Index, usize, usize),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let at = any::<Index>;
    let change = prop_oneof![
        4 => (at(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        1 => (at(), any::<Vec<u8>>()).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        2 => (at(), 1..20_usize).prop_map(|(at, len)| Change::Remove(at, len)),
        2 => (at(), prop::sample::select(CLAIMS.as_slice()))
            .prop_map(|(at, claim)| Change::Claim(at, claim)),
        1 => (at(), 1..12_usize, 1..300_usize)
            .prop_map(|(at, len, times)| Change::Repeat(at, len, times)),
    ];
    prop::collection::vec(change, 0..4)
}

/// A claim many times over, before and behind what else there is.
fn claims() -> impl Strategy<Value = Vec<u8>> {
    let claim = prop::sample::select(CLAIMS.as_slice());
    (any::<[u8; 8]>(), any::<bool>(), claim, 1..400_usize, any::<Vec<u8>>()).prop_map(
        |(shape, shaped, claim, times, rest)| {
            let shape = if shaped { &shape[..] } else { &[] };
            [shape, &claim.repeat(times), &rest].concat()
        },
    )
}

fn changed(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        let (at, len, by) = match change {
            Change::Byte(at, byte) => (at, 1, vec![*byte]),
            Change::Insert(at, more) => (at, 0, more.clone()),
            Change::Remove(at, len) => (at, *len, Vec::new()),
            Change::Claim(at, claim) => (at, claim.len(), claim.to_vec()),
            Change::Repeat(at, len, times) => {
                let piece = piece(&bytes, at, *len);
                (at, 0, bytes[piece].repeat(*times))
            }
        };
        let piece = piece(&bytes, at, len);
        bytes.splice(piece, by);
    }
    bytes
}

/// So many bytes from some place, as far as there are.
fn piece(bytes: &[u8], at: &Index, len: usize) -> Range<usize> {
    let at = at.index(bytes.len() + 1);
    at..(at + len).min(bytes.len())
}

fn damaged<C: Codec, T: Value>(
    subject: &str,
    kinds: &[&'static str],
    cases: u32,
    values: impl Strategy<Value = T>,
) {
    let inputs = prop_oneof![
        9 => (values, changes()).prop_map(|(value, changes)| {
            let mut bytes = Vec::new();
            let _ = C::encode_checked(&value, &mut bytes);
            changed(bytes, &changes)
        }),
        1 => claims(),
    ];
    fuzz(subject, kinds, cases, &inputs, |bytes| read::<C, T>(&bytes));
}

const SAID: [&str; 4] = ["a value", "no such value", "left over", "too deep"];

#[test]
fn message_pack() {
    damaged::<MessagePack, Scalars>("MessagePack, scalars", &SAID[..2], 1_000, types::scalars());
    damaged::<MessagePack, Node>("MessagePack, a type that nests", &SAID, 3_000, types::nodes());
    damaged::<MessagePack, Untagged>("MessagePack, untagged", &SAID, 1_500, types::untagged());
}

#[test]
fn json() {
    damaged::<Json, Scalars>("JSON, scalars", &SAID[..2], 1_000, types::scalars());
    damaged::<Json, Node>("JSON, a type that nests", &SAID, 3_000, types::nodes());
    damaged::<Json, Untagged>("JSON, untagged", &SAID, 1_500, types::untagged());
}

#[test]
fn bincode() {
    let few = ["a value", "no such value", "left over", "of another shape", "shorter than a shape"];
    damaged::<Bincode, Scalars>("Bincode, scalars", &few[..3], 1_000, types::scalars());
    let nests = [&few[..], &["too deep"]].concat();
    damaged::<Bincode, Node>("Bincode, a type that nests", &nests, 3_000, types::nodes());
    let units = [&few[..], &["more than its bytes can hold"]].concat();
    let values = prop::collection::vec(Just(()), 0..300);
    damaged::<Bincode, Vec<()>>("Bincode, a type of no bytes", &units, 3_000, values);
}
