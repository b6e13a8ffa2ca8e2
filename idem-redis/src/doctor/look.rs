//! What a server says of itself, as far as the user may ask.

use std::collections::HashMap;
use std::str::FromStr;

use redis::{Pipeline, Value};
use tokio::time::Instant;

use crate::check::{Greeting, Part, Server};
use crate::error::ConnectError;

use super::rights::{self, Rights};
use super::rounds::{self, Rounds};

/// The sections of `INFO` that are read.
const SECTIONS: [&str; 5] = ["server", "memory", "persistence", "replication", "stats"];
/// The settings that are read.
const SETTINGS: [&str; 5] = [
    "save",
    "stop-writes-on-bgsave-error",
    "appendfsync",
    "min-replicas-to-write",
    "cluster-require-full-coverage",
];

/// A server that has been looked at.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) address: String,
    pub(super) server: String,
    pub(super) version: String,
    pub(super) rights: Rights,
    /// `INFO`, `CONFIG GET` and `CLUSTER INFO`; none where the user may not ask.
    pub(super) info: Option<Fields>,
    pub(super) config: Option<Fields>,
    pub(super) cluster: Option<Fields>,
    pub(super) rounds: Rounds,
}

/// How a server is looked at.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) part: Part,
    /// Of the records, if it is known.
    pub(super) prefix: Option<&'a str>,
    /// What clocks are compared with.
    pub(super) start: Instant,
}

impl Look<'_> {
    /// Looks at all that there is to see.
    pub(super) async fn at(
        self,
        server: Server<'_>,
        address: String,
    ) -> Result<Seen, ConnectError> {
        let rights = rights::ask(server, &rights::all(self.part), self.prefix).await?;
        // What is not allowed is not asked for: that would stand in the server's log of denials.
        let is_node = self.part == Part::Node;
        let (sees_info, sees_config) = (rights.may("info"), rights.may("config|get"));
        let sees_cluster = is_node && rights.may("cluster|info");
        let mut commands = Pipeline::new();
        commands.cmd("HELLO");
        if sees_info {
            commands.cmd("INFO").arg(&SECTIONS);
        }
        if sees_config {
            commands.cmd("CONFIG").arg("GET").arg(&SETTINGS);
        }
        if sees_cluster {
            commands.cmd("CLUSTER").arg("INFO");
        }
        let mut replies = server.ask(&commands).await?.into_iter();
        let mut next = |is_asked: bool| is_asked.then(|| replies.next()).flatten();
        let greeting = Greeting::read(&next(true).unwrap_or(Value::Nil));
        let info = next(sees_info).as_ref().and_then(Fields::of_lines);
        let config = next(sees_config).as_ref().and_then(Fields::of_pairs);
        let cluster = next(sees_cluster).as_ref().and_then(Fields::of_lines);
        let rounds = if rights.may("time") {
            rounds::take(server, self.start).await
        } else {
            Rounds::default()
        };
        let (server, version) = who(greeting, info.as_ref());
        Ok(Seen { address, server, version, rights, info, config, cluster, rounds })
    }
}

/// Looks at what costs two round trips, if the user may.
pub(super) async fn glance(server: Server<'_>) -> Result<Seen, ConnectError> {
    let mut seen = Seen { address: server.address(), ..Seen::default() };
    if rights::ask(server, &[rights::INFO], None).await?.may("info") {
        let mut commands = Pipeline::new();
        commands.cmd("INFO").arg(&SECTIONS);
        seen.info = server.ask(&commands).await?.first().and_then(Fields::of_lines);
    }
    Ok(seen)
}

/// Which server it is, and of which version. Valkey has a version for those that ask for Redis's.
fn who(greeting: Greeting, info: Option<&Fields>) -> (String, String) {
    match info.and_then(|info| info.text("valkey_version")) {
        Some(version) => ("valkey".to_owned(), version.to_owned()),
        None => (greeting.server, greeting.version),
    }
}

/// Names and values.
#[derive(Debug, Default)]
pub(super) struct Fields(HashMap<String, String>);

impl Fields {
    /// Reads `name:value` lines; a refusal is none.
    fn of_lines(reply: &Value) -> Option<Self> {
        let text = match reply {
            Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Value::VerbatimString { text, .. } => text.clone(),
            _ => return None,
        };
        Some(Self::of_text(&text))
    }

    fn of_text(text: &str) -> Self {
        let line = |line: &str| {
            let (name, value) = line.trim_end().split_once(':')?;
            Some((name.to_owned(), value.to_owned()))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// Reads a list or a map of names and values; a refusal is none.
    pub(super) fn of_pairs(reply: &Value) -> Option<Self> {
        let text = |value| redis::from_redis_value_ref(value).ok();
        let pairs = reply.as_map_iter()?;
        Some(Self(pairs.filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn is(&self, name: &str, value: &str) -> bool {
        self.text(name) == Some(value)
    }

    pub(super) fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }
}

#[cfg(test)]
impl Fields {
    pub(super) fn of(pairs: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self(pairs.iter().map(owned).collect())
    }
}

#[cfg(test)]
impl Seen {
    /// A server of which nothing is known but these lines of `INFO`.
    pub(super) fn of_info(info: &str) -> Self {
        Self { info: Some(Fields::of_text(info)), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_read_in_both_protocols() {
        let text = "# Memory\r\nmaxmemory:9\r\nslave0:ip=::1,port=1\r\n";
        let bulk = Value::BulkString(text.into());
        let format = redis::VerbatimFormat::Text;
        for reply in [bulk, Value::VerbatimString { format, text: text.to_owned() }] {
            let fields = Fields::of_lines(&reply).expect("fields");
            assert_eq!(fields.number("maxmemory"), Some(9));
            assert_eq!(fields.text("slave0"), Some("ip=::1,port=1"));
        }
        let word = |text: &str| Value::BulkString(text.into());
        let flat = Value::Array(vec![word("save"), word("")]);
        for reply in [flat, Value::Map(vec![(word("save"), word(""))])] {
            assert!(Fields::of_pairs(&reply).is_some_and(|fields| fields.is("save", "")));
        }
        assert!(Fields::of_lines(&Value::Nil).is_none() && Fields::of_pairs(&Value::Nil).is_none());
    }

    #[test]
    fn a_server_that_is_valkey_under_the_name_of_redis() {
        let greeting = |version: &str| {
            let word = |text: &str| Value::BulkString(text.into());
            Greeting::read(&Value::Map(vec![
                (word("server"), word("redis")),
                (word("version"), word(version)),
            ]))
        };
        let of = |info: &str| who(greeting("7.2.4"), Some(&Fields::of_text(info)));
        assert_eq!(of("valkey_version:8.0.1"), ("valkey".to_owned(), "8.0.1".to_owned()));
        assert_eq!(of("redis_version:7.2.4"), ("redis".to_owned(), "7.2.4".to_owned()));
    }
}
