//! What the tests of idem share: a store with faults, processes on it, and a record of events.

pub mod caller;
pub mod consuming;
mod ledger;
pub mod properties;
mod proxy;
mod redis_cluster;
mod redis_sentinels;
pub mod runner;
pub mod soak;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use idem_runtime::testing::{FaultBackend, Faults, Runs};
use idem_runtime::{Builder, Event, Idem, MemoryBackend, Observer};

pub use idem_processes::{Program, RedisServer, free_port};
pub use ledger::Ledger;
pub use proxy::{Aim, Fault, Proxy, Trap};
pub use redis_cluster::RedisCluster;
pub use redis_sentinels::RedisSentinels;

/// The lease of most tests.
pub const LEASE: Duration = Duration::from_secs(1);
/// How long outcomes are kept in most tests.
pub const TTL: Duration = Duration::from_secs(3600);

/// One store, and what the processes on it share.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The records.
    pub store: MemoryBackend,
    /// What ran.
    pub runs: Runs,
}

/// One `Idem` on the store, with a keeper, faults and events of its own: what a process is.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its handle.
    pub idem: Idem,
    /// What goes wrong between it and the store.
    pub faults: Faults,
    /// What it was told.
    pub events: Events,
}

impl World {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A process with leases of a second, living on the (paused) clock of the test.
    #[must_use]
    pub fn process(&self) -> Process {
        self.process_with(|builder| builder)
    }

    /// A process with settings of its own.
    #[must_use]
    pub fn process_with(&self, settings: impl FnOnce(Builder) -> Builder) -> Process {
        self.build(|builder| settings(builder.keeper_as_task()))
    }

    /// A process whose keeper is a real thread, in real time.
    #[must_use]
    pub fn real_process(&self, settings: impl FnOnce(Builder) -> Builder) -> Process {
        self.build(settings)
    }

    fn build(&self, settings: impl FnOnce(Builder) -> Builder) -> Process {
        let (faults, events) = (Faults::new(), Events::default());
        let builder = Idem::builder()
            .backend(FaultBackend::new(self.store.clone(), &faults))
            .lease(LEASE)
            .ttl(TTL)
            .observer(events.clone());
        let idem = settings(builder).build().expect("the settings of a test are valid");
        Process { idem, faults, events }
    }
}

/// A record of the names of all events, in order.
#[derive(Clone, Debug, Default)]
pub struct Events(Arc<Mutex<Vec<&'static str>>>);

impl Events {
    /// All events so far.
    #[must_use]
    pub fn all(&self) -> Vec<&'static str> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often an event has happened.
    #[must_use]
    pub fn count(&self, name: &str) -> usize {
        self.all().into_iter().filter(|event| *event == name).count()
    }

    /// Whether an event has happened.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.count(name) > 0
    }
}

impl Observer for Events {
    fn observe(&self, event: &Event<'_>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event.kind.name());
    }
}

/// Waits until a condition holds; fails with `what` if it does not within a minute of the test's
/// clock.
///
/// # Panics
/// If the condition does not come about.
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("not within a minute: {what}");
}

/// The rights that `docs/redis.md` asks for, those on the keys and channels of `shop` among them.
///
/// # Panics
/// If they do not stand there.
#[must_use]
pub fn rights_asked_for() -> Vec<&'static str> {
    let page = include_str!("../../docs/redis.md");
    let command =
        page.split("```").find_map(|code| code.trim().strip_prefix("ACL SETUSER idem on >… "));
    command
        .unwrap_or_else(|| panic!("no ACL SETUSER in docs/redis.md"))
        .split_whitespace()
        .collect()
}

/// The README's code, compiled and run with the doctests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// Likewise.
#[cfg(doctest)]
#[doc = include_str!("../../docs/receipts.md")]
struct Receipts;

/// Likewise.
#[cfg(doctest)]
#[doc = include_str!("../../docs/consumer.md")]
struct Consumers;
