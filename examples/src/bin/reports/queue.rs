//! The queue between client and workers. It hands each order out at least once, and again if whoever
//! took it does not say that it is done with it.

mod memory;
mod redis;

use std::time::Duration;

use anyhow::Result;

pub(crate) use self::memory::MemoryQueue;
pub(crate) use self::redis::RedisQueue;
use crate::request::Order;

/// When an order that was taken is handed out again.
const AGAIN_AFTER: Duration = Duration::from_millis(1_500);

/// A queue. Clones are handles to the same.
#[derive(Clone)]
pub(crate) enum Queue {
    Memory(MemoryQueue),
    Redis(RedisQueue),
}

/// An order that was taken, under the queue's own name for it.
pub(crate) struct Taken {
    pub(crate) order: Order,
    ticket: String,
}

impl Queue {
    /// # Errors
    /// It may not be in the queue.
    pub(crate) async fn push(&self, order: &Order) -> Result<()> {
        match self {
            Self::Memory(queue) => queue.push(order.clone()),
            Self::Redis(queue) => queue.push(order).await?,
        }
        Ok(())
    }

    /// An order that nobody has, or had for too long; `None` if there is none now.
    ///
    /// # Errors
    /// The queue does not answer.
    pub(crate) async fn take(&self, worker: &str) -> Result<Option<Taken>> {
        match self {
            Self::Memory(queue) => Ok(queue.take()),
            Self::Redis(queue) => queue.take(worker).await,
        }
    }

    /// It is not handed out any more.
    ///
    /// # Errors
    /// It may be.
    pub(crate) async fn done(&self, taken: &Taken) -> Result<()> {
        match self {
            Self::Memory(queue) => queue.done(taken),
            Self::Redis(queue) => queue.done(taken).await?,
        }
        Ok(())
    }

    /// Leaves nothing behind.
    ///
    /// # Errors
    /// It may be there still, for an hour at most.
    pub(crate) async fn close(&self) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Redis(queue) => queue.close().await,
        }
    }
}
