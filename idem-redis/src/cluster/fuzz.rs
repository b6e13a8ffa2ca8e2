//! Maps and redirections by chance.

use std::time::Duration;

use idem_fuzzing::{Judged, fuzz};
use proptest::prelude::*;
use redis::{RedisConnectionInfo, Value};

use super::map::{Address, Map, Node, ranges};
use super::redirect::{Redirect, is_lost};
use crate::builder::Times;
use crate::fuzz::values::{texts, values};
use crate::place::{Certificates, Manner};

const SLOTS: i64 = 16_384;

fn node(address: &Address) -> redis::RedisResult<std::sync::Arc<Node>> {
    let (login, certificates) = (RedisConnectionInfo::default(), Certificates::default());
    let second = Duration::from_secs(1);
    let times = Times { connect: second, command: second };
    Node::new(&address.0, address.1, &Manner { login, encrypted: false, certificates }, times)
}

/// A map as nodes tell it, with something else in some places.
fn maps() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        8 => (0..SLOTS).prop_map(Value::Int),
        1 => prop_oneof![Just(-1), Just(SLOTS), any::<i64>()].prop_map(Value::Int),
        1 => values(),
    ];
    let text =
        || prop_oneof![8 => texts().prop_map(|text| Value::BulkString(text.into())), 1 => values()];
    let port = prop_oneof![8 => (0..70_000_i64).prop_map(Value::Int), 1 => values()];
    let more = prop::collection::vec(text(), 0..5).prop_map(Value::Array);
    let node = (text(), port, text(), more)
        .prop_map(|(host, port, id, more)| Value::Array(vec![host, port, id, more]));
    let node = prop_oneof![9 => node, 1 => values()].boxed();
    let nodes = prop::collection::vec(node, 1..3);
    let range = (number.clone().boxed(), number.boxed(), nodes, any::<bool>()).prop_map(
        |(one, other, nodes, sorted)| {
            let turned = match (&one, &other) {
                (Value::Int(first), Value::Int(last)) => sorted && first > last,
                _ => false,
            };
            let bounds = if turned { vec![other, one] } else { vec![one, other] };
            Value::Array([bounds, nodes].concat())
        },
    );
    let range = prop_oneof![14 => range, 1 => values()];
    prop_oneof![9 => prop::collection::vec(range, 0..4).prop_map(Value::Array), 1 => values()]
}

/// Every slot is a known node's or nobody's; what is no map is none.
#[test]
fn maps_by_chance() {
    let judge = |reply: Value| -> Judged {
        let Some(ranges) = ranges(&reply, "asked") else { return Ok("no map") };
        let Ok(map) = Map::of(&ranges, 1, node) else { return Ok("a node that cannot be one") };
        let served = (0..=u16::MAX).filter(|slot| map.of_slot(*slot).is_some()).count();
        prop_assert_eq!(served + map.unserved(), usize::try_from(SLOTS).expect("a number"));
        Ok(if served > 0 { "a map" } else { "a map of nothing" })
    };
    let kinds = ["a map", "a map of nothing", "no map"];
    fuzz("maps of a cluster", &kinds, 1_500, &maps(), judge);
}

/// A redirection has a slot that there is, a host and a port; any other refusal is none.
#[test]
fn redirections_by_chance() {
    let judge = |reply: Value| -> Judged {
        let redirect = Redirect::read(&reply, "asked");
        let code = match &reply {
            Value::ServerError(error) => error.code().to_owned(),
            _ => String::new(),
        };
        let lost = is_lost(&Ok(reply));
        Ok(match redirect {
            Some(Redirect::Moved { to: (host, _), slot }) => {
                prop_assert!(lost && code == "MOVED" && !host.is_empty() && host != "?");
                // One that there is not is nobody's, and changes nothing.
                let mut map = Map::default();
                map.give(slot, &node(&(host, 1)).expect("a node"));
                prop_assert_eq!(map.of_slot(slot).is_some(), i64::from(slot) < SLOTS);
                "moved"
            }
            Some(Redirect::Ask { to: (host, _) }) => {
                prop_assert!(lost && code == "ASK" && !host.is_empty() && host != "?");
                "ask"
            }
            None if lost => "lost, and nobody says where to",
            None => "none",
        })
    };
    let kinds = ["moved", "ask", "lost, and nobody says where to", "none"];
    fuzz("redirections", &kinds, 8_000, &values(), judge);
}
