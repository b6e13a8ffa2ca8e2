//! Replies of the server as replies of the protocol.

use std::time::Duration;

use idem_runtime::BackendError;
use idem_runtime::protocol::transition::{
    BeginReply, CompleteReply, DiscardReply, FenceReply, ReleaseReply, RenewReply, ReplaceReply,
};
use idem_runtime::record::{Found, Record, Standing};
use redis::Value;

use crate::error::{refused, unexpected};

type Answer<T> = Result<T, BackendError>;

/// What a record without an end is said to have left: somebody took its expiry away.
const WITHOUT_END: Duration = Duration::from_secs(3650 * 24 * 3600);

pub(crate) fn begin(reply: &Value, reservation: &Record) -> Answer<BeginReply> {
    match reply {
        Value::Nil => Ok(BeginReply::Acquired),
        Value::BulkString(bytes) => Ok(found(Standing::from_bytes(bytes), reservation)),
        other => Err(otherwise("begin", other)),
    }
}

/// What a record that stands means for a begin.
pub(crate) fn found(standing: Standing, reservation: &Record) -> BeginReply {
    if standing.matches(reservation.head()) {
        BeginReply::Acquired
    } else {
        BeginReply::Found(standing)
    }
}

pub(crate) fn renew(reply: &Value) -> Answer<RenewReply> {
    match reply {
        Value::Int(0) => Ok(RenewReply::Gone),
        Value::Int(1) => Ok(RenewReply::Renewed),
        Value::Int(2) => Ok(RenewReply::Taken),
        Value::Int(3) => Ok(RenewReply::Completed),
        other => Err(otherwise("renew", other)),
    }
}

pub(crate) fn complete(reply: &Value) -> Answer<CompleteReply> {
    match reply {
        Value::Int(0) => Ok(CompleteReply::Gone),
        Value::Int(1) => Ok(CompleteReply::Stored),
        Value::Int(2) => Ok(CompleteReply::AlreadyStored),
        Value::BulkString(bytes) => Ok(CompleteReply::Refused(Standing::from_bytes(bytes))),
        other => Err(otherwise("complete", other)),
    }
}

pub(crate) fn release(reply: &Value) -> Answer<ReleaseReply> {
    match reply {
        Value::Int(0) => Ok(ReleaseReply::NotMine),
        Value::Int(1) => Ok(ReleaseReply::Released),
        other => Err(otherwise("release", other)),
    }
}

pub(crate) fn replace(reply: &Value) -> Answer<ReplaceReply> {
    match reply {
        Value::Int(0) => Ok(ReplaceReply::Stands(None)),
        Value::Int(1) => Ok(ReplaceReply::Replaced),
        Value::BulkString(bytes) => Ok(ReplaceReply::Stands(Some(Standing::from_bytes(bytes)))),
        other => Err(otherwise("replace", other)),
    }
}

pub(crate) fn discard(reply: &Value) -> Answer<DiscardReply> {
    match reply {
        Value::Int(0) => Ok(DiscardReply::NotThere),
        Value::Int(1) => Ok(DiscardReply::Discarded),
        other => Err(otherwise("discard", other)),
    }
}

pub(crate) fn fence(reply: &Value) -> Answer<FenceReply> {
    match reply {
        Value::Nil => Ok(FenceReply::Refused),
        Value::BulkString(bytes) => match bytes.first_chunk() {
            Some(number) if bytes.len() == 8 => Ok(FenceReply::Fence(u64::from_be_bytes(*number))),
            _ => Err(unexpected("fence", reply)),
        },
        other => Err(otherwise("fence", other)),
    }
}

pub(crate) fn peek(reply: &Value) -> Answer<Option<Found>> {
    match reply {
        Value::Nil => Ok(None),
        Value::Array(both) => match both.as_slice() {
            [Value::BulkString(bytes), Value::Int(left)] => {
                let left = u64::try_from(*left).map_or(WITHOUT_END, Duration::from_millis);
                Ok(Some(Found { standing: Standing::from_bytes(bytes), left }))
            }
            _ => Err(unexpected("peek", reply)),
        },
        other => Err(otherwise("peek", other)),
    }
}

/// A refusal of the server's, or a reply without meaning.
fn otherwise(what: &str, reply: &Value) -> BackendError {
    match reply {
        Value::ServerError(error) => refused(what, error),
        other => unexpected(what, other),
    }
}
