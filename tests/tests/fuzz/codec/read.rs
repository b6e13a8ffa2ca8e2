//! One reading of bytes, and what has to hold of it.

use std::error::Error;

use allocation_counter::measure;
use idem_fuzzing::Judged;
use idem_runtime::codec::{Codec, CodecError};
use proptest::prelude::*;

use super::types::Value;

/// What reading may hold at once: so much, and so much for each byte.
///
/// The first is for types that nest: each level makes room for some elements before they come.
const ROOM: usize = 4 << 20;
const ROOM_OF_A_BYTE: usize = 256;

/// Reads bytes as a value; what comes of it is a value that can be kept, or an error that says why
/// not.
pub(crate) fn read<C: Codec, T: Value>(bytes: &[u8]) -> Judged {
    let mut read = None;
    let counted = measure(|| read = Some(C::decode::<T>(bytes)));
    let most = ROOM + bytes.len() * ROOM_OF_A_BYTE;
    prop_assert!(
        counted.bytes_max <= most as u64,
        "{} bytes for {}",
        counted.bytes_max,
        bytes.len()
    );
    match read.unwrap() {
        Ok(value) => {
            let mut again = Vec::new();
            if C::encode_checked(&value, &mut again).is_ok() {
                let read = C::decode::<T>(&again).unwrap();
                #[allow(clippy::eq_op, reason = "some value of it is not a number")]
                let is_itself = value == value;
                prop_assert!(read == value || !is_itself, "{:?} reads back as {:?}", value, read);
            }
            Ok("a value")
        }
        Err(error) => {
            prop_assert!(error.is_unreadable(), "{}", error);
            Ok(why(&error))
        }
    }
}

/// The reason, as far as it is told.
fn why(error: &CodecError) -> &'static str {
    let text = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    [
        ("nested more than", "too deep"),
        ("recursion limit", "too deep"),
        ("depth limit", "too deep"),
        ("more than its type asks for", "left over"),
        ("other fields or variants", "of another shape"),
        ("before its shape does", "shorter than a shape"),
        ("more elements than", "more than its bytes can hold"),
    ]
    .into_iter()
    .find_map(|(part, kind)| text.contains(part).then_some(kind))
    .unwrap_or("no such value")
}
