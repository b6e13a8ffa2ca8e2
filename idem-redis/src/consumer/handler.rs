//! Handlers: what they take and give, and how one is called without knowing its types.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::failure::Failure;
use super::fields::Fields;
use super::hand::Taken;
use super::hold::Hold;
use super::message::{Batch, Message};
use super::payload::Payload;

/// What a handler takes: a [`Message`] or a [`Batch`].
pub trait Input: sealed::Sealed + Sized + Send + 'static {
    /// What a message holds.
    type Value: DeserializeOwned + Send + 'static;
    #[doc(hidden)]
    const IS_BATCH: bool;
    #[doc(hidden)]
    fn of(messages: Vec<Message<Self::Value>>) -> Option<Self>;
}

impl<T: DeserializeOwned + Send + 'static> Input for Message<T> {
    type Value = T;
    const IS_BATCH: bool = false;

    fn of(messages: Vec<Self>) -> Option<Self> {
        messages.into_iter().next()
    }
}

impl<T: DeserializeOwned + Send + 'static> Input for Batch<T> {
    type Value = T;
    const IS_BATCH: bool = true;

    fn of(messages: Vec<Message<T>>) -> Option<Self> {
        Self::new(messages)
    }
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::Message<T> {}
    impl<T> Sealed for super::Batch<T> {}
}

/// How a handler's work ended.
pub(super) type Worked = Result<(), Failure>;

/// The work on one message or batch, not begun.
pub(super) enum Work {
    Async(Pin<Box<dyn Future<Output = Worked> + Send>>),
    Blocking(Box<dyn FnOnce() -> Worked + Send>),
}

/// What there is to do about messages.
pub(super) struct Prepared {
    /// None if no message can be read.
    pub(super) work: Option<Work>,
    /// The messages it is about.
    pub(super) readable: Vec<Taken>,
    /// Messages that cannot be read, and why.
    pub(super) undecodable: Vec<(Taken, String)>,
}

type Prepare = dyn Fn(Vec<(Taken, Fields)>, &Arc<Hold>) -> Prepared + Send + Sync;

/// A handler of any type.
pub(super) struct Handler {
    pub(super) takes_batches: bool,
    prepare: Box<Prepare>,
}

impl Handler {
    pub(super) fn concurrent<I, F, Fut, T, E>(payload: impl Payload, handler: F) -> Self
    where
        I: Input,
        F: Fn(I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send,
        E: Into<Failure>,
    {
        let handler = Arc::new(handler);
        Self::of(payload, move |input: I| {
            let handler = Arc::clone(&handler);
            // The handler's own code is not called before the future is polled: it may panic.
            Work::Async(Box::pin(async move { handler(input).await.map(drop).map_err(Into::into) }))
        })
    }

    pub(super) fn blocking<I, F, T, E>(payload: impl Payload, handler: F) -> Self
    where
        I: Input,
        F: Fn(I) -> Result<T, E> + Send + Sync + 'static,
        E: Into<Failure>,
    {
        let handler = Arc::new(handler);
        Self::of(payload, move |input: I| {
            let handler = Arc::clone(&handler);
            Work::Blocking(Box::new(move || handler(input).map(drop).map_err(Into::into)))
        })
    }

    fn of<I: Input>(
        payload: impl Payload,
        work: impl Fn(I) -> Work + Send + Sync + 'static,
    ) -> Self {
        let prepare = move |taken: Vec<(Taken, Fields)>, hold: &Arc<Hold>| {
            let (mut messages, mut readable, mut undecodable) = (vec![], vec![], vec![]);
            for (taken, fields) in taken {
                match read(&payload, fields) {
                    Ok(value) => {
                        let (id, deliveries) = (taken.leased.id, taken.leased.deliveries);
                        messages.push(Message::new(id, deliveries, value, Arc::clone(hold)));
                        readable.push(taken);
                    }
                    Err(why) => undecodable.push((taken, why)),
                }
            }
            Prepared { work: I::of(messages).map(&work), readable, undecodable }
        };
        Self { takes_batches: I::IS_BATCH, prepare: Box::new(prepare) }
    }

    pub(super) fn prepare(&self, taken: Vec<(Taken, Fields)>, hold: &Arc<Hold>) -> Prepared {
        (self.prepare)(taken, hold)
    }
}

/// Reads a message's value. The code of its type may panic.
fn read<T: DeserializeOwned>(payload: &impl Payload, fields: Fields) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(|| payload.read(fields)))
        .unwrap_or_else(|panic| Err(format!("reading it panicked: {}", said(&*panic))))
}

/// What a panic said.
pub(super) fn said(panic: &(dyn Any + Send)) -> &str {
    let said = panic.downcast_ref::<&str>().copied();
    said.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or_default()
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { takes_batches, prepare: _ } = self;
        f.debug_struct("Handler").field("takes_batches", takes_batches).finish_non_exhaustive()
    }
}
