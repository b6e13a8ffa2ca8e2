//! A result that another version of its type wrote is read as documented, or is unreadable.

#![allow(
    clippy::unwrap_used,
    reason = "clippy allows it in the tests themselves, not in what they share"
)]

mod codec_types;

use codec_types::Value;
#[cfg(feature = "bincode")]
use idem_runtime::codec::Bincode;
use idem_runtime::codec::{Codec, Json, MessagePack};
use serde::{Deserialize, Serialize};

macro_rules! types {
    ($($(#[$meta:meta])* $kind:ident $name:ident $body:tt)*) => {$(
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        $(#[$meta])*
        $kind $name $body
    )*};
}

fn written<C: Codec, T: Value>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    C::encode_checked(value, &mut bytes).unwrap();
    bytes
}

fn reads<C: Codec, T: Value>(bytes: &[u8], expected: &T) {
    assert_eq!(C::decode::<T>(bytes).unwrap(), *expected);
}

fn unreadable<C: Codec, T: Value>(bytes: &[u8]) -> String {
    let error = C::decode::<T>(bytes).unwrap_err();
    assert!(error.is_unreadable() && !error.is_not_kept(), "{error}");
    error.to_string()
}

types! {
    struct Receipt { id: u32, cents: u32, note: String }
    struct Renamed { id: u32, amount: u32, note: String }
    struct Reordered { cents: u32, id: u32, note: String }
    struct Removed { id: u32, cents: u32 }
    struct RemovedFirst { cents: u32, note: String }
    struct Added { id: u32, cents: u32, note: String, more: u8 }
    struct Defaulted { id: u32, #[serde(default)] more: u8, cents: u32, note: String }
    struct Retyped { id: u32, cents: i32, note: String }
    struct Widened { id: u64, cents: u64, note: String }
    struct Optional { id: u32, cents: Option<u32>, note: String }
    struct OtherName { id: u32, cents: u32, note: String }
    #[serde(deny_unknown_fields)]
    struct Strict { id: u32, cents: u32 }
}

fn receipt() -> Receipt {
    Receipt { id: 1, cents: 2, note: "x".into() }
}

fn described<C: Codec>() {
    let note = || String::from("x");
    let bytes = written::<C, _>(&receipt());
    reads::<C, _>(&bytes, &OtherName { id: 1, cents: 2, note: note() });
    reads::<C, _>(&bytes, &Reordered { id: 1, cents: 2, note: note() });
    reads::<C, _>(&bytes, &Removed { id: 1, cents: 2 });
    reads::<C, _>(&bytes, &RemovedFirst { cents: 2, note: note() });
    reads::<C, _>(&bytes, &Defaulted { id: 1, more: 0, cents: 2, note: note() });
    reads::<C, _>(&bytes, &Widened { id: 1, cents: 2, note: note() });
    reads::<C, _>(&bytes, &Optional { id: 1, cents: Some(2), note: note() });
    reads::<C, _>(&bytes, &Retyped { id: 1, cents: 2, note: note() });
    unreadable::<C, Renamed>(&bytes);
    unreadable::<C, Added>(&bytes);
    unreadable::<C, Strict>(&bytes);
    unreadable::<C, String>(&bytes);
    unreadable::<C, u8>(&bytes);
    unreadable::<C, Vec<u8>>(&bytes);
    let too_large = Receipt { cents: u32::MAX, ..receipt() };
    unreadable::<C, Retyped>(&written::<C, _>(&too_large));
}

#[test]
fn structs_in_message_pack() {
    described::<MessagePack>();
}

#[test]
fn structs_in_json() {
    described::<Json>();
}

#[cfg(feature = "bincode")]
#[test]
fn structs_in_bincode() {
    let bytes = written::<Bincode, _>(&receipt());
    reads::<Bincode, _>(&bytes, &OtherName { id: 1, cents: 2, note: "x".into() });
    for message in [
        unreadable::<Bincode, Renamed>(&bytes),
        unreadable::<Bincode, Reordered>(&bytes),
        unreadable::<Bincode, Retyped>(&bytes),
        unreadable::<Bincode, Widened>(&bytes),
    ] {
        assert!(message.ends_with("its type had other fields or variants then"), "{message}");
    }
    unreadable::<Bincode, Removed>(&bytes);
    unreadable::<Bincode, RemovedFirst>(&bytes);
    unreadable::<Bincode, Added>(&bytes);
    unreadable::<Bincode, Defaulted>(&bytes);
    unreadable::<Bincode, Optional>(&bytes);
    unreadable::<Bincode, (u32, u32, String)>(&bytes);
}

types! {
    enum Status { Open, Paid(u32), Closed { by: u32 } }
    enum Appended { Open, Paid(u32), Closed { by: u32 }, New }
    enum Inserted { Open, New(u32), Paid(u32), Closed { by: u32 } }
    enum Dropped { Paid(u32), Closed { by: u32 } }
    enum Swapped { Open, Closed { by: u32 }, Paid(u32) }
    enum RenamedVariant { Open, Settled(u32), Closed { by: u32 } }
    enum OtherContent { Open, Paid { cents: u32 }, Closed { at: u32 } }
}

fn statuses() -> [(Status, Appended, Swapped, Inserted); 3] {
    [
        (Status::Open, Appended::Open, Swapped::Open, Inserted::Open),
        (Status::Paid(1), Appended::Paid(1), Swapped::Paid(1), Inserted::Paid(1)),
        (
            Status::Closed { by: 1 },
            Appended::Closed { by: 1 },
            Swapped::Closed { by: 1 },
            Inserted::Closed { by: 1 },
        ),
    ]
}

fn described_variants<C: Codec>() {
    for (status, appended, swapped, inserted) in statuses() {
        let bytes = written::<C, _>(&status);
        reads::<C, _>(&bytes, &appended);
        reads::<C, _>(&bytes, &swapped);
        reads::<C, _>(&bytes, &inserted);
    }
    unreadable::<C, Dropped>(&written::<C, _>(&Status::Open));
    unreadable::<C, RenamedVariant>(&written::<C, _>(&Status::Paid(1)));
    unreadable::<C, OtherContent>(&written::<C, _>(&Status::Paid(1)));
    unreadable::<C, OtherContent>(&written::<C, _>(&Status::Closed { by: 1 }));
    // What an older process reads of a newer one.
    unreadable::<C, Status>(&written::<C, _>(&Appended::New));
}

#[test]
fn variants_in_message_pack() {
    described_variants::<MessagePack>();
}

#[test]
fn variants_in_json() {
    described_variants::<Json>();
}

#[cfg(feature = "bincode")]
#[test]
fn variants_in_bincode() {
    for (status, appended, ..) in statuses() {
        reads::<Bincode, _>(&written::<Bincode, _>(&status), &appended);
    }
    let open = written::<Bincode, _>(&Status::Open);
    let paid = written::<Bincode, _>(&Status::Paid(1));
    let closed = written::<Bincode, _>(&Status::Closed { by: 1 });
    reads::<Bincode, _>(&open, &Inserted::Open);
    reads::<Bincode, _>(&open, &RenamedVariant::Open);
    reads::<Bincode, _>(&closed, &RenamedVariant::Closed { by: 1 });
    unreadable::<Bincode, Inserted>(&paid);
    unreadable::<Bincode, Inserted>(&closed);
    unreadable::<Bincode, Dropped>(&open);
    unreadable::<Bincode, Swapped>(&paid);
    unreadable::<Bincode, Swapped>(&closed);
    unreadable::<Bincode, RenamedVariant>(&paid);
    unreadable::<Bincode, OtherContent>(&paid);
    unreadable::<Bincode, OtherContent>(&closed);
    unreadable::<Bincode, Status>(&written::<Bincode, _>(&Appended::New));
}

/// An alias helps where names are stored; bincode knows a field by its name and its aliases.
#[test]
fn a_renamed_field_with_an_alias() {
    types! {
        struct Aliased { id: u32, #[serde(alias = "cents")] amount: u32, note: String }
    }
    let expected = Aliased { id: 1, amount: 2, note: "x".into() };
    reads::<MessagePack, _>(&written::<MessagePack, _>(&receipt()), &expected);
    reads::<Json, _>(&written::<Json, _>(&receipt()), &expected);
    #[cfg(feature = "bincode")]
    unreadable::<Bincode, Aliased>(&written::<Bincode, _>(&receipt()));
}

#[test]
fn bytes_after_the_value_are_not_ignored() {
    fn longer<C: Codec>(more: &[u8]) {
        let mut bytes = written::<C, _>(&receipt());
        bytes.extend_from_slice(more);
        let message = unreadable::<C, Receipt>(&bytes);
        assert!(message.contains("holds more than its type asks for"), "{message}");
    }
    longer::<MessagePack>(&[0xc0]);
    longer::<MessagePack>(&[0x00, 0x00]);
    longer::<MessagePack>(&[0xc1]);
    longer::<MessagePack>(&[0xda]);
    longer::<Json>(b"1");
    reads::<Json, _>(b" {\"id\":1,\"cents\":2,\"note\":\"x\"}\n", &receipt());
    #[cfg(feature = "bincode")]
    longer::<Bincode>(&[0]);
}

#[test]
fn codecs_do_not_read_each_other() {
    unreadable::<MessagePack, Receipt>(&written::<Json, _>(&receipt()));
    unreadable::<Json, Receipt>(&written::<MessagePack, _>(&receipt()));
    #[cfg(feature = "bincode")]
    {
        unreadable::<Bincode, Receipt>(&written::<MessagePack, _>(&receipt()));
        unreadable::<Bincode, Receipt>(&written::<Json, _>(&receipt()));
        unreadable::<MessagePack, Receipt>(&written::<Bincode, _>(&receipt()));
        unreadable::<Json, Receipt>(&written::<Bincode, _>(&receipt()));
    }
}
