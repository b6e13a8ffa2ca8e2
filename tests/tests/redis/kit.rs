//! What these tests share: processes on a server, and records made by hand.

use std::collections::BTreeMap;
use std::time::Duration;

use idem_redis::RedisBackend;
use idem_runtime::backend::Renewal;
use idem_runtime::protocol::transition::BeginReply;
use idem_runtime::record::{Owner, Payload, Record, State};
use idem_runtime::{Backend, Builder, Error, Fingerprint, Idem, Key, Outcome, RecordKey};
use idem_tests::{Events, LEASE, RedisServer, TTL};

/// Longer than a test takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// An `Idem` with a keeper's thread, connections and events of its own: what a process is.
pub(crate) struct Process {
    pub(crate) idem: Idem,
    pub(crate) events: Events,
}

pub(crate) async fn connect(server: &RedisServer) -> RedisBackend {
    connect_to(&server.url()).await
}

pub(crate) async fn connect_to(url: &str) -> RedisBackend {
    RedisBackend::connect(url).await.unwrap()
}

pub(crate) async fn process(server: &RedisServer) -> Process {
    process_with(connect(server).await, |builder| builder)
}

/// A process with leases of a second unless `settings` say otherwise.
pub(crate) fn process_with(
    backend: RedisBackend,
    settings: impl FnOnce(Builder) -> Builder,
) -> Process {
    let events = Events::default();
    let builder = Idem::builder().backend(backend).prefix("shop").lease(LEASE).ttl(TTL);
    let idem = settings(builder.observer(events.clone())).build().unwrap();
    Process { idem, events }
}

impl Process {
    /// A call that takes no time.
    pub(crate) async fn call(&self, key: &str, value: u64) -> Result<Outcome<u64>, Error> {
        self.idem.call("charge").key(key).run(|_| async move { Ok::<_, Error>(value) }).await
    }

    /// A call whose action ends when `until` does.
    pub(crate) async fn call_until(
        &self,
        key: &str,
        value: u64,
        until: impl Future<Output = ()>,
    ) -> Result<Outcome<u64>, Error> {
        let action = |_| async move {
            until.await;
            Ok::<_, Error>(value)
        };
        self.idem.call("charge").key(key).run(action).await
    }
}

/// The record of `Process::call`.
pub(crate) fn record_key(key: &str) -> RecordKey {
    RecordKey::new("shop".into(), "charge".into(), Key::of(key).unwrap())
}

pub(crate) fn reservation(owner: Owner) -> Record {
    Record::reservation(owner, Fingerprint::NONE, 1_700_000_000_000)
}

pub(crate) fn outcome(owner: Owner, value: &[u8]) -> Record {
    let payload = Payload::of(|out| {
        out.extend_from_slice(value);
        Ok::<_, std::convert::Infallible>(())
    });
    let Ok(payload) = payload;
    Record { state: State::Completed, codec: 1, payload, ..reservation(owner) }
}

/// Reserves a key for a new owner.
pub(crate) async fn reserved(backend: &RedisBackend, key: &RecordKey) -> Owner {
    let owner = Owner::fresh();
    let begun = backend.begin(key, &reservation(owner), LONG).await.unwrap();
    assert_eq!(begun, BeginReply::Acquired);
    owner
}

pub(crate) fn renewal(key: &RecordKey, owner: Owner) -> Renewal {
    Renewal { key: key.clone(), owner, lease: LONG, retention: Duration::ZERO }
}

/// What was carried out since the counters were reset, without what asking for that takes.
pub(crate) fn counts(server: &RedisServer) -> BTreeMap<String, u64> {
    let stats: String = server.ask(&["INFO", "commandstats"]);
    let count = |line: &str| {
        let (command, stat) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((command.to_owned(), stat.split(',').next()?.parse().ok()?))
    };
    let mut counts: BTreeMap<String, u64> = stats.lines().filter_map(count).collect();
    counts
        .retain(|command, _| !["info", "config|resetstat", "client|setinfo"].contains(&&**command));
    counts
}

pub(crate) fn reset(server: &RedisServer) {
    let _: String = server.ask(&["CONFIG", "RESETSTAT"]);
}

pub(crate) fn expected(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
    counts.iter().map(|(command, count)| ((*command).to_owned(), *count)).collect()
}
