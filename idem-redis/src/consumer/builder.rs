//! Settings of a consumer.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use idem_runtime::Codec;
use idem_runtime::record::Owner;

use super::backoff::Backoff;
use super::event::ConsumerEvent;
use super::failure::Failure;
use super::hand::Hand;
use super::handler::{Handler, Input};
use super::lifecycle::{Consumer, Inner};
use super::options::{OWN_NAMES, Options, Start};
use super::payload::{InField, InFields, Payload};
use super::stream::Stream;
use super::teller::{Observer, Tally, Teller};
use crate::RedisBackend;

/// Settings of a [`Consumer`]. They are checked, all together, when it runs.
#[must_use]
pub struct ConsumerBuilder<P = InFields> {
    backend: RedisBackend,
    options: Options,
    payload: P,
    observers: Vec<Observer>,
}

impl ConsumerBuilder<InFields> {
    pub(super) fn new(backend: &RedisBackend, stream: String, group: String) -> Self {
        let options = Options::new(stream, group);
        Self { backend: backend.clone(), options, payload: InFields, observers: Vec::new() }
    }

    /// The message's value stands in this field, written by the codec `C`: `field::<Json>("data")`.
    /// Default: the message's fields are those of the value, numbers and such as text.
    pub fn field<C: Codec>(self, name: impl Into<String>) -> ConsumerBuilder<InField<C>> {
        let Self { backend, options, payload: _, observers } = self;
        ConsumerBuilder { backend, options, payload: InField::new(name.into()), observers }
    }
}

impl<P: Payload> ConsumerBuilder<P> {
    /// Its name in the group. Consumers that run at once should each have their own: who has a message
    /// cannot be told from the outside otherwise. A later process of the same name leaves what an earlier
    /// one had in hand to go idle. Default: one that no other start of
    /// a process has, which is taken out of the group at a shutdown.
    pub fn consumer(mut self, name: impl Into<String>) -> Self {
        self.options.consumer = Some(name.into());
        self
    }

    /// Whether a group that has to be created reads only messages that are added from then on. Default:
    /// no, those as well that are there.
    pub fn only_new(mut self, only_new: bool) -> Self {
        self.options.start = if only_new { Start::End } else { Start::Beginning };
        self
    }

    /// For how long nobody is heard of a message before another consumer takes it over: so long after a
    /// crash, and a quarter of it for the next look, it goes on. 100 ms to 24 h. Default: 30 s.
    pub fn retry_on_idle(mut self, idle: Duration) -> Self {
        self.options.retry_on_idle = idle;
        self
    }

    /// How often messages in hand are renewed; shorter than `retry_on_idle`. Default: a quarter of that,
    /// so that two renewals may fail in a row.
    pub fn renew_every(mut self, every: Duration) -> Self {
        self.options.renew_every = Some(every);
        self
    }

    /// Whether messages in hand are renewed. If not, a handler that takes longer than `retry_on_idle`
    /// runs twice at once. Default: yes.
    pub fn renewal(mut self, renews: bool) -> Self {
        self.options.renewal = renews;
        self
    }

    /// Whether an async handler is dropped when its message is another consumer's by now. If not, it
    /// finishes, and nothing is acknowledged. Default: yes.
    pub fn cancel_on_lease_lost(mut self, cancels: bool) -> Self {
        self.options.cancel_on_lease_lost = cancels;
        self
    }

    /// How many handlers run at once. So many messages are taken at most, unless a batch or a read-ahead
    /// is asked for. Default: 1, which keeps the order of the stream as long as none fails.
    pub fn concurrency(mut self, runs: usize) -> Self {
        self.options.concurrency = runs;
        self
    }

    /// The most messages in a [`Batch`](super::Batch), for a handler that takes one: at most 1,000. A batch
    /// is what is there when a run is free, and at least one message.
    pub fn batch(mut self, most: usize) -> Self {
        self.options.batch = Some(most);
        self
    }

    /// How many messages are taken while all runs are busy. They are renewed as they wait; a consumer
    /// that is idle cannot have them. Default: none.
    pub fn read_ahead(mut self, messages: usize) -> Self {
        self.options.read_ahead = messages;
        self
    }

    /// The longest that a handler may run. Then an async one is dropped; a blocking one keeps its
    /// messages until its thread returns, and its result is dropped. The messages are tried again, and
    /// the delivery counts. Default: no limit.
    pub fn max_processing(mut self, most: Duration) -> Self {
        self.options.max_processing = Some(most);
        self
    }

    /// After how many deliveries without success a message goes to the dead letters, which
    /// [`dead_letter`](Self::dead_letter) names. The server counts them, so that a message which kills
    /// its consumers is counted too, and one that got lost on its way here as well. Default: no limit.
    pub fn max_deliveries(mut self, most: u64) -> Self {
        self.options.max_deliveries = Some(most);
        self
    }

    /// How long a message rests after a failure. Default: for `retry_on_idle`. The server cannot tell a
    /// failure from a crash: after that it rests as long.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.options.backoff = backoff;
        self
    }

    /// The stream for messages that cannot be read, and those of `max_deliveries`. They have their own
    /// fields after `idem.stream`, `idem.id`, `idem.group`, `idem.deliveries` and `idem.error`. In a
    /// cluster the two names share a part in braces. A message of more than 3,900 fields cannot be moved,
    /// and stays pending. Default: none; what cannot be read is delivered again.
    pub fn dead_letter(mut self, stream: impl Into<String>) -> Self {
        self.options.dead_letter = Some(stream.into());
        self
    }

    /// Whether messages are deleted from the stream as they are acknowledged, also for groups that have
    /// not read them. Default: no, they stay.
    pub fn delete_on_ack(mut self, deletes: bool) -> Self {
        self.options.delete_on_ack = deletes;
        self
    }

    /// How long handlers may go on after a shutdown. Default: 30 s.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.options.grace = grace;
        self
    }

    /// Hears of everything that happens, on whichever thread it does; it must not block. May be called
    /// several times.
    pub fn observer(
        mut self,
        observer: impl Fn(&ConsumerEvent<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// A consumer with this handler: an async function or closure of a [`Message`](super::Message) or a
    /// [`Batch`](super::Batch), one that is annotated with `#[idempotent]` say. Each call is a task of
    /// its own.
    ///
    /// Messages are acknowledged when it returns `Ok`. When it returns `Err` or panics they are tried
    /// again; a [`Failure`] can say that they are not. An async closure that uses something of its
    /// surroundings is written as `move |message| { let pool = pool.clone(); async move { … } }`. The
    /// handler is dropped when a message of its is lost, past `max_processing`, and at the end of the grace
    /// period.
    pub fn handler<I, F, Fut, T, E>(self, handler: F) -> Consumer
    where
        I: Input,
        F: Fn(I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send,
        E: Into<Failure>,
    {
        let Self { backend, options, payload, observers } = self;
        build(&backend, options, observers, Handler::concurrent(payload, handler))
    }

    /// The same with a function that blocks its thread, which is one of the runtime's for such. Nobody
    /// can end it early: it may look at the token of its [`Message`](super::Message).
    pub fn blocking_handler<I, F, T, E>(self, handler: F) -> Consumer
    where
        I: Input,
        F: Fn(I) -> Result<T, E> + Send + Sync + 'static,
        E: Into<Failure>,
    {
        let Self { backend, options, payload, observers } = self;
        build(&backend, options, observers, Handler::blocking(payload, handler))
    }
}

fn build(
    backend: &RedisBackend,
    options: Options,
    observers: Vec<Observer>,
    handler: Handler,
) -> Consumer {
    let name = options.consumer.clone().unwrap_or_else(own_name);
    let (servers, times) = backend.parts();
    let names = [&*options.stream, &*options.group, &*name];
    let stream = Stream::new(Arc::clone(servers), times, names);
    let tally = Arc::new(Tally::default());
    let hand = Arc::new(Hand::new([&stream.name, &stream.group]));
    let teller = Arc::new(Teller::new(&stream, observers, Arc::clone(&tally)));
    Consumer::new(Inner {
        servers: Arc::clone(servers),
        options,
        handler: Arc::new(handler),
        stream,
        hand,
        teller,
        tally,
        runs: AtomicBool::new(false),
    })
}

/// A name that no other start of a process has.
fn own_name() -> String {
    let random = u128::from_be_bytes(*Owner::fresh().as_bytes());
    format!("{OWN_NAMES}{}-{random:032x}", std::process::id())
}

impl<P> fmt::Debug for ConsumerBuilder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { backend: _, options, payload: _, observers } = self;
        f.debug_struct("ConsumerBuilder")
            .field("options", options)
            .field("observers", &observers.len())
            .finish_non_exhaustive()
    }
}
