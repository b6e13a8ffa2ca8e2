//! What went wrong, for a person: what happened, to what, and what to do.
//!
//! Messages hold what the client library says, so that a log line is enough; its own errors are not
//! part of this crate's interface.

use idem_runtime::BackendError;
use redis::{ErrorKind, RedisError, ServerError, Value};
use thiserror::Error;

use crate::builder::Times;

/// Why a backend could not be connected.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address or a setting is not usable.
    #[error("the Redis backend's settings are not usable: {0}")]
    Setting(String),
    /// The server could not be reached in time, or refused the user.
    #[error("cannot connect to Redis at {address}: {reason}")]
    #[non_exhaustive]
    Unreachable {
        /// Host and port, or the socket's path.
        address: String,
        /// What happened.
        reason: String,
    },
    /// The server is too old for the commands and scripts of idem.
    #[error("{server} {found} is too old for idem: it needs {needed} or later")]
    #[non_exhaustive]
    TooOld {
        /// `redis` or `valkey`.
        server: String,
        /// The version found.
        found: String,
        /// The first version that will do.
        needed: &'static str,
    },
    /// The server has a role in which it keeps no records by itself.
    #[error("the server at {address} is {role}: {needed}")]
    #[non_exhaustive]
    Role {
        /// Host and port, or the socket's path.
        address: String,
        /// What it is.
        role: &'static str,
        /// What to do.
        needed: &'static str,
    },
    /// Scripts cannot be loaded or run.
    #[error(
        "Redis refuses the scripts that idem needs: {0}; allow the user `script|load` and `evalsha`"
    )]
    Scripting(String),
}

/// A failure below the level of commands: no connection, no reply in time, a connection that broke.
pub(crate) fn unreached(what: &str, times: Times, failure: &RedisError) -> BackendError {
    let error = told(failure);
    match failure.kind() {
        ErrorKind::Server(_) if failure.code().is_some_and(|code| NOT_THERE.contains(&code)) => {
            BackendError::unanswered(format!("the store is not there for {what}: {error}"))
        }
        // The server's answer to the opening of a connection (wrong password, no such database, …).
        ErrorKind::AuthenticationFailed | ErrorKind::Server(_) | ErrorKind::Extension => {
            BackendError::answered(format!("Redis refused {what}: {error}"))
        }
        ErrorKind::InvalidClientConfig => BackendError::answered(format!(
            "the connection to Redis for {what} cannot be opened as configured: {error}"
        )),
        _ if failure.is_timeout() => BackendError::unanswered(format!(
            "Redis did not answer {what} in time ({:?} to connect, {:?} to answer): it may have been \
             carried out",
            times.connect, times.command
        )),
        _ => BackendError::unanswered(format!("Redis could not be reached for {what}: {error}")),
    }
}

/// The server's own refusal of a command.
pub(crate) fn refused(what: &str, error: &ServerError) -> BackendError {
    let reason = text(error);
    let reason = reason.trim_end_matches('.');
    if NOT_THERE.contains(&error.code()) {
        return BackendError::unanswered(format!("the store is not there for {what}: {reason}"));
    }
    let advice = match error.code() {
        "OOM" => ": free memory or raise `maxmemory`",
        "NOPERM" => ": give the user this right",
        "NOREPLICAS" => ": let its replicas connect again",
        "MISCONF" => ": let it write its disk again",
        // Does not say which.
        "ERR" if reason.contains("user executing the script") => {
            ": give the user the rights that idem's scripts need"
        }
        _ => "",
    };
    BackendError::answered(format!("Redis refused {what}: {reason}{advice}"))
}

/// Codes with which a server says that it does not have the records for now: it is loading them, it
/// is no master any more, another script keeps it busy, it has forgotten the script that it was just
/// given, or the slot is on its way or has nobody. That passes as an outage does, and is treated like
/// one.
#[rustfmt::skip]
const NOT_THERE: [&str; 9] = [
    "LOADING", "READONLY", "MASTERDOWN", "BUSY", "NOSCRIPT", "CLUSTERDOWN", "MOVED", "ASK", "TRYAGAIN",
];

/// A reply that no version of the server gives: something that is no Redis is in between.
pub(crate) fn unexpected(what: &str, reply: &Value) -> BackendError {
    // Only the kind of the reply: it may hold a stored value.
    let kind = match reply {
        Value::Nil => "nothing",
        Value::Int(_) => "a number",
        Value::BulkString(_) | Value::SimpleString(_) | Value::Okay => "a text",
        _ => "a list",
    };
    BackendError::answered(format!("Redis answered {what} with {kind}, which has no meaning there"))
}

/// A server's error as it wrote it.
pub(crate) fn text(error: &ServerError) -> String {
    let text = match error.details() {
        Some(details) => format!("{} {details}", error.code()),
        None => error.code().to_owned(),
    };
    without_arguments(text)
}

/// An error of the client library as it tells it.
pub(crate) fn told(error: &RedisError) -> String {
    without_arguments(error.to_string())
}

/// A server that does not know a command repeats what came with it, a password say.
fn without_arguments(mut text: String) -> String {
    if let Some(end) = text.find(", with args beginning") {
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_not_known_is_told_without_its_arguments() {
        let reply =
            "-ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'secret' \r\n";
        let reply = redis::parse_redis_value(reply.as_bytes()).expect("a reply");
        let Value::ServerError(error) = reply else { panic!("{reply:?}") };
        assert_eq!(text(&error), "ERR unknown command 'HELLO'");
        assert!(!told(&error.into()).contains("secret"));
    }
}
