//! Handlers: what they take and give, and how one is called without knowing its types.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::hold::Hold;
use super::message::{Batch, Message};
use super::payload::Payload;
use super::stream::{Delivery, Leased};

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

    fn of(messages: Self) -> Option<Self> {
        (!messages.is_empty()).then_some(messages)
    }
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::Message<T> {}
    impl<T> Sealed for super::Batch<T> {}
}

/// How a handler's work ended: the text of its error.
pub(super) type Worked = Result<(), String>;

/// The work on one message or batch, not begun.
pub(super) enum Work {
    Async(Pin<Box<dyn Future<Output = Worked> + Send>>),
    Blocking(Box<dyn FnOnce() -> Worked + Send>),
}

/// What there is to do about messages.
pub(super) struct Prepared {
    /// None if no message can be read.
    pub(super) work: Option<Work>,
    /// Messages that cannot be read, and why.
    pub(super) undecodable: Vec<(Leased, String)>,
}

type Prepare = dyn Fn(Vec<Delivery>, &Arc<Hold>) -> Prepared + Send + Sync;

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
        E: fmt::Display,
    {
        let handler = Arc::new(handler);
        Self::of(payload, move |input: I| {
            let handler = Arc::clone(&handler);
            // The handler's own code is not called before the future is polled: it may panic.
            Work::Async(Box::pin(async move {
                let handled = handler(input).await;
                handled.map(drop).map_err(|error| format!("{error:#}"))
            }))
        })
    }

    pub(super) fn blocking<I, F, T, E>(payload: impl Payload, handler: F) -> Self
    where
        I: Input,
        F: Fn(I) -> Result<T, E> + Send + Sync + 'static,
        E: fmt::Display,
    {
        let handler = Arc::new(handler);
        Self::of(payload, move |input: I| {
            let handler = Arc::clone(&handler);
            Work::Blocking(Box::new(move || {
                handler(input).map(drop).map_err(|error| format!("{error:#}"))
            }))
        })
    }

    fn of<I: Input>(
        payload: impl Payload,
        work: impl Fn(I) -> Work + Send + Sync + 'static,
    ) -> Self {
        let prepare = move |deliveries: Vec<Delivery>, hold: &Arc<Hold>| {
            let (mut messages, mut undecodable) = (Vec::new(), Vec::new());
            for Delivery { leased, fields } in deliveries {
                match payload.read(fields) {
                    Ok(value) => messages.push(Message::new(
                        leased.id,
                        leased.deliveries,
                        value,
                        Arc::clone(hold),
                    )),
                    Err(why) => undecodable.push((leased, why)),
                }
            }
            Prepared { work: I::of(messages).map(&work), undecodable }
        };
        Self { takes_batches: I::IS_BATCH, prepare: Box::new(prepare) }
    }

    pub(super) fn prepare(&self, deliveries: Vec<Delivery>, hold: &Arc<Hold>) -> Prepared {
        (self.prepare)(deliveries, hold)
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { takes_batches, prepare: _ } = self;
        f.debug_struct("Handler").field("takes_batches", takes_batches).finish_non_exhaustive()
    }
}
