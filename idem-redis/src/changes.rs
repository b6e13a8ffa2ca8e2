//! Changes of records, as the server tells them: one subscription connection for all watches of a
//! backend.
//!
//! A task on a thread of its own subscribes, hands out watches and gives subscriptions up, so that
//! watches outlive the runtime they were asked from. The thread starts with the first watch and ends
//! with the last handle of the backend. When the connection is lost, all watches are lost with it,
//! and whoever waits asks for a new one; the runtime polls meanwhile.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::StreamExt;
use idem_runtime::BackendError;
use idem_runtime::backend::Watch;
use redis::aio::{PubSubSink, PubSubStream};
use redis::{Client, Msg, RedisError, RedisResult};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::builder::Times;
use crate::error::unreached;

/// How often a subscription connection that has nothing to tell is asked whether it is there.
const ALIVE_EVERY: Duration = Duration::from_secs(5);
/// The most watches that are asked for by one command.
const MOST_AT_ONCE: usize = 1_000;

/// What is asked of the task.
enum Ask {
    Watch(String, oneshot::Sender<Result<Watch, BackendError>>),
    /// A watch of this record has been dropped.
    Leave(String),
}

/// The watches of a backend.
pub(crate) struct Changes {
    client: Client,
    times: Times,
    asks: OnceLock<mpsc::UnboundedSender<Ask>>,
}

impl Changes {
    pub(crate) fn new(client: Client, times: Times) -> Self {
        Self { client, times, asks: OnceLock::new() }
    }

    /// A watch on the record of this name; its subscription stands.
    pub(crate) async fn watch(&self, record: String) -> Result<Watch, BackendError> {
        let (reply, watch) = oneshot::channel();
        let ended = |_| BackendError::unanswered("the watches' thread has ended");
        self.asks()?.send(Ask::Watch(record, reply)).map_err(|_| ended(()))?;
        watch.await.map_err(|_| ended(()))?
    }

    fn asks(&self) -> Result<&mpsc::UnboundedSender<Ask>, BackendError> {
        if let Some(asks) = self.asks.get() {
            return Ok(asks);
        }
        let (sender, asks) = mpsc::unbounded_channel();
        let task = Task {
            client: self.client.clone(),
            times: self.times,
            again: sender.downgrade(),
            topics: HashMap::new(),
            told_refusal: false,
        };
        // Of two that come at once, the second one's thread ends with its sender.
        spawn_thread(task, asks).map_err(|error| {
            BackendError::answered(format!("the watches' thread could not be started: {error}"))
        })?;
        Ok(self.asks.get_or_init(|| sender))
    }
}

fn spawn_thread(task: Task, asks: mpsc::UnboundedReceiver<Ask>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name("idem-redis-watch".to_owned());
    thread.spawn(move || runtime.block_on(task.run(asks))).map(drop)
}

/// The task that owns the subscriptions.
struct Task {
    client: Client,
    times: Times,
    /// Given to each watch, for its leave.
    again: mpsc::WeakUnboundedSender<Ask>,
    /// The records that are subscribed to.
    topics: HashMap<String, watch::Sender<()>>,
    told_refusal: bool,
}

type Asks = Vec<Ask>;
type Wanted = Vec<(String, oneshot::Sender<Result<Watch, BackendError>>)>;

impl Task {
    async fn run(mut self, mut asks: mpsc::UnboundedReceiver<Ask>) {
        let mut batch = Asks::new();
        // Without a connection nothing is subscribed to, so the first thing asked for is a watch.
        while asks.recv_many(&mut batch, MOST_AT_ONCE).await > 0 {
            match self.connect().await {
                Ok(connection) => {
                    let lost = self.serve(connection, &mut batch, &mut asks).await;
                    tracing::debug!(target: "idem", ?lost, "the subscription connection has ended");
                    self.topics.clear();
                }
                Err(error) => {
                    for (_, reply) in wanted(&mut batch).0 {
                        let _ = reply.send(Err(self.unreached(&error)));
                    }
                }
            }
        }
    }

    async fn connect(&self) -> RedisResult<(PubSubSink, PubSubStream)> {
        Ok(in_time(self.times.connect, self.client.get_async_pubsub()).await?.split())
    }

    /// Sees to watches until the connection or the backend ends; the error, if it was that.
    async fn serve(
        &mut self,
        (mut sink, mut told): (PubSubSink, PubSubStream),
        batch: &mut Asks,
        asks: &mut mpsc::UnboundedReceiver<Ask>,
    ) -> Option<RedisError> {
        let mut alive = interval_at(Instant::now() + ALIVE_EVERY, ALIVE_EVERY);
        alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if !batch.is_empty()
                && let Err(error) = self.answer(&mut sink, batch).await
            {
                return Some(error);
            }
            tokio::select! {
                message = told.next() => match message {
                    Some(message) => self.tell(&message),
                    None => return Some(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                },
                count = asks.recv_many(batch, MOST_AT_ONCE) => {
                    if count == 0 {
                        return None;
                    }
                }
                _ = alive.tick() => {
                    if let Err(error) = in_time(self.times.command, sink.ping::<redis::Value>()).await {
                        return Some(error);
                    }
                }
            }
        }
    }

    fn tell(&self, message: &Msg) {
        if let Some(topic) = self.topics.get(message.get_channel_name()) {
            topic.send_replace(());
        }
    }

    /// Subscribes to what is new, hands out the watches, and gives up what nobody watches any more.
    async fn answer(&mut self, sink: &mut PubSubSink, batch: &mut Asks) -> RedisResult<()> {
        let (wanted, left) = wanted(batch);
        let mut new: Vec<String> = Vec::new();
        for (record, _) in &wanted {
            if let Entry::Vacant(topic) = self.topics.entry(record.clone()) {
                topic.insert(watch::channel(()).0);
                new.push(record.clone());
            }
        }
        let refused = match self.subscribe(sink, new).await {
            Ok(refused) => refused,
            Err(error) => {
                for (_, reply) in wanted {
                    let _ = reply.send(Err(self.unreached(&error)));
                }
                return Err(error);
            }
        };
        let mut unwatched: Vec<String> = left;
        for (record, reply) in wanted {
            let answer = match refused.get(&record) {
                Some(error) => Err(self.unreached(error)),
                None => Ok(self.watch(&record)),
            };
            // Nobody waits for it any more: the watch leaves as it is dropped.
            drop(reply.send(answer));
        }
        unwatched.retain(|record| self.is_unwatched(record));
        unwatched.sort_unstable();
        unwatched.dedup();
        self.topics.retain(|record, _| unwatched.binary_search(record).is_err());
        if unwatched.is_empty() {
            return Ok(());
        }
        in_time(self.times.command, sink.unsubscribe(&unwatched)).await
    }

    /// Subscribes, and gives the records that the server refuses to tell of.
    async fn subscribe(
        &mut self,
        sink: &mut PubSubSink,
        new: Vec<String>,
    ) -> RedisResult<HashMap<String, RedisError>> {
        let mut refused = HashMap::new();
        if new.is_empty() {
            return Ok(refused);
        }
        match in_time(self.times.command, sink.subscribe(&new)).await {
            Ok(()) => return Ok(refused),
            Err(error) if error.code().is_none() => return Err(error),
            // One that the user may not hear of fails them all: each on its own then.
            Err(_) => {}
        }
        for record in new {
            match in_time(self.times.command, sink.subscribe(&record)).await {
                Ok(()) => {}
                Err(error) if error.code().is_none() => return Err(error),
                Err(error) => {
                    self.tell_refusal(&error);
                    self.topics.remove(&record);
                    refused.insert(record, error);
                }
            }
        }
        Ok(refused)
    }

    fn watch(&self, record: &str) -> Watch {
        let changes = match self.topics.get(record) {
            Some(topic) => topic.subscribe(),
            // Without a sender the watch is lost from the start, which says so.
            None => watch::channel(()).1,
        };
        let (again, record) = (self.again.clone(), record.to_owned());
        Watch::new(changes, move || {
            if let Some(asks) = again.upgrade() {
                let _ = asks.send(Ask::Leave(record));
            }
        })
    }

    fn is_unwatched(&self, record: &str) -> bool {
        self.topics.get(record).is_some_and(|topic| topic.receiver_count() == 0)
    }

    fn unreached(&self, error: &RedisError) -> BackendError {
        unreached("a subscription", self.times, error)
    }

    fn tell_refusal(&mut self, error: &RedisError) {
        if !std::mem::replace(&mut self.told_refusal, true) {
            tracing::warn!(
                target: "idem",
                %error,
                "Redis refuses subscriptions: calls that wait hear of changes by polling only"
            );
        }
    }
}

/// Takes a batch apart: the watches asked for, and the records that a watch has left.
fn wanted(batch: &mut Asks) -> (Wanted, Vec<String>) {
    let (mut wanted, mut left) = (Wanted::new(), Vec::new());
    for ask in batch.drain(..) {
        match ask {
            Ask::Watch(record, reply) => wanted.push((record, reply)),
            Ask::Leave(record) => left.push(record),
        }
    }
    (wanted, left)
}

async fn in_time<T>(limit: Duration, work: impl Future<Output = RedisResult<T>>) -> RedisResult<T> {
    match timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes")
            .field("started", &self.asks.get().is_some())
            .finish_non_exhaustive()
    }
}
