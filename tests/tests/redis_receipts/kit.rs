//! What these tests share: a server, and processes on it.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use idem_runtime::{Dispatch, Error, Idem, Ran, Receipt, RunId};
use idem_tests::caller::Settings;
use idem_tests::runner::{self, Given, OPERATION, Runner};
use idem_tests::{LEASE, Ledger, RedisServer, TTL};

/// Longer than any test waits.
const LONG: Duration = Duration::from_secs(60);
/// How long a run may come back in the tests that wait for the end of that. A process on a busy machine
/// dispatches more than once in it.
pub(crate) const HOLD: Duration = LEASE.saturating_mul(2);

/// One server, and what the processes on it share.
pub(crate) struct World {
    pub(crate) server: RedisServer,
    ledger: Ledger,
}

impl World {
    pub(crate) fn start() -> Self {
        Self::on(RedisServer::start())
    }

    pub(crate) fn on(server: RedisServer) -> Self {
        Self { server, ledger: Ledger::new() }
    }

    /// A process of its own.
    pub(crate) fn runner(&self) -> Runner {
        self.runner_with(LEASE)
    }

    /// The same with other leases than of a second.
    pub(crate) fn runner_with(&self, lease: Duration) -> Runner {
        Runner::start(program(), &self.settings().lease(lease))
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::new(self.server.url(), self.ledger.path())
    }

    /// What bodies have done, in order: `began` and `ended`, each with its run.
    pub(crate) fn effects(&self) -> Vec<String> {
        self.ledger.effects()
    }

    /// How often the body of a run has begun.
    pub(crate) fn begun(&self, run: RunId) -> usize {
        self.effects().into_iter().filter(|effect| *effect == format!("{run} began")).count()
    }

    /// A record and when it expires: what changes nothing leaves both as they were.
    pub(crate) fn stands(&self, record: &str) -> (Option<Vec<u8>>, i64) {
        (self.server.ask(&["GET", record]), self.expires_at(record))
    }

    /// When a record expires, by the server's clock in milliseconds; less than 0 without a record.
    pub(crate) fn expires_at(&self, record: &str) -> i64 {
        let at: i64 = self.server.ask(&["PEXPIRETIME", record]);
        assert_ne!(at, -1, "a record without an end");
        at
    }

    pub(crate) fn has(&self, record: &str) -> bool {
        self.server.ask(&["EXISTS", record])
    }

    /// The server's clock, in milliseconds.
    pub(crate) fn now(&self) -> i64 {
        let (seconds, micros): (i64, i64) = self.server.ask(&["TIME"]);
        seconds * 1_000 + micros / 1_000
    }

    /// Dispatches until there is a new run: every dispatch that has ended before the server's clock shows
    /// `moment` gets the receipt of `old`, the first that begins after it does not.
    ///
    /// A dispatch that `moment` falls into may get either, so a slow machine moves no bound.
    pub(crate) fn new_run_at(
        &self,
        moment: i64,
        dispatcher: &mut Runner,
        dispatch: &runner::Dispatch,
        old: RunId,
    ) -> RunId {
        let mut replays = 0;
        loop {
            let asked = self.now();
            let given = dispatcher.receipt(dispatch.clone());
            if !given.replay {
                assert!(self.now() >= moment, "a new run {} ms too early", moment - self.now());
                assert!(replays >= 2, "{replays} replays");
                assert_eq!(dispatcher.queued(&dispatch.key), given.run);
                return given.run;
            }
            assert_eq!(given, Given { run: old, replay: true });
            // The store counts in whole milliseconds, and leaves a run the one that has begun.
            assert!(asked <= moment + 1, "held {} ms too long", asked - moment);
            replays += 1;
            sleep(Duration::from_millis(20));
        }
    }

    /// When the hold of a run is over whose worker has vanished, by the server's clock: its reservation
    /// lives for lease, hold and ttl.
    pub(crate) fn hold_ends(&self, run: RunId) -> i64 {
        self.expires_at(&run_record(run)) - millis(TTL)
    }
}

/// The program of a runner.
pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_runner"))
}

pub(crate) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap()
}

/// The name of the record of a key's receipt.
pub(crate) fn receipt_record(key: &str) -> String {
    format!("shop:{OPERATION}:{key}")
}

/// The name of the record of a run.
pub(crate) fn run_record(run: RunId) -> String {
    format!("shop:idem.run:{run}")
}

/// Blocks until a condition holds.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "not within a minute: {what}");
        sleep(Duration::from_millis(10));
    }
}

/// A queue of this process, which forgets nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    runs: Arc<Mutex<Vec<RunId>>>,
    cancelled: Arc<Mutex<Vec<RunId>>>,
}

impl Queue {
    /// The runs that were handed to it, in order.
    pub(crate) fn runs(&self) -> Vec<RunId> {
        self.runs.lock().unwrap().clone()
    }

    /// Notes that somebody was told that a run is cancelled.
    pub(crate) fn is_cancelled(&self, run: RunId) {
        self.cancelled.lock().unwrap().push(run);
    }

    /// The runs of which that was noted.
    pub(crate) fn cancelled(&self) -> Vec<RunId> {
        self.cancelled.lock().unwrap().clone()
    }

    pub(crate) async fn take(&self, dispatch: Dispatch) -> Result<Receipt, Error> {
        let push = async |run: idem_runtime::Run| {
            self.runs.lock().unwrap().push(run.id());
            Ok::<_, Error>(())
        };
        dispatch.enqueue(push).await
    }
}

/// A dispatch of this process.
pub(crate) fn dispatch(idem: &Idem, key: &str) -> Dispatch {
    idem.dispatch(OPERATION).key(key)
}

/// Works a run off at once.
pub(crate) async fn work(idem: &Idem, run: RunId, value: u64) -> Result<Ran<u64, Error>, Error> {
    idem.attach(run).run(async { Ok::<_, Error>(value) }).await
}
