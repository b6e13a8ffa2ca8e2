//! Replies to the operations: one meaning each, or an error that says so and tells no value.

use idem_fuzzing::{Judged, fuzz};
use idem_runtime::record::{Owner, Record, Standing};
use idem_runtime::{BackendError, Fingerprint};
use proptest::prelude::*;
use redis::Value;

use super::values::{SECRET, values};
use crate::reply;

/// The operations, each as what its reply is read as: whether it is a number that has a meaning, a
/// record or nothing.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Begin,
    Renew,
    Complete,
    Release,
    Replace,
    Discard,
    Fence,
    Peek,
}

impl Operation {
    const ALL: [Self; 8] = [
        Self::Begin,
        Self::Renew,
        Self::Complete,
        Self::Release,
        Self::Replace,
        Self::Discard,
        Self::Fence,
        Self::Peek,
    ];

    fn read(self, reply: &Value, own: &Record) -> Result<String, BackendError> {
        Ok(match self {
            Self::Begin => format!("{:?}", reply::begin(reply, own)?),
            Self::Renew => format!("{:?}", reply::renew(reply)?),
            Self::Complete => format!("{:?}", reply::complete(reply)?),
            Self::Release => format!("{:?}", reply::release(reply)?),
            Self::Replace => format!("{:?}", reply::replace(reply)?),
            Self::Discard => format!("{:?}", reply::discard(reply)?),
            Self::Fence => format!("{:?}", reply::fence(reply)?),
            Self::Peek => format!("{:?}", reply::peek(reply)?),
        })
    }

    /// Whether scripts and servers give such a reply.
    fn has_meaning(self, reply: &Value) -> bool {
        match (self, reply) {
            (Self::Begin | Self::Fence | Self::Peek, Value::Nil) => true,
            (Self::Begin | Self::Complete | Self::Replace, Value::BulkString(_)) => true,
            (Self::Fence, Value::BulkString(bytes)) => bytes.len() == 8,
            (Self::Renew, Value::Int(0..4)) | (Self::Complete, Value::Int(0..3)) => true,
            (Self::Release | Self::Replace | Self::Discard, Value::Int(0..2)) => true,
            (Self::Peek, Value::Array(both)) => {
                matches!(both.as_slice(), [Value::BulkString(_), Value::Int(_)])
            }
            _ => false,
        }
    }
}

fn own() -> Record {
    Record::reservation(Owner::from_bytes([7; 16]), Fingerprint::NONE, 1)
}

/// Replies that fit one operation or another, records among them, and any others.
fn replies() -> impl Strategy<Value = Value> {
    let record = prop_oneof![
        Just(own().to_bytes()),
        Just(Record::reservation(Owner::from_bytes([8; 16]), Fingerprint::NONE, 1).to_bytes()),
        prop::collection::vec(any::<u8>(), 8),
        any::<Vec<u8>>(),
    ];
    let record = record.prop_map(Value::BulkString).boxed();
    let peeked = (record.clone(), any::<i64>())
        .prop_map(|(record, left)| Value::Array(vec![record, Value::Int(left)]));
    prop_oneof![2 => values(), 1 => record, 1 => peeked, 1 => (-1..5_i64).prop_map(Value::Int)]
}

#[test]
fn each_has_its_meaning_or_none() {
    let own = own();
    let judge = |(operation, reply): (Operation, Value)| -> Judged {
        let read = operation.read(&reply, &own);
        let has_meaning = operation.has_meaning(&reply);
        match read {
            Ok(meaning) => {
                prop_assert!(has_meaning, "{} of {:?}", meaning, reply);
                if let (Operation::Begin, Value::BulkString(bytes)) = (operation, &reply) {
                    let is_own = Standing::from_bytes(bytes).matches(own.head());
                    prop_assert_eq!(meaning == "Acquired", is_own);
                }
                Ok("a meaning")
            }
            Err(error) => {
                prop_assert!(!has_meaning, "{} of {:?}", error, reply);
                let text = error.to_string();
                prop_assert!(!text.contains(SECRET), "{}", text);
                let operation = format!("{operation:?}").to_lowercase();
                prop_assert!(text.contains(&operation), "{}", text);
                Ok(match &reply {
                    Value::ServerError(_) if error.is_answer() => "refused by the server",
                    Value::ServerError(_) => "the store is not there",
                    _ => {
                        prop_assert!(error.is_answer(), "{}", error);
                        "no meaning"
                    }
                })
            }
        }
    };
    let inputs = (prop::sample::select(Operation::ALL.as_slice()), replies());
    let kinds = ["a meaning", "refused by the server", "the store is not there", "no meaning"];
    fuzz("replies to operations", &kinds, 20_000, &inputs, judge);
}
