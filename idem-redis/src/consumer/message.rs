//! Messages as handlers get them.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::hold::Hold;
use super::message_id::MessageId;

/// A message that was delivered to this consumer, with its value.
///
/// It stays leased while its handler runs, and no longer: a message that is kept elsewhere keeps
/// nothing alive. It derefs to its value, so that a handler may be annotated with
/// `#[idempotent(key = message.order_id)]`.
#[derive(Clone)]
pub struct Message<T> {
    id: MessageId,
    deliveries: u64,
    value: T,
    hold: Arc<Hold>,
}

impl<T> Message<T> {
    pub(super) fn new(id: MessageId, deliveries: u64, value: T, hold: Arc<Hold>) -> Self {
        Self { id, deliveries, value, hold }
    }

    /// A message that no stream has delivered, for tests of a handler. It is never lost.
    #[must_use]
    pub fn for_test(id: MessageId, deliveries: u64, value: T) -> Self {
        Self::new(id, deliveries, value, Arc::new(Hold::new(vec![id], false)))
    }

    /// Its id in the stream.
    #[must_use]
    pub fn id(&self) -> MessageId {
        self.id
    }

    /// How often it has been delivered, this time included, by the server's count: more than once after
    /// a handler that failed, a consumer that died, or a reply that got lost.
    #[must_use]
    pub fn deliveries(&self) -> u64 {
        self.deliveries
    }

    /// Its value.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Whether it, or another one of its batch, has been lost to another consumer: nothing of this run
    /// will be acknowledged.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.hold.is_lost()
    }

    /// A token that is cancelled when the handler is to end: its message was lost, it ran past
    /// `max_processing`, or the consumer's grace period is over. An async handler is dropped then; a
    /// blocking one has to look. Cancelling it stops nothing but what listens to it.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.hold.token().child_token()
    }
}

impl<T> Deref for Message<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> AsRef<T> for Message<T> {
    fn as_ref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Message<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, deliveries, value, hold: _ } = self;
        f.debug_struct("Message")
            .field("id", id)
            .field("deliveries", deliveries)
            .field("value", value)
            .finish_non_exhaustive()
    }
}

/// Messages that are handled as one: acknowledged together or not at all, and given up together where
/// one of them is lost. Never empty.
#[derive(Clone, Debug)]
pub struct Batch<T>(Vec<Message<T>>);

impl<T> Batch<T> {
    pub(super) fn new(messages: Vec<Message<T>>) -> Option<Self> {
        (!messages.is_empty()).then_some(Self(messages))
    }

    /// A batch of messages that no stream has delivered, for tests of a handler.
    ///
    /// # Panics
    /// Without messages: a handler never gets such a batch.
    #[must_use]
    pub fn for_test(messages: Vec<Message<T>>) -> Self {
        Self::new(messages).expect("a batch holds at least one message")
    }

    /// Its messages.
    #[must_use]
    pub fn into_vec(self) -> Vec<Message<T>> {
        self.0
    }
}

impl<T> Deref for Batch<T> {
    type Target = [Message<T>];

    fn deref(&self) -> &[Message<T>] {
        &self.0
    }
}

impl<T> IntoIterator for Batch<T> {
    type Item = Message<T>;
    type IntoIter = std::vec::IntoIter<Message<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Batch<T> {
    type Item = &'a Message<T>;
    type IntoIter = std::slice::Iter<'a, Message<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
