//! Replies of the server to a consumer.

use std::time::Duration;

use redis::Value;

use super::fields::Fields;
use super::message_id::MessageId;
use super::stream::{Answer, Delivery, Leased, Made, Pending};
use crate::error::{refused, unexpected};

/// Whose a message was found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owned {
    /// Pending for nobody: acknowledged, or its group is another one.
    Gone,
    /// This consumer's, and what was asked for was done.
    Mine,
    /// Deleted from the stream.
    Trimmed,
    /// Delivered once more, to whomever.
    Taken,
}

/// What came of a claim.
#[derive(Debug)]
pub(super) enum Claim {
    Claimed(Delivery),
    /// Somebody was faster, or it has been renewed.
    Missed,
    /// Deleted from the stream.
    Trimmed(MessageId),
}

pub(super) fn number(what: &str, reply: &Value) -> Answer<u64> {
    match reply {
        Value::Int(number) => u64::try_from(*number).map_err(|_| unexpected(what, reply)),
        other => Err(otherwise(what, other)),
    }
}

/// What is wrong with the user's rights, or the types of the keys.
pub(super) fn fault(reply: &Value) -> Answer<Option<String>> {
    let what = "the registration";
    let Value::Array(found) = reply else { return Err(otherwise(what, reply)) };
    let mut denied = Vec::new();
    for part in found {
        match part {
            Value::BulkString(command) => {
                denied.push(String::from_utf8_lossy(command).into_owned());
            }
            Value::Array(key) => {
                let [key, kind] = &**key else { return Err(unexpected(what, reply)) };
                let (key, kind) = (text(key), text(kind));
                return Ok(Some(format!("the key `{key}` holds a {kind}, which is no stream")));
            }
            _ => return Err(unexpected(what, reply)),
        }
    }
    let told = format!("the user has no right to {}: grant it", denied.join(", "));
    Ok((!denied.is_empty()).then_some(told))
}

pub(super) fn made(reply: &Value) -> Answer<Made> {
    let what = "creating the group";
    let Value::Array(made) = reply else { return Err(otherwise(what, reply)) };
    match &**made {
        [Value::Int(stream), Value::Int(group), Value::Int(consumer)] => {
            let [stream, group, consumer] = [stream, group, consumer].map(|made| *made == 1);
            Ok(Made { stream, group, consumer })
        }
        _ => Err(unexpected(what, reply)),
    }
}

pub(super) fn floor(reply: &Value) -> Answer<MessageId> {
    let what = "a look at the group";
    match reply {
        Value::Array(both) => match &**both {
            [Value::Int(is_pending), id] => {
                let id = id_of(id).ok_or_else(|| unexpected(what, reply))?;
                Ok(if *is_pending == 1 { id.before() } else { id })
            }
            _ => Err(unexpected(what, reply)),
        },
        other => Err(otherwise(what, other)),
    }
}

pub(super) fn pending(reply: &Value) -> Answer<Vec<Pending>> {
    let what = "a look at pending messages";
    let Value::Array(rows) = reply else { return Err(otherwise(what, reply)) };
    let row = |row: &Value| {
        let Value::Array(row) = row else { return None };
        let [id, Value::BulkString(consumer), Value::Int(idle), Value::Int(deliveries)] = &**row
        else {
            return None;
        };
        Some(Pending {
            leased: Leased { id: id_of(id)?, deliveries: u64::try_from(*deliveries).ok()? },
            consumer: consumer.clone(),
            idle: Duration::from_millis(u64::try_from(*idle).ok()?),
        })
    };
    rows.iter().map(row).collect::<Option<_>>().ok_or_else(|| unexpected(what, reply))
}

/// The claims that were asked for, each with the message as it was seen before.
pub(super) fn claimed(
    reply: Value,
    wanted: impl ExactSizeIterator<Item = Leased>,
) -> Answer<Vec<Claim>> {
    let what = "claiming messages";
    let Value::Array(found) = reply else { return Err(otherwise(what, &reply)) };
    if found.len() != wanted.len() {
        return Err(unexpected(what, &Value::Array(found)));
    }
    let claim = |(found, seen): (Value, Leased)| match found {
        Value::Int(0) => Some(Claim::Missed),
        Value::Int(2) => Some(Claim::Trimmed(seen.id)),
        entry => delivery(entry, seen.deliveries + 1).map(Claim::Claimed),
    };
    let claims = found.into_iter().zip(wanted).map(claim).collect::<Option<_>>();
    claims.ok_or_else(|| senseless(what))
}

/// What so many messages were found to be.
pub(super) fn owned(what: &str, reply: &Value, count: usize) -> Answer<Vec<Owned>> {
    // The usual answer is short: that all are this consumer's.
    if let Value::Int(all) = reply
        && usize::try_from(*all) == Ok(count)
    {
        return Ok(vec![Owned::Mine; count]);
    }
    let Value::Array(found) = reply else { return Err(otherwise(what, reply)) };
    let owned = |found: &Value| match found {
        Value::Int(0) => Ok(Owned::Gone),
        Value::Int(1) => Ok(Owned::Mine),
        Value::Int(2) => Ok(Owned::Trimmed),
        Value::Int(3) => Ok(Owned::Taken),
        other => Err(otherwise(what, other)),
    };
    if found.len() != count {
        return Err(unexpected(what, reply));
    }
    found.iter().map(owned).collect()
}

/// What a read brought: nothing if it waited in vain. The messages are new, so this is their first
/// delivery.
pub(super) fn read(reply: Value) -> Answer<Vec<Delivery>> {
    let what = "reading messages";
    let entries = match reply {
        Value::Nil => return Ok(Vec::new()),
        // By name, in pairs or as a map.
        Value::Array(streams) => match <[Value; 1]>::try_from(streams) {
            Ok([Value::Array(stream)]) => stream.into_iter().nth(1),
            _ => None,
        },
        Value::Map(streams) => match <[(Value, Value); 1]>::try_from(streams) {
            Ok([(_, entries)]) => Some(entries),
            Err(_) => None,
        },
        other => return Err(otherwise(what, &other)),
    };
    let Some(Value::Array(entries)) = entries else { return Err(senseless(what)) };
    let read = entries.into_iter().map(|entry| delivery(entry, 1)).collect::<Option<_>>();
    read.ok_or_else(|| senseless(what))
}

/// A message out of a reply: its bytes are moved, not copied.
fn delivery(entry: Value, deliveries: u64) -> Option<Delivery> {
    let Value::Array(entry) = entry else { return None };
    let Ok([id, Value::Array(fields)]) = <[Value; 2]>::try_from(entry) else { return None };
    let bytes = |value: Value| match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.into_bytes()),
        _ => None,
    };
    let mut pairs = Vec::with_capacity(fields.len() / 2);
    let mut fields = fields.into_iter();
    while let (Some(name), Some(value)) = (fields.next(), fields.next()) {
        pairs.push((bytes(name)?, bytes(value)?));
    }
    let leased = Leased { id: id_of(&id)?, deliveries };
    Some(Delivery { leased, fields: Fields::from_iter(pairs) })
}

/// A list without meaning.
fn senseless(what: &str) -> idem_runtime::BackendError {
    unexpected(what, &Value::Array(Vec::new()))
}

fn id_of(value: &Value) -> Option<MessageId> {
    match value {
        Value::BulkString(bytes) => MessageId::read(bytes),
        _ => None,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        _ => String::new(),
    }
}

/// A refusal of the server's, or a reply without meaning.
fn otherwise(what: &str, reply: &Value) -> idem_runtime::BackendError {
    match reply {
        Value::ServerError(error) => refused(what, error),
        other => unexpected(what, other),
    }
}
