//! The stream of orders, as whoever adds them and looks on sees it.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};
use redis::aio::MultiplexedConnection;
use redis::streams::StreamPendingReply;
use redis::{AsyncCommands, AsyncConnectionConfig};

use crate::order::Order;

pub(crate) const GROUP: &str = "billing";
/// Orders that are added by one command line.
const AT_ONCE: usize = 1_000;
/// How long the streams of a program that was ended stay, in seconds.
const LIFE: i64 = 3_600;
/// How long the server has for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The streams of a batch.
pub(crate) struct Names {
    pub(crate) stream: String,
    pub(crate) dead: String,
}

impl Names {
    /// In a cluster both are on one node: the braces say so.
    pub(crate) fn of(batch: &str) -> Self {
        let stream = format!("examples:orders:{{{batch}}}");
        Self { dead: format!("{stream}:dead"), stream }
    }
}

pub(crate) struct Stream {
    connection: MultiplexedConnection,
    batch: String,
    names: Names,
}

/// What the server has at some moment.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// Orders that are not done: they are deleted as they are acknowledged.
    pub(crate) left: u64,
    /// Those of them that were delivered.
    pub(crate) pending: u64,
    /// By the consumers' names in the group.
    pub(crate) pending_of: HashMap<String, u64>,
    pub(crate) dead: u64,
}

impl Stream {
    /// Connects, and creates the stream of this batch and its group.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub(crate) async fn create(url: &str, batch: &str) -> Result<Self> {
        let failed = "cannot connect to Redis for the orders";
        let client = redis::Client::open(url).context(failed)?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        let connection = client.get_multiplexed_async_connection_with_config(&config).await;
        let mut connection = connection.context(failed)?;
        let names = Names::of(batch);
        let () = connection.xgroup_create_mkstream(&names.stream, GROUP, "0").await?;
        Ok(Self { connection, batch: batch.to_owned(), names })
    }

    /// Adds the orders of these numbers.
    ///
    /// # Errors
    /// The server does not answer.
    pub(crate) async fn add(&mut self, orders: std::ops::Range<u32>) -> Result<()> {
        let orders: Vec<_> = orders.map(|nth| Order::nth(&self.batch, nth)).collect();
        for orders in orders.chunks(AT_ONCE) {
            let mut pipe = redis::pipe();
            for Order { id, cents } in orders {
                let fields = [("id", id.as_str()), ("cents", &cents.to_string())];
                pipe.xadd(&self.names.stream, "*", &fields).ignore();
            }
            let () = pipe.query_async(&mut self.connection).await.context("cannot add orders")?;
        }
        Ok(())
    }

    /// # Errors
    /// The server does not answer.
    pub(crate) async fn look(&mut self) -> Result<Look> {
        let Names { stream, dead } = &self.names;
        let mut pipe = redis::pipe();
        // In one step: what is acknowledged between two of these would be counted in one of them.
        pipe.atomic().xlen(stream).xpending(stream, GROUP).xlen(dead);
        pipe.expire(stream, LIFE).ignore().expire(dead, LIFE).ignore();
        let looked = pipe.query_async(&mut self.connection).await;
        let (left, pending, dead): (u64, StreamPendingReply, u64) =
            looked.context("cannot look at the orders")?;
        let consumers = match &pending {
            StreamPendingReply::Data(data) => &data.consumers[..],
            _ => &[],
        };
        let pending_of = consumers.iter().map(|of| (of.name.clone(), of.pending as u64)).collect();
        Ok(Look { left, pending: pending.count() as u64, pending_of, dead })
    }

    /// # Errors
    /// The server does not answer.
    pub(crate) async fn close(mut self) -> Result<()> {
        let () = self.connection.del(&[self.names.stream, self.names.dead]).await?;
        Ok(())
    }
}
