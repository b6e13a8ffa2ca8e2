//! A dispatch as these tests make it, and queues that hand its runs on.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_runtime::{Dispatch, Error, Idem, Key, Liveness, Ran, Receipt, RecordKey, RunId, Verdict};
use idem_tests::{LEASE, Process, TTL};
use tokio::time::{sleep, timeout};

/// A tick of the store's clock, by which a moment is just before or just after another.
pub(crate) const TICK: Duration = Duration::from_millis(1);
pub(crate) const OPERATION: &str = "reports.render";
/// How long a run may come back once its lease has lapsed.
pub(crate) const HOLD: Duration = LEASE.saturating_mul(20);
/// How long a run may wait for a worker.
pub(crate) const QUEUE_TIMEOUT: Duration = LEASE.saturating_mul(40);

pub(crate) fn dispatch(idem: &Idem) -> Dispatch {
    idem.dispatch(OPERATION).key("k").ttl(TTL).hold(HOLD).queue_timeout(QUEUE_TIMEOUT)
}

/// The runs that were handed to a queue, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue(Arc<Mutex<Vec<RunId>>>);

impl Queue {
    pub(crate) fn runs(&self) -> Vec<RunId> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn push(&self, run: RunId) {
        self.0.lock().unwrap().push(run);
    }

    /// Dispatches to this queue.
    pub(crate) async fn dispatch(&self, process: &Process) -> Result<Receipt, Error> {
        dispatch(&process.idem)
            .enqueue(async |run| {
                self.push(run.id());
                Ok::<_, Error>(())
            })
            .await
    }

    /// Dispatches to this queue and dies before the receipt is stored; its reservation has ended since.
    pub(crate) async fn dispatch_and_vanish(&self, process: &Process) {
        let dispatching = dispatch(&process.idem).enqueue(async |run| {
            self.push(run.id());
            process.faults.away(true);
            pending::<Result<(), Error>>().await
        });
        assert!(timeout(LEASE / 10, dispatching).await.is_err());
        sleep(LEASE * 2).await;
    }
}

/// Works a run off at once.
pub(crate) async fn work(process: &Process, run: RunId, value: u64) -> Ran<u64, Error> {
    process.idem.attach(run).run(async { Ok::<_, Error>(value) }).await.unwrap()
}

/// Where the receipt of these tests' dispatches stands.
pub(crate) fn receipt_key() -> RecordKey {
    RecordKey::new("".into(), OPERATION.into(), Key::of("k").unwrap())
}

/// Where the record of a run stands.
pub(crate) fn run_key(run: RunId) -> RecordKey {
    RecordKey::new("".into(), "idem.run".into(), Key::of(&run.to_string()).unwrap())
}

/// What the record of a receipt's run says.
pub(crate) async fn verdict(process: &Process, receipt: &Receipt) -> Verdict {
    process.idem.verdict(receipt.id()).await
}
