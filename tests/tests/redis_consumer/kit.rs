//! What these tests share: a server with a stream, consumers on it, and what they did.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_redis::RedisBackend;
use idem_redis::consumer::{
    Batch, Consumer, ConsumerBuilder, ConsumerError, ConsumerEvent, ConsumerEventKind as Kind,
    Fields, Message, MessageId,
};
use idem_tests::{Proxy, RedisServer, eventually};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// After how long messages are taken over in most tests.
pub(crate) const IDLE: Duration = Duration::from_secs(1);
/// Longer than any test takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);
pub(crate) const STREAM: &str = "orders";
pub(crate) const GROUP: &str = "billing";

/// A server, and whom it knows.
pub(crate) struct World {
    pub(crate) server: RedisServer,
    pub(crate) backend: RedisBackend,
}

/// What the server knows of a pending message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: MessageId,
    pub(crate) consumer: String,
    pub(crate) idle: Duration,
    pub(crate) deliveries: u64,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::on(RedisServer::start()).await
    }

    pub(crate) async fn on(server: RedisServer) -> Self {
        let backend = RedisBackend::connect(&server.url()).await.unwrap();
        Self { server, backend }
    }

    /// A consumer with the settings of most tests.
    pub(crate) fn builder(&self) -> ConsumerBuilder {
        builder(&self.backend)
    }

    /// Adds a message.
    pub(crate) fn add(&self) -> MessageId {
        self.add_with(&["n", "1"])
    }

    pub(crate) fn add_with(&self, fields: &[&str]) -> MessageId {
        let id: String = self.server.ask(&[&["XADD", STREAM, "*"], fields].concat());
        id.parse().unwrap()
    }

    /// What is pending in the group.
    pub(crate) fn pending(&self) -> Vec<Row> {
        pending(&self.server)
    }

    /// What is pending of one message.
    pub(crate) fn row(&self, id: MessageId) -> Option<Row> {
        self.pending().into_iter().find(|row| row.id == id)
    }

    pub(crate) fn consumers(&self) -> Vec<String> {
        let rows: Vec<HashMap<String, redis::Value>> =
            self.server.ask(&["XINFO", "CONSUMERS", STREAM, GROUP]);
        rows.iter().map(|row| redis::from_redis_value(row["name"].clone()).unwrap()).collect()
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_done(&self) -> bool {
        self.pending().is_empty()
    }
}

pub(crate) fn pending(server: &RedisServer) -> Vec<Row> {
    // Without a group nothing is.
    let known: u64 = server.ask(&["EXISTS", STREAM]);
    if known == 0 || server.ask::<Vec<redis::Value>>(&["XINFO", "GROUPS", STREAM]).is_empty() {
        return Vec::new();
    }
    let rows: Vec<(String, String, u64, u64)> =
        server.ask(&["XPENDING", STREAM, GROUP, "-", "+", "100000"]);
    let row = |(id, consumer, idle, deliveries): (String, _, _, _)| Row {
        id: id.parse().unwrap(),
        consumer,
        idle: Duration::from_millis(idle),
        deliveries,
    };
    rows.into_iter().map(row).collect()
}

/// The server behind a proxy, with so much patience for its answers.
pub(crate) async fn behind(proxy: &Proxy, patience: Duration) -> RedisBackend {
    let builder = RedisBackend::builder(proxy.url()).command_timeout(patience);
    builder.connect().await.unwrap()
}

pub(crate) fn builder(backend: &RedisBackend) -> ConsumerBuilder {
    Consumer::builder(backend, STREAM, GROUP).retry_on_idle(IDLE).grace(LONG)
}

/// Events by name, with the messages they are about and their error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Entry>>>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) ids: Vec<MessageId>,
    pub(crate) text: String,
}

impl Log {
    pub(crate) fn observer(&self) -> impl Fn(&ConsumerEvent<'_>) + Send + Sync + 'static {
        let log = self.clone();
        move |event| {
            let (ids, text) = about(&event.kind);
            log.0.lock().unwrap().push(Entry { name: event.kind.name(), ids, text });
        }
    }

    pub(crate) fn all(&self) -> Vec<Entry> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn of(&self, name: &str) -> Vec<Entry> {
        self.all().into_iter().filter(|entry| entry.name == name).collect()
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.of(name).len()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.count(name) > 0
    }

    pub(crate) async fn hears(&self, name: &str) -> Entry {
        eventually(name, || self.has(name)).await;
        self.of(name).swap_remove(0)
    }
}

fn about(kind: &Kind<'_>) -> (Vec<MessageId>, String) {
    match kind {
        Kind::Reclaimed { id, deliveries, from, .. } => (vec![*id], format!("{deliveries} {from}")),
        Kind::RenewalFailed { ids, error, .. } | Kind::SettleFailed { ids, error, .. } => {
            (ids.to_vec(), error.to_string())
        }
        Kind::ReadFailed { error, .. } => (Vec::new(), error.to_string()),
        Kind::LeaseLost { lost, all, .. } => (lost.to_vec(), format!("{all:?}")),
        Kind::Trimmed { id, .. } => (vec![*id], String::new()),
        Kind::Failed { id, error, .. }
        | Kind::Undecodable { id, error, .. }
        | Kind::Dead { id, error, .. } => (vec![*id], (*error).to_owned()),
        Kind::TooLong { ids, .. }
        | Kind::Cancelled { ids, .. }
        | Kind::Done { ids, .. }
        | Kind::GivenBack { ids, .. } => (ids.to_vec(), String::new()),
        Kind::Renewed { count, .. } | Kind::Read { count, .. } => (Vec::new(), count.to_string()),
        Kind::Created { stream, again, .. } => (Vec::new(), format!("{stream} {again}")),
        other => panic!("an event that the tests do not know: {other:?}"),
    }
}

/// A consumer at work in this process.
pub(crate) struct Running {
    pub(crate) consumer: Consumer,
    pub(crate) log: Log,
    stop: CancellationToken,
    task: JoinHandle<Result<(), ConsumerError>>,
}

impl Running {
    /// Runs a consumer that was built with this log.
    pub(crate) fn start(consumer: Consumer, log: Log) -> Self {
        let stop = CancellationToken::new();
        let shutdown = stop.clone().cancelled_owned();
        let runs = consumer.clone().run(shutdown);
        let task = tokio::spawn(async {
            let ended = runs.await;
            if let Err(error) = &ended {
                eprintln!("the consumer has not started: {error}");
            }
            ended
        });
        Self { consumer, log, stop, task }
    }

    /// Has it shut down, and does not wait for that.
    pub(crate) fn shut_down(&self) {
        self.stop.cancel();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits for the end of its shutdown.
    pub(crate) async fn ends(self) -> Result<(), ConsumerError> {
        tokio::time::timeout(LONG, self.task).await.expect("it ends").unwrap()
    }

    pub(crate) async fn end(self) {
        self.shut_down();
        self.ends().await.unwrap();
    }

    /// Drops its `run`.
    pub(crate) async fn drop_it(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}

/// What handlers did, and until when they wait.
#[derive(Clone, Debug)]
pub(crate) struct Works {
    state: Arc<Mutex<State>>,
    gate: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    began: Vec<(MessageId, u64)>,
    ended: Vec<MessageId>,
    running: HashMap<MessageId, usize>,
    most_at_once: usize,
}

impl Works {
    /// Handlers that end when they may.
    pub(crate) fn gated() -> Self {
        Self { state: Arc::default(), gate: watch::channel(false).0 }
    }

    /// Handlers that end at once.
    pub(crate) fn free() -> Self {
        let works = Self::gated();
        works.open();
        works
    }

    pub(crate) fn open(&self) {
        self.gate.send_replace(true);
    }

    /// A handler's work on messages.
    pub(crate) async fn work<T>(&self, messages: &[Message<T>]) {
        let _running = self.begin(messages);
        self.gate.subscribe().wait_for(|is_open| *is_open).await.unwrap();
        let mut state = self.state.lock().unwrap();
        state.ended.extend(messages.iter().map(Message::id));
    }

    pub(crate) fn begin<T>(&self, messages: &[Message<T>]) -> AtWork {
        let ids: Vec<_> = messages.iter().map(Message::id).collect();
        let mut state = self.state.lock().unwrap();
        for message in messages {
            state.began.push((message.id(), message.deliveries()));
            let at_once = state.running.entry(message.id()).or_default();
            *at_once += 1;
            state.most_at_once = (*at_once).max(state.most_at_once);
        }
        AtWork { works: self.clone(), ids }
    }

    pub(crate) fn end(&self, id: MessageId) {
        self.state.lock().unwrap().ended.push(id);
    }

    /// Runs of a message that have begun.
    pub(crate) fn began(&self, id: MessageId) -> usize {
        self.state.lock().unwrap().began.iter().filter(|(known, _)| *known == id).count()
    }

    /// All that have begun, each with its delivery, in order.
    pub(crate) fn all_begun(&self) -> Vec<(MessageId, u64)> {
        self.state.lock().unwrap().began.clone()
    }

    pub(crate) fn ended(&self) -> Vec<MessageId> {
        self.state.lock().unwrap().ended.clone()
    }

    /// Runs that are at work now.
    pub(crate) fn running(&self) -> usize {
        self.state.lock().unwrap().running.values().sum()
    }

    /// The most runs of one message that were at work at once.
    pub(crate) fn most_at_once(&self) -> usize {
        self.state.lock().unwrap().most_at_once
    }

    pub(crate) async fn begins(&self, id: MessageId) {
        eventually("a handler begins", || self.began(id) > 0).await;
    }
}

/// A handler at work, until it ends or is dropped.
pub(crate) struct AtWork {
    works: Works,
    ids: Vec<MessageId>,
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let mut state = self.works.state.lock().unwrap();
        for id in &self.ids {
            *state.running.get_mut(id).unwrap() -= 1;
        }
    }
}

/// A consumer of single messages that does this work.
pub(crate) fn start(builder: ConsumerBuilder, works: &Works) -> Running {
    let log = Log::default();
    let works = works.clone();
    let consumer = builder.observer(log.observer()).handler(move |message: Message<Fields>| {
        let works = works.clone();
        async move {
            works.work(std::slice::from_ref(&message)).await;
            Ok::<_, String>(())
        }
    });
    Running::start(consumer, log)
}

/// The same with batches.
pub(crate) fn start_batches(builder: ConsumerBuilder, works: &Works) -> Running {
    let log = Log::default();
    let works = works.clone();
    let consumer = builder.observer(log.observer()).handler(move |batch: Batch<Fields>| {
        let works = works.clone();
        async move {
            works.work(&batch).await;
            Ok::<_, String>(())
        }
    });
    Running::start(consumer, log)
}

/// The scripts, to aim faults at.
pub(crate) const RENEW: &str = include_str!("../../../idem-redis/scripts/consumer/renew.lua");
pub(crate) const ACKNOWLEDGE: &str =
    include_str!("../../../idem-redis/scripts/consumer/acknowledge.lua");
pub(crate) const CLAIM: &str = include_str!("../../../idem-redis/scripts/consumer/claim.lua");
pub(crate) const BURY: &str = include_str!("../../../idem-redis/scripts/consumer/bury.lua");
pub(crate) const FLOOR: &str = include_str!("../../../idem-redis/scripts/consumer/floor.lua");
pub(crate) const GIVE_BACK: &str =
    include_str!("../../../idem-redis/scripts/consumer/give_back.lua");
pub(crate) const CREATE: &str = include_str!("../../../idem-redis/scripts/consumer/create.lua");

impl World {
    /// Gives a message to another consumer, as a reclaim does that finds it idle.
    pub(crate) fn steal(&self, id: MessageId) {
        let claimed: Vec<(String, Vec<String>)> =
            self.server.ask(&["XCLAIM", STREAM, GROUP, "thief", "0", &id.to_string()]);
        assert_eq!(claimed.len(), 1);
    }

    /// Adds so many messages at once.
    pub(crate) fn add_many(&self, count: usize) {
        let script = "for i = 1, tonumber(ARGV[1]) do redis.call('XADD', KEYS[1], '*', 'n', i) end";
        let _: redis::Value = self.server.ask(&["EVAL", script, "1", STREAM, &count.to_string()]);
    }

    pub(crate) fn length(&self) -> usize {
        self.server.ask(&["XLEN", STREAM])
    }

    /// The entries of a stream, each with its fields.
    pub(crate) fn entries(&self, stream: &str) -> Vec<(String, Vec<String>)> {
        self.server.ask(&["XRANGE", stream, "-", "+"])
    }
}

impl World {
    /// The consumers of the group, if there is one.
    pub(crate) fn consumers_or_none(&self) -> Vec<String> {
        let known: u64 = self.server.ask(&["EXISTS", STREAM]);
        if known == 0 {
            return Vec::new();
        }
        let groups: Vec<HashMap<String, redis::Value>> =
            self.server.ask(&["XINFO", "GROUPS", STREAM]);
        if groups.is_empty() { Vec::new() } else { self.consumers() }
    }
}
