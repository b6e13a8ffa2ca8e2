//! Bytes of one type read as another: by names, or by a shape, they are told apart.

use idem_fuzzing::{Judged, fuzz};
use idem_runtime::codec::{Bincode, Codec, Json, MessagePack};
use proptest::prelude::*;

use super::read::read;
use super::types::{self, Bare, Everything, Node, Pairs, Scalars, Value};

/// What was encoded.
#[derive(Clone, Debug)]
enum Of {
    Node(Node),
    Scalars(Scalars),
    Pairs(Pairs),
    Bare(Bare),
}

fn values() -> impl Strategy<Value = Of> {
    prop_oneof![
        types::nodes().prop_map(Of::Node),
        types::scalars().prop_map(Of::Scalars),
        any::<(Option<u64>, std::collections::HashMap<String, i8>)>()
            .prop_map(|(a, b)| Of::Pairs(Pairs { a, b })),
        any::<bool>().prop_map(|one| Of::Bare(if one { Bare::One } else { Bare::Two })),
    ]
}

fn encoded<C: Codec>(value: &Of) -> Vec<u8> {
    fn of<C: Codec, T: Value>(value: &T) -> Vec<u8> {
        let mut bytes = Vec::new();
        C::encode_checked(value, &mut bytes).map_or_else(|_| Vec::new(), |()| bytes)
    }
    match value {
        Of::Node(value) => of::<C, _>(value),
        Of::Scalars(value) => of::<C, _>(value),
        Of::Pairs(value) => of::<C, _>(value),
        Of::Bare(value) => of::<C, _>(value),
    }
}

/// As which type it is read.
#[derive(Clone, Copy, Debug)]
enum As {
    Node,
    Scalars,
    Pairs,
    Bare,
    Everything,
}

fn read_as<C: Codec>(bytes: &[u8], target: As) -> Judged {
    match target {
        As::Node => read::<C, Node>(bytes),
        As::Scalars => read::<C, Scalars>(bytes),
        As::Pairs => read::<C, Pairs>(bytes),
        As::Bare => read::<C, Bare>(bytes),
        As::Everything => read::<C, Everything>(bytes),
    }
}

fn told_apart<C: Codec>(subject: &str, kinds: &[&'static str]) {
    let targets = vec![As::Node, As::Scalars, As::Pairs, As::Bare, As::Everything];
    let inputs = (values(), prop::sample::select(targets));
    let judge = |(value, target): (Of, As)| -> Judged {
        let is_own = matches!(
            (&value, target),
            (Of::Node(_), As::Node)
                | (Of::Scalars(_), As::Scalars)
                | (Of::Pairs(_), As::Pairs)
                | (Of::Bare(_), As::Bare)
        );
        let bytes = encoded::<C>(&value);
        let kind = read_as::<C>(&bytes, target)?;
        prop_assert!(is_own || kind != "a value", "read as {:?}", target);
        prop_assert!(!is_own || bytes.is_empty() || kind == "a value", "its own: {}", kind);
        Ok(kind)
    };
    fuzz(subject, kinds, 2_000, &inputs, judge);
}

#[test]
fn types_are_told_apart() {
    told_apart::<MessagePack>("MessagePack, another type", &["a value", "no such value"]);
    told_apart::<Json>("JSON, another type", &["a value", "no such value"]);
    let shaped = ["a value", "no such value", "left over", "of another shape"];
    told_apart::<Bincode>("Bincode, another type", &shaped);
}
