//! A queue for workers in several processes: a stream, and a group that reads it.

use std::time::Duration;

use anyhow::{Context, Result};
use redis::aio::MultiplexedConnection;
use redis::streams::{
    StreamAutoClaimOptions, StreamAutoClaimReply, StreamReadOptions, StreamReadReply,
};
use redis::{AsyncCommands, AsyncConnectionConfig};

use super::{AGAIN_AFTER, Taken};
use crate::request::Order;

const GROUP: &str = "workers";
const FIELD: &str = "order";
/// How long the stream of a program that was ended stays, in seconds.
const LIFE: i64 = 3_600;
/// How long the server has for an answer: there is time, and a worker without a queue ends.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(crate) struct RedisQueue {
    connection: MultiplexedConnection,
    stream: String,
}

impl RedisQueue {
    /// The queue of this batch, which [`create`](Self::create) has made.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub(crate) async fn connect(url: &str, batch: &str) -> Result<Self> {
        let failed = "cannot connect to Redis for the queue";
        let client = redis::Client::open(url).context(failed)?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        let connection = client.get_multiplexed_async_connection_with_config(&config).await;
        let connection = connection.context(failed)?;
        Ok(Self { connection, stream: format!("examples:reports:{batch}") })
    }

    pub(crate) async fn create(&self) -> Result<()> {
        let mut connection = self.connection.clone();
        let () = connection.xgroup_create_mkstream(&self.stream, GROUP, "0").await?;
        let () = connection.expire(&self.stream, LIFE).await?;
        Ok(())
    }

    pub(super) async fn push(&self, order: &Order) -> Result<()> {
        let order = serde_json::to_string(order)?;
        let () = self.connection.clone().xadd(&self.stream, "*", &[(FIELD, order)]).await?;
        Ok(())
    }

    pub(super) async fn take(&self, worker: &str) -> Result<Option<Taken>> {
        let mut connection = self.connection.clone();
        let least = AGAIN_AFTER.as_millis() as u64;
        let one = StreamAutoClaimOptions::default().count(1);
        let late: StreamAutoClaimReply =
            connection.xautoclaim_options(&self.stream, GROUP, worker, least, "0", one).await?;
        let mut entries = late.claimed;
        if entries.is_empty() {
            let one = StreamReadOptions::default().group(GROUP, worker).count(1);
            let new: Option<StreamReadReply> =
                connection.xread_options(&[&self.stream], &[">"], &one).await?;
            entries = new.into_iter().flat_map(|new| new.keys).flat_map(|key| key.ids).collect();
        }
        let Some(entry) = entries.pop() else { return Ok(None) };
        let text: String = entry.get(FIELD).context("an order without its text")?;
        let order = serde_json::from_str(&text).context("an order that cannot be read")?;
        Ok(Some(Taken { order, ticket: entry.id }))
    }

    pub(super) async fn done(&self, taken: &Taken) -> Result<()> {
        let () = self.connection.clone().xack(&self.stream, GROUP, &[&taken.ticket]).await?;
        Ok(())
    }

    pub(super) async fn close(&self) -> Result<()> {
        let () = self.connection.clone().del(&self.stream).await?;
        Ok(())
    }
}
