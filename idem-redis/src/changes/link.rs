//! The link to one server: subscribes, hands out watches, and gives subscriptions up.
//!
//! It opens a connection when something is watched, and closes it some seconds after nothing is any
//! more. When it is lost, all its watches are lost with it, and whoever waits asks for a new one; the
//! runtime polls meanwhile.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use idem_runtime::BackendError;
use idem_runtime::backend::Watch;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Pipeline, PushInfo, PushKind, RedisError, RedisResult, Value};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use crate::builder::Times;
use crate::connections::PAUSE_AFTER_FAILURE;
use crate::error::{refused, unreached};
use crate::place::Place;
use crate::servers::Servers;

/// How often a connection is asked whether anybody is there, or closed if nothing is watched.
const ALIVE_EVERY: Duration = Duration::from_secs(5);
/// The most watches that are asked for at once.
const MOST_AT_ONCE: usize = 1_000;

/// What is asked of a link.
pub(super) enum Ask {
    Watch(String, Reply),
    /// A watch of this record has been dropped.
    Leave(String),
}

type Reply = oneshot::Sender<Result<Watch, BackendError>>;

/// The subscriptions at one server.
pub(super) struct Link {
    servers: Arc<Servers>,
    place: Place,
    times: Times,
    /// Given to each watch, for its leave.
    again: mpsc::WeakUnboundedSender<Ask>,
    /// The records that are subscribed to.
    topics: HashMap<String, watch::Sender<()>>,
    told_refusal: bool,
}

/// An open connection, and what the server tells through it unasked.
struct Opened {
    connection: MultiplexedConnection,
    told: mpsc::UnboundedReceiver<PushInfo>,
}

impl Link {
    pub(super) fn new(
        servers: Arc<Servers>,
        place: Place,
        times: Times,
        again: mpsc::WeakUnboundedSender<Ask>,
    ) -> Self {
        Self { servers, place, times, again, topics: HashMap::new(), told_refusal: false }
    }

    pub(super) async fn run(mut self, mut asks: mpsc::UnboundedReceiver<Ask>) {
        let mut batch = Vec::new();
        while asks.recv_many(&mut batch, MOST_AT_ONCE).await > 0 {
            // Without a connection there is nothing to give up, and nothing to do for those who have
            // gone away.
            batch.retain(|ask| matches!(ask, Ask::Watch(_, reply) if !reply.is_closed()));
            if batch.is_empty() {
                continue;
            }
            match self.connect().await {
                Ok(line) => {
                    let lost = self.serve(line, &mut batch, &mut asks).await;
                    tracing::debug!(target: "idem", ?lost, "the subscription connection has ended");
                    self.topics.clear();
                }
                Err(error) => {
                    for (_, reply) in take_apart(&mut batch).0 {
                        let _ = reply.send(Err(self.unreached(&error)));
                    }
                    sleep(PAUSE_AFTER_FAILURE).await;
                }
            }
        }
    }

    async fn connect(&self) -> RedisResult<Opened> {
        let (pushes, told) = mpsc::unbounded_channel();
        let config = self.times.connection().set_push_sender(pushes);
        let place = self.place.with_pushes()?;
        Ok(Opened { connection: self.times.open(&place, config).await?, told })
    }

    /// Sees to watches until the connection or the backend ends, or nothing is watched; the error, if
    /// it was that.
    async fn serve(
        &mut self,
        mut line: Opened,
        batch: &mut Vec<Ask>,
        asks: &mut mpsc::UnboundedReceiver<Ask>,
    ) -> Option<RedisError> {
        let mut alive = interval_at(Instant::now() + ALIVE_EVERY, ALIVE_EVERY);
        alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if !batch.is_empty()
                && let Err(error) = self.answer(&mut line, batch).await
            {
                return Some(error);
            }
            tokio::select! {
                push = line.told.recv() => match push {
                    Some(push) if push.kind != PushKind::Disconnection => self.tell(&push),
                    _ => return Some(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                },
                count = asks.recv_many(batch, MOST_AT_ONCE) => {
                    if count == 0 {
                        return None;
                    }
                }
                _ = alive.tick() => {
                    if self.topics.is_empty() {
                        return None;
                    }
                    let ping = redis::cmd("PING");
                    if let Err(error) = line.connection.req_packed_command(&ping).await {
                        return Some(error);
                    }
                }
            }
        }
    }

    /// Passes on that a record has changed, or that its slot has moved to another node.
    fn tell(&mut self, push: &PushInfo) {
        let Some(Value::BulkString(channel)) = push.data.first() else { return };
        let Ok(record) = std::str::from_utf8(channel) else { return };
        match push.kind {
            PushKind::SMessage => {
                if let Some(topic) = self.topics.get(record) {
                    topic.send_replace(());
                }
            }
            PushKind::SUnsubscribe => drop(self.topics.remove(record)),
            _ => {}
        }
    }

    /// Subscribes to what is new, hands out the watches, and gives up what nobody watches any more.
    async fn answer(&mut self, line: &mut Opened, batch: &mut Vec<Ask>) -> RedisResult<()> {
        let (wanted, mut unwatched) = take_apart(batch);
        let mut new = Vec::new();
        for (record, _) in &wanted {
            if let Entry::Vacant(topic) = self.topics.entry(record.clone()) {
                topic.insert(watch::channel(()).0);
                new.push(record.clone());
            }
        }
        let refusals = match self.subscribe(&mut line.connection, new).await {
            Ok(refusals) => refusals,
            Err(error) => {
                for (_, reply) in wanted {
                    let _ = reply.send(Err(self.unreached(&error)));
                }
                return Err(error);
            }
        };
        for (record, reply) in wanted {
            let answer = match refusals.get(&record) {
                Some(error) => Err(error.clone()),
                None => Ok(self.watch(&record)),
            };
            // Nobody waits for it any more: the watch leaves as it is dropped.
            drop(reply.send(answer));
        }
        unwatched.retain(|record| self.is_unwatched(record));
        unwatched.sort_unstable();
        unwatched.dedup();
        self.unsubscribe(line, &unwatched).await
    }

    /// Subscribes, and gives the records that the server refuses to tell of.
    async fn subscribe(
        &mut self,
        connection: &mut MultiplexedConnection,
        new: Vec<String>,
    ) -> RedisResult<HashMap<String, BackendError>> {
        let mut refusals = HashMap::new();
        let replies = each(connection, "SSUBSCRIBE", &new).await?;
        for (record, reply) in new.into_iter().zip(&replies) {
            if let Value::ServerError(error) = reply {
                self.servers.redirected(reply, &self.place);
                let refusal = refused("a subscription", error);
                if refusal.is_answer() {
                    self.tell_refusal(&refusal);
                }
                self.topics.remove(&record);
                refusals.insert(record, refusal);
            }
        }
        Ok(refusals)
    }

    async fn unsubscribe(&mut self, line: &mut Opened, records: &[String]) -> RedisResult<()> {
        for record in records {
            self.topics.remove(record);
        }
        each(&mut line.connection, "SUNSUBSCRIBE", records).await?;
        // That these subscriptions have ended is told as well: not to be taken for that of a later
        // one.
        while let Ok(push) = line.told.try_recv() {
            self.tell(&push);
        }
        Ok(())
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

    fn tell_refusal(&mut self, error: &BackendError) {
        if !std::mem::replace(&mut self.told_refusal, true) {
            tracing::warn!(
                target: "idem",
                %error,
                "Redis refuses subscriptions: calls that wait hear of changes by polling only"
            );
        }
    }
}

/// One command for each record, since records in different slots cannot be named in one.
async fn each(
    connection: &mut MultiplexedConnection,
    command: &str,
    records: &[String],
) -> RedisResult<Vec<Value>> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let mut commands = Pipeline::with_capacity(records.len());
    for record in records {
        commands.cmd(command).arg(record);
    }
    let replies = connection.req_packed_commands(&commands, 0, records.len()).await?;
    // A server tells unasked that a slot has left it, and the client library takes that for a reply:
    // from then on all of them are one too early.
    let belongs = |(record, reply): (&String, &Value)| match reply {
        Value::Push { data, .. } => {
            matches!(data.first(), Some(Value::BulkString(channel)) if channel == record.as_bytes())
        }
        Value::ServerError(_) => true,
        _ => false,
    };
    if records.iter().zip(&replies).all(belongs) {
        Ok(replies)
    } else {
        Err(io::Error::other("subscriptions and their confirmations do not go together").into())
    }
}

/// Takes a batch apart: the watches asked for, and the records that a watch has left.
fn take_apart(batch: &mut Vec<Ask>) -> (Vec<(String, Reply)>, Vec<String>) {
    let (mut wanted, mut left) = (Vec::new(), Vec::new());
    for ask in batch.drain(..) {
        match ask {
            Ask::Watch(record, reply) => wanted.push((record, reply)),
            Ask::Leave(record) => left.push(record),
        }
    }
    (wanted, left)
}
