//! The dispatches, and what the runs do.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use idem_runtime::{Error, Idem, Run, RunId};
use idem_tests::Ledger;
use idem_tests::runner::{Body, Dispatch, OPERATION, Ran, Told, Way};
use tokio::sync::watch;

use crate::tell;

/// What everything asked of a runner is done with.
#[derive(Clone)]
pub(crate) struct Runs {
    idem: Idem,
    ledger: PathBuf,
    finished: Arc<watch::Sender<HashSet<String>>>,
}

impl Runs {
    pub(crate) fn new(idem: Idem, ledger: PathBuf) -> Self {
        Self { idem, ledger, finished: Arc::default() }
    }

    pub(crate) fn finish(&self, name: String) {
        self.finished.send_modify(|finished| {
            finished.insert(name);
        });
    }

    async fn is_finished(&self, name: &str) {
        let mut finished = self.finished.subscribe();
        // Never fails: this has the sender.
        drop(finished.wait_for(|finished| finished.contains(name)).await);
    }

    pub(crate) async fn dispatch(self, dispatch: Dispatch) {
        let Dispatch { key, hold, queue_timeout, way } = dispatch;
        let dispatch = self.idem.dispatch(OPERATION).key(&key);
        let dispatch = dispatch.hold(hold).queue_timeout(queue_timeout);
        let queue = async |run: Run| {
            tell(&Told::Queued { key: key.clone(), run: run.id() });
            if way == Way::SlowQueue {
                self.is_finished(&key).await;
            }
            Ok::<_, Error>(())
        };
        let given = match way {
            Way::Queue | Way::SlowQueue => dispatch.enqueue(queue).await,
            Way::Spawn(body) => dispatch.spawn(self.clone().body(body)).await,
        };
        let given = given.map(Into::into).map_err(Into::into);
        tell(&Told::Dispatched { key: key.clone(), given });
    }

    pub(crate) async fn attach(self, run: RunId, body: Body) {
        let ran = self.idem.attach(run).run(self.clone().body(body)).await;
        let ran = ran.map(|ran| match ran {
            idem_runtime::Ran::Ended(Ok(value)) => Ran::Ended(value),
            idem_runtime::Ran::NotStarted(status) => Ran::NotStarted(status.to_string()),
            other => panic!("no body here fails: {other:?}"),
        });
        tell(&Told::Worked { run, ran: ran.map_err(Into::into) });
    }

    /// What a run does, under its lease.
    async fn body(self, body: Body) -> Result<u64, Error> {
        let lease = idem_runtime::lease().expect("a body runs under a lease");
        let run: RunId = lease.key().parse().expect("a run's lease has its id for a key");
        effect(&self.ledger, &format!("{run} began"));
        tell(&Told::Began { run, attempt: lease.attempt() });
        let token = lease.token();
        let watch = tokio::spawn(async move {
            token.cancelled().await;
            tell(&Told::Lost { run });
        });
        if body.held {
            self.is_finished(&run.to_string()).await;
        }
        watch.abort();
        effect(&self.ledger, &format!("{run} ended"));
        Ok(body.value)
    }

    pub(crate) async fn cancel(self, run: RunId) {
        let status = self.idem.run(run).cancel().await;
        let status = status.map(|status| status.to_string()).map_err(Into::into);
        tell(&Told::Cancelled { run, status });
    }

    pub(crate) async fn look(self, run: RunId) {
        let of = self.idem.run(run);
        let status = of.status().await.map(|status| status.to_string()).map_err(Into::into);
        tell(&Told::Looked { run, status, result: of.result().await.ok() });
    }
}

fn effect(ledger: &Path, effect: &str) {
    let written = Ledger::append(ledger, effect);
    written.unwrap_or_else(|error| panic!("no effect at {}: {error}", ledger.display()));
}
