//! Replies that send a command elsewhere.

use std::io;

use redis::{RedisError, RedisResult, Value};

/// What a node says of a slot that it does not serve, or not alone.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// The slot is another node's.
    Moved { slot: u16, to: (String, u16) },
    /// The slot is on its way, and this record is at the other node already.
    Ask { to: (String, u16) },
}

impl Redirect {
    /// What the reply of the node on the host `from` says, if it is that.
    pub(super) fn of(reply: &RedisResult<Value>, from: &str) -> Option<Self> {
        reply.as_ref().ok().and_then(|reply| Self::read(reply, from))
    }

    /// Reads `MOVED slot host:port` and `ASK slot host:port`; without a host it is the same as that
    /// of who says it, and `?` is one that nobody knows.
    pub(super) fn read(reply: &Value, from: &str) -> Option<Self> {
        let Value::ServerError(error) = reply else { return None };
        let (slot, to) = error.details()?.split_once(' ')?;
        let (host, port) = to.trim().rsplit_once(':')?;
        let host = match host {
            "" => from,
            "?" => return None,
            host => host,
        };
        let to = (host.to_owned(), port.parse().ok()?);
        match error.code() {
            "MOVED" => Some(Self::Moved { slot: slot.parse().ok()?, to }),
            "ASK" => Some(Self::Ask { to }),
            _ => None,
        }
    }
}

/// Whether a command was not carried out, or not known to be, because of where it went.
pub(super) fn is_lost(reply: &RedisResult<Value>) -> bool {
    match reply {
        Err(_) => true,
        Ok(Value::ServerError(error)) => matches!(error.code(), "MOVED" | "ASK" | "CLUSTERDOWN"),
        Ok(_) => false,
    }
}

/// Nobody is known to serve the slot.
pub(super) fn no_node() -> RedisError {
    io::Error::new(io::ErrorKind::NotConnected, "no node is known to serve the record's slot")
        .into()
}

#[cfg(test)]
mod tests {
    use redis::parse_redis_value;

    use super::*;

    fn read(reply: &str) -> Option<Redirect> {
        let reply = parse_redis_value(reply.as_bytes()).expect("a reply");
        Redirect::read(&reply, "asked")
    }

    fn to(host: &str, port: u16) -> (String, u16) {
        (host.to_owned(), port)
    }

    #[test]
    fn slots_that_moved_and_slots_on_their_way() {
        let moved = |to| Some(Redirect::Moved { slot: 3999, to });
        assert_eq!(read("-MOVED 3999 10.0.0.1:6381\r\n"), moved(to("10.0.0.1", 6381)));
        assert_eq!(read("-MOVED 3999 :6381\r\n"), moved(to("asked", 6381)));
        assert_eq!(read("-MOVED 3999 ::1:6381\r\n"), moved(to("::1", 6381)));
        assert_eq!(
            read("-ASK 1 node.example:7000\r\n"),
            Some(Redirect::Ask { to: to("node.example", 7000) })
        );
    }

    #[test]
    fn other_replies_are_none() {
        for reply in [
            "+OK\r\n",
            "-ERR 1 a:1\r\n",
            "-MOVED\r\n",
            "-MOVED x a:1\r\n",
            "-ASK 1 a:x\r\n",
            "-MOVED 1 ?:7000\r\n",
        ] {
            assert_eq!(read(reply), None, "{reply}");
        }
    }
}
