//! Streams to read: their messages, and groups that have read nothing of them.

use anyhow::Context;
use redis::aio::MultiplexedConnection;
use redis::{RedisResult, cmd, pipe};
use serde::Deserialize;

use crate::redis::{Store, prefix};

/// As many messages are added by one command's worth of waiting.
const ADDED_AT_ONCE: usize = 1_000;

/// What a message holds: 39 bytes in three fields.
#[derive(Debug, Deserialize)]
pub(super) struct OrderPlaced {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "cents")]
    _cents: u64,
    #[serde(rename = "currency")]
    _currency: String,
}

/// A stream of this process's own.
#[derive(Clone)]
pub(super) struct Stream {
    pub(super) name: String,
    pub(super) connection: MultiplexedConnection,
}

impl Stream {
    /// An empty one.
    pub(super) async fn new(store: &Store, what: &str) -> anyhow::Result<Self> {
        let mut connection = store.connection().await?;
        let name = format!("{}:{what}", prefix());
        cmd("DEL").arg(&name).exec_async(&mut connection).await.context("an empty stream")?;
        Ok(Self { name, connection })
    }

    /// Adds messages.
    pub(super) async fn add(&mut self, count: usize) -> RedisResult<()> {
        let mut left = count;
        while left > 0 {
            let some = left.min(ADDED_AT_ONCE);
            let mut adds = pipe();
            for number in 0..some {
                adds.cmd("XADD").arg(&self.name).arg("*");
                adds.arg("id").arg(format!("order-{number:08}"));
                adds.arg("cents").arg(4_200).arg("currency").arg("EUR").ignore();
            }
            adds.exec_async(&mut self.connection).await?;
            left -= some;
        }
        Ok(())
    }

    /// A group that has read nothing.
    pub(super) async fn create_group(&mut self, group: &str) -> RedisResult<()> {
        let mut create = cmd("XGROUP");
        create.arg("CREATE").arg(&self.name).arg(group).arg("0").arg("MKSTREAM");
        create.exec_async(&mut self.connection).await
    }

    /// Takes a group away; how many messages were pending in it.
    pub(super) async fn destroy_group(&mut self, group: &str) -> RedisResult<u64> {
        let (pending, _, _, _): (u64, Option<String>, Option<String>, Option<redis::Value>) =
            cmd("XPENDING").arg(&self.name).arg(group).query_async(&mut self.connection).await?;
        let mut destroy = cmd("XGROUP");
        destroy.arg("DESTROY").arg(&self.name).arg(group);
        destroy.exec_async(&mut self.connection).await?;
        Ok(pending)
    }

    /// Takes it away.
    pub(super) async fn delete(mut self) -> RedisResult<()> {
        cmd("DEL").arg(&self.name).exec_async(&mut self.connection).await
    }
}
