//! What servers answer a consumer, by chance: never a panic, never a meaning that is not there, and what
//! stands in a message comes out of it.

use idem_fuzzing::{Judged, fuzz};
use idem_runtime::BackendError;
use proptest::prelude::*;
use redis::Value;

use super::fields::Fields;
use super::message_id::MessageId;
use super::replies;
use super::stream::Leased;
use crate::fuzz::values::{SECRET, values};

#[derive(Clone, Copy, Debug)]
enum Question {
    Fault,
    Made,
    Floor,
    Pending,
    Claimed,
    Owned,
    Read,
    Number,
}

impl Question {
    const ALL: [Self; 8] = [
        Self::Fault,
        Self::Made,
        Self::Floor,
        Self::Pending,
        Self::Claimed,
        Self::Owned,
        Self::Read,
        Self::Number,
    ];

    fn read(self, reply: &Value) -> Result<(), BackendError> {
        let leased = Leased { id: MessageId::ZERO, deliveries: 1 };
        match self {
            Self::Fault => replies::fault(reply).map(drop),
            Self::Made => replies::made(reply).map(drop),
            Self::Floor => replies::floor(reply).map(drop),
            Self::Pending => replies::pending(reply).map(drop),
            Self::Claimed => replies::claimed(reply.clone(), [leased; 2].into_iter()).map(drop),
            Self::Owned => replies::owned("renewing", reply, 2).map(drop),
            Self::Read => replies::read(reply.clone()).map(drop),
            Self::Number => replies::number("a number", reply).map(drop),
        }
    }
}

#[test]
fn a_reply_has_a_meaning_or_an_error_that_tells_no_value() {
    let judge = |(question, reply): (Question, Value)| -> Judged {
        match question.read(&reply) {
            Ok(()) => Ok("a meaning"),
            Err(error) => {
                prop_assert!(!error.to_string().contains(SECRET), "{}", error);
                Ok("an error")
            }
        }
    };
    let inputs = (prop::sample::select(Question::ALL.as_slice()), values());
    fuzz("replies to consumers", &["a meaning", "an error"], 20_000, &inputs, judge);
}

type Entry = (u64, u64, Vec<(Vec<u8>, Vec<u8>)>);

/// The reply to a read of these, by RESP2 or RESP3.
fn reply(entries: &[Entry], is_new: bool) -> Value {
    let text = |bytes: &[u8]| Value::BulkString(bytes.to_vec());
    let entry = |(millis, sequence, fields): &Entry| {
        let id = MessageId::new(*millis, *sequence).to_string();
        let flat = fields.iter().flat_map(|(name, value)| [text(name), text(value)]);
        Value::Array(vec![text(id.as_bytes()), Value::Array(flat.collect())])
    };
    let entries = Value::Array(entries.iter().map(entry).collect());
    if is_new {
        Value::Map(vec![(text(b"orders"), entries)])
    } else {
        Value::Array(vec![Value::Array(vec![text(b"orders"), entries])])
    }
}

#[test]
fn what_stands_in_a_message_comes_out_of_it() {
    let judge = |(entries, is_new): (Vec<Entry>, bool)| -> Judged {
        let read = replies::read(reply(&entries, is_new));
        let read = read.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(read.len(), entries.len());
        for (delivery, (millis, sequence, fields)) in read.into_iter().zip(entries) {
            let id = MessageId::new(millis, sequence);
            prop_assert_eq!(delivery.leased, Leased { id, deliveries: 1 });
            prop_assert_eq!(&delivery.fields, &Fields::from_iter(fields));
            let raw: Result<Fields, _> = delivery.fields.clone().read();
            prop_assert_eq!(raw.ok(), Some(delivery.fields));
        }
        Ok(if is_new { "RESP3" } else { "RESP2" })
    };
    let fields = prop::collection::vec((any::<Vec<u8>>(), any::<Vec<u8>>()), 0..4);
    let entries = prop::collection::vec((any::<u64>(), any::<u64>(), fields), 0..4);
    fuzz("messages", &["RESP2", "RESP3"], 5_000, &(entries, any::<bool>()), judge);
}
