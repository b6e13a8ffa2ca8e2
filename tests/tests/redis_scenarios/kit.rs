//! What the scenarios share: a server, and processes on it.

use std::process::Command;
use std::time::{Duration, Instant};

use idem_redis::RedisBackend;
use idem_runtime::record::{Owner, Record, State};
use idem_runtime::testing::{FaultBackend, Faults, Runs};
use idem_runtime::{
    Backend, Builder, Error, ErrorKind, Fingerprint, Idem, Key, OnDuplicate, Outcome, RecordKey,
};
use idem_tests::caller::{Answer, Caller, OPERATION, Settings};
use idem_tests::{Events, LEASE, Ledger, Process, RedisServer, TTL};

/// Longer than any test waits.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// One server, and what the processes on it share.
pub(crate) struct World {
    pub(crate) server: RedisServer,
    /// What ran in this process.
    pub(crate) runs: Runs,
    /// What ran in others.
    pub(crate) ledger: Ledger,
}

impl World {
    pub(crate) fn start() -> Self {
        Self::on(RedisServer::start())
    }

    pub(crate) fn on(server: RedisServer) -> Self {
        Self { server, runs: Runs::new(), ledger: Ledger::new() }
    }

    pub(crate) async fn backend(&self) -> RedisBackend {
        RedisBackend::connect(&self.server.url()).await.unwrap()
    }

    /// An `Idem` with a keeper's thread, connections, faults and events of its own.
    pub(crate) async fn process(&self) -> Process {
        self.process_with(|builder| builder).await
    }

    /// The same with other settings than leases of a second.
    pub(crate) async fn process_with(&self, settings: impl FnOnce(Builder) -> Builder) -> Process {
        process_on(self.backend().await, settings)
    }

    /// The settings of a process on this server.
    pub(crate) fn settings(&self) -> Settings {
        Settings::new(self.server.url(), self.ledger.path())
    }

    /// The name of the record of `OPERATION` and a key.
    fn name(key: &str) -> String {
        format!("shop:{OPERATION}:{key}")
    }

    /// The record as it is stored.
    pub(crate) fn record(&self, key: &str) -> Option<Vec<u8>> {
        self.server.ask(&["GET", &Self::name(key)])
    }

    /// Whose record it is: 16 bytes after version and state.
    pub(crate) fn owner(&self, key: &str) -> Vec<u8> {
        self.record(key).unwrap()[2..18].to_vec()
    }

    /// When the record expires, by the server's clock in milliseconds; `None` without a record.
    pub(crate) fn expires_at(&self, key: &str) -> Option<i64> {
        let at: i64 = self.server.ask(&["PEXPIRETIME", &Self::name(key)]);
        assert_ne!(at, -1, "a record without an end");
        (at >= 0).then_some(at)
    }

    /// Record and expiry: a command that changes nothing leaves both as they were.
    pub(crate) fn stands(&self, key: &str) -> (Option<Vec<u8>>, Option<i64>) {
        (self.record(key), self.expires_at(key))
    }

    /// The server's clock, in milliseconds.
    pub(crate) fn now(&self) -> i64 {
        let (seconds, micros): (i64, i64) = self.server.ask(&["TIME"]);
        seconds * 1_000 + micros / 1_000
    }
}

/// An `Idem` on any backend, with faults before it.
pub(crate) fn process_on(
    backend: impl Backend,
    settings: impl FnOnce(Builder) -> Builder,
) -> Process {
    let (faults, events) = (Faults::new(), Events::default());
    let builder = Idem::builder().backend(FaultBackend::new(backend, &faults)).prefix("shop");
    let builder = builder.lease(LEASE).ttl(TTL).observer(events.clone());
    Process { idem: settings(builder).build().unwrap(), faults, events }
}

/// A process of its own.
pub(crate) fn caller(settings: &Settings) -> Caller {
    Caller::start(program(), settings)
}

/// The program of `caller`.
pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_caller"))
}

/// Checks that a caller was refused with this.
pub(crate) fn assert_refused(answer: &Answer, kind: ErrorKind) {
    let refused = answer.as_ref().unwrap_err();
    assert_eq!(refused.kind, format!("{kind:?}"), "{}", refused.message);
}

/// A call that takes no time.
pub(crate) async fn call(idem: &Idem, key: &str, value: u64) -> Result<Outcome<u64>, Error> {
    idem.call(OPERATION).key(key).run(|_| async move { Ok::<_, Error>(value) }).await
}

/// The same, refused if the key is in progress.
pub(crate) async fn call_at_once(
    idem: &Idem,
    key: &str,
    value: u64,
) -> Result<Outcome<u64>, Error> {
    let call = idem.call(OPERATION).key(key).on_duplicate(OnDuplicate::Reject);
    call.run(|_| async move { Ok::<_, Error>(value) }).await
}

/// A call whose action ends when `until` does.
pub(crate) async fn call_until(
    idem: &Idem,
    key: &str,
    value: u64,
    until: impl Future<Output = ()>,
) -> Result<Outcome<u64>, Error> {
    let action = |_| async move {
        until.await;
        Ok::<_, Error>(value)
    };
    idem.call(OPERATION).key(key).run(action).await
}

/// The record of `OPERATION` and a key.
pub(crate) fn record_key(key: &str) -> RecordKey {
    RecordKey::new("shop".into(), OPERATION.into(), Key::of(key).unwrap())
}

/// A reservation made by hand.
pub(crate) fn reservation(owner: Owner) -> Record {
    Record::reservation(owner, Fingerprint::NONE, 1_700_000_000_000)
}

/// An outcome made by hand, without a value.
pub(crate) fn outcome(owner: Owner) -> Record {
    Record { state: State::Completed, ..reservation(owner) }
}

/// Blocks until a condition holds.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
