//! The bare commands: what a client sends that wants each message once and trusts that nobody is slow.

use anyhow::{Context, bail, ensure};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, Value, cmd};

/// The consumer's script that acknowledges.
const ACKNOWLEDGE: &str = include_str!("../../../idem-redis/scripts/consumer/acknowledge.lua");
/// Longer than a message is ever waited for here, and shorter than the connection waits for a reply.
const BLOCK_MILLIS: u64 = 500;
const NAME: &str = "bare";

/// How what was read is acknowledged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Acknowledging {
    /// By one `XACK` with all ids: the least.
    AtOnce,
    /// By one `XACK` a message, all in one pipeline.
    OneByOne,
    /// By the consumer's script, which looks whose the messages are.
    Owned,
}

/// A member of a group, on one connection.
pub(super) struct Bare<'a> {
    connection: MultiplexedConnection,
    stream: &'a str,
    group: &'a str,
    /// The script, as the server knows it.
    script: String,
}

impl<'a> Bare<'a> {
    pub(super) async fn new(
        mut connection: MultiplexedConnection,
        stream: &'a str,
        group: &'a str,
    ) -> anyhow::Result<Self> {
        let load = cmd("SCRIPT").arg("LOAD").arg(ACKNOWLEDGE).query_async(&mut connection).await;
        Ok(Self { connection, stream, group, script: load.context("giving the script")? })
    }

    /// Waits for messages, up to so many. Never gives none.
    pub(super) async fn read(&mut self, count: usize) -> anyhow::Result<Read> {
        let mut read = cmd("XREADGROUP");
        read.arg("GROUP").arg(self.group).arg(NAME).arg("COUNT").arg(count);
        read.arg("BLOCK").arg(BLOCK_MILLIS).arg("STREAMS").arg(self.stream).arg(">");
        loop {
            match self.connection.send_packed_command(&read).await.context("reading messages")? {
                Value::Nil => {}
                reply => return Read::of(reply),
            }
        }
    }

    /// Acknowledges what was read.
    pub(super) async fn acknowledge(
        &mut self,
        read: &Read,
        how: Acknowledging,
    ) -> anyhow::Result<()> {
        let acknowledged: usize = match how {
            Acknowledging::AtOnce => {
                let mut acknowledge = self.xack();
                read.ids().for_each(|id| _ = acknowledge.arg(id));
                acknowledge.query_async(&mut self.connection).await?
            }
            Acknowledging::OneByOne => {
                let mut all = Pipeline::with_capacity(read.len());
                for id in read.ids() {
                    let mut acknowledge = self.xack();
                    acknowledge.arg(id);
                    all.add_command(acknowledge);
                }
                all.query_async::<Vec<usize>>(&mut self.connection).await?.into_iter().sum()
            }
            Acknowledging::Owned => {
                let mut acknowledge = cmd("EVALSHA");
                acknowledge.arg(&self.script).arg(1).arg(self.stream).arg(self.group);
                acknowledge.arg(NAME).arg("");
                // In the order of the stream.
                [read.ids().next(), read.ids().last()].into_iter().for_each(|id| {
                    acknowledge.arg(id);
                });
                // A run of one message each, delivered once.
                read.ids().for_each(|id| _ = acknowledge.arg(1).arg(id).arg(1));
                // How many, if all are this reader's.
                acknowledge.query_async(&mut self.connection).await?
            }
        };
        ensure!(acknowledged == read.len(), "{acknowledged} of {} are acknowledged", read.len());
        Ok(())
    }

    fn xack(&self) -> Cmd {
        let mut acknowledge = cmd("XACK");
        acknowledge.arg(self.stream).arg(self.group);
        acknowledge
    }
}

/// What one read brought, as it came: nothing is copied, and no field looked at.
pub(super) struct Read(Vec<Value>);

impl Read {
    /// `[[stream, [[id, fields], …]]]`
    fn of(reply: Value) -> anyhow::Result<Self> {
        let one = |value: Value| match value {
            Value::Array(mut parts) => parts.pop(),
            _ => None,
        };
        match one(reply).and_then(one) {
            Some(Value::Array(entries)) => Ok(Self(entries)),
            _ => bail!("a read brought no messages"),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    fn ids(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter_map(|entry| match entry {
            Value::Array(entry) => match entry.first() {
                Some(Value::BulkString(id)) => Some(&**id),
                _ => None,
            },
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_taken_out_of_a_reply() {
        let text = |text: &str| Value::BulkString(text.into());
        let entry = |id| Value::Array(vec![text(id), Value::Array(vec![])]);
        let entries = Value::Array(vec![entry("1-0"), entry("1-1")]);
        let read = Read::of(Value::Array(vec![Value::Array(vec![text("stream"), entries])]));
        let read = read.unwrap();
        assert_eq!(read.ids().collect::<Vec<_>>(), [b"1-0", b"1-1"]);
        assert!(Read::of(Value::Nil).is_err());
    }
}
