//! Stream consumers whose messages keep their lease.
//!
//! Redis hands a message of a stream to one consumer of a group, and others take it over once nobody
//! has been heard of it for too long. A consumer here renews the messages it has in hand, from a thread
//! of its own, so that the idle time can be short, a crash is made good soon, and a slow handler still
//! runs once.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use idem_redis::RedisBackend;
//! use idem_redis::consumer::{Consumer, Message};
//!
//! #[derive(serde::Deserialize)]
//! struct OrderPlaced { id: u64, cents: u64 }
//!
//! # async fn start(shutdown: impl Future<Output = ()> + Send) -> Result<(), Box<dyn std::error::Error>> {
//! let backend = RedisBackend::connect("redis://127.0.0.1:6379").await?;
//! Consumer::builder(&backend, "orders", "billing")
//!     .retry_on_idle(Duration::from_secs(30))
//!     .concurrency(8)
//!     .max_deliveries(5)
//!     .dead_letter("orders.dead")
//!     .handler(async |message: Message<OrderPlaced>| -> Result<(), String> {
//!         println!("{}: {} cents", message.id, message.cents);
//!         Ok(())
//!     })
//!     .run(shutdown)
//!     .await?;
//! # Ok(()) }
//! ```
//!
//! A message is delivered at least once: a crash after the effect delivers it again. A handler that is
//! annotated with `#[idempotent(key = …)]` on what the message is about closes that.

// What a service writes.
mod backoff;
mod builder;
mod lifecycle;
mod error;
mod failure;
mod handler;
mod options;

// What its handler gets.
mod fields;
mod message;
mod message_id;
mod payload;

// A consumer at work, in the order in which a message meets it.
mod register;
mod registry;
mod desk;
mod slots;
mod intake;
mod appetite;
mod backlog;
mod reader;
mod hand;
mod renew;
mod start_runs;
mod run;
mod hold;
mod settle;

// What is asked of the server.
mod replies;
mod scripts;
mod stream;

#[cfg(test)]
mod fuzz;

// What others see.
mod event;
#[cfg(feature = "metrics")]
mod metrics;
mod stats;
mod teller;

pub use backoff::Backoff;
pub use builder::ConsumerBuilder;
pub use error::ConsumerError;
pub use event::{ConsumerEvent, ConsumerEventKind};
pub use failure::Failure;
pub use fields::Fields;
pub use handler::Input;
pub use lifecycle::Consumer;
pub use message::{Batch, Message};
pub use message_id::{InvalidMessageId, MessageId};
pub use payload::{InField, InFields, Payload};
pub use stats::ConsumerStats;
