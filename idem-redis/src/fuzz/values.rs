//! Replies of any kind.

use proptest::prelude::*;
use redis::{Value, parse_redis_value};

/// What must not stand in an error: a stored value may be confidential.
pub(crate) const SECRET: &str = "confidential";

/// What servers say when they refuse.
const REFUSALS: [&str; 16] = [
    "ERR unknown command 'SET', with args beginning with: 'confidential'",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "NOPERM no permissions",
    "LOADING Redis is loading the dataset in memory",
    "READONLY You can't write against a read only replica.",
    "MOVED 3999 127.0.0.1:6381",
    "MOVED 3999 :6381",
    "MOVED 99999 a:1",
    "MOVED 1 ?:7000",
    "MOVED",
    "ASK 1 [::1]:7000",
    "ASK 1 a:99999",
    "CLUSTERDOWN Hash slot not served",
    "NOSCRIPT No matching script.",
    "\u{e9}",
    "",
];

/// A refusal, as the client library reads it.
fn refusal() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        4 => prop::sample::select(REFUSALS.as_slice()).prop_map(str::to_owned),
        1 => "(MOVED|ASK|ERR|[A-Z]{0,6}) ?[0-9a-z.:? ]{0,12}",
        1 => "[^\r\n]{0,20}",
    ];
    word.prop_map(|text| parse_redis_value(format!("-{text}\r\n").as_bytes()).unwrap_or(Value::Nil))
}

/// A text, among them some that mean something somewhere.
pub(crate) fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z0-9.:?_-]{0,10}",
        1 => prop::sample::select(vec!["", "?", "ip", "::1", "10.0.0.1", "7000", "master", SECRET])
            .prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

/// A reply of any kind, as deep as those of servers.
pub(crate) fn values() -> impl Strategy<Value = Value> {
    let number = prop_oneof![-2..5_i64, 0..16_384_i64, any::<i64>()];
    let leaf = prop_oneof![
        1 => Just(Value::Nil),
        1 => Just(Value::Okay),
        4 => number.prop_map(Value::Int),
        4 => texts().prop_map(|text| Value::BulkString(text.into_bytes())),
        2 => any::<Vec<u8>>().prop_map(Value::BulkString),
        1 => texts().prop_map(Value::SimpleString),
        1 => any::<f64>().prop_map(Value::Double),
        1 => any::<bool>().prop_map(Value::Boolean),
        3 => refusal(),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            1 => prop::collection::vec((inner.clone(), inner.clone()), 0..4).prop_map(Value::Map),
            1 => prop::collection::vec(inner, 0..4).prop_map(Value::Set),
        ]
    })
}
