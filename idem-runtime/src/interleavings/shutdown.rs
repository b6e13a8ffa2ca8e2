//! A shutdown beside calls: it ends, and its report is true.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use shuttle::future::JoinHandle;

use super::stage::{Events, builder};
use super::store::{Store, pause};
use super::{dawdle, explore};
use crate::error::{Error, ErrorKind};
use crate::idem::Idem;
use crate::observe::Outcome;
use crate::policy::OnLost;
use crate::sync::scheduled::{all_ended, block_on, task};

/// How many bodies run and have run. Not shared state of the product: no steps.
#[derive(Default)]
struct Bodies {
    running: AtomicUsize,
    done: AtomicUsize,
}

async fn call(idem: Idem, key: &'static str, bodies: Arc<Bodies>) -> Result<Outcome<u64>, Error> {
    idem.call("shut.down")
        .key(key)
        .run(|_lease| async move {
            bodies.running.fetch_add(1, Ordering::SeqCst);
            let running = Running(bodies);
            pause().await;
            running.0.done.fetch_add(1, Ordering::SeqCst);
            Ok::<u64, Error>(7)
        })
        .await
}

/// A body runs until this is dropped.
struct Running(Arc<Bodies>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

fn calls(idem: &Idem, bodies: &Arc<Bodies>) -> Vec<JoinHandle<Result<Outcome<u64>, Error>>> {
    let call = |key| task(call(idem.clone(), key, Arc::clone(bodies)));
    ["a", "b", "a"].map(call).into()
}

#[test]
fn a_shutdown_with_time_leaves_nothing_behind() {
    explore("shutdown with time against calls", 1_000, || {
        let store = Store::new();
        let idem = builder(&store).build().unwrap();
        let bodies = Arc::new(Bodies::default());
        let calls = calls(&idem, &bodies);
        dawdle(60);
        let report = block_on(idem.shutdown(Duration::from_secs(60)));
        assert!(report.is_clean(), "{report:?}");
        assert_eq!(bodies.running.load(Ordering::SeqCst), 0, "a body runs after a clean shutdown");
        let done = bodies.done.load(Ordering::SeqCst);
        for call in calls {
            match block_on(call).unwrap() {
                Ok(outcome) => assert!(outcome.stored),
                Err(error) => assert_eq!(error.kind(), ErrorKind::ShuttingDown),
            }
        }
        assert_eq!(bodies.done.load(Ordering::SeqCst), done, "a body ran after a clean shutdown");
        drop(idem);
        block_on(all_ended());
    });
}

#[test]
fn a_shutdown_without_time_ends_and_reports_who_is_left() {
    explore("shutdown at once against calls", 1_000, || {
        let store = Store::new();
        let events = Events::default();
        let idem = builder(&store).observer(events.clone()).build().unwrap();
        let bodies = Arc::new(Bodies::default());
        let calls = calls(&idem, &bodies);
        dawdle(60);
        let report = block_on(idem.shutdown(Duration::ZERO));
        assert!(report.running <= 2, "{report:?}");
        let running = bodies.running.load(Ordering::SeqCst);
        assert!(running <= report.running, "{running} run, {report:?}");
        for call in calls {
            match block_on(call).unwrap() {
                Ok(outcome) => assert!(outcome.stored),
                Err(error) => assert_eq!(error.kind(), ErrorKind::ShuttingDown),
            }
        }
        assert_eq!(idem.core().flights.count(), 0);
        assert_eq!(idem.core().keeper.backlog().len(), 0);
        drop(idem);
        block_on(all_ended());
    });
}

/// Nobody renews its lease any more, so nothing of it runs on under `on_lost = cancel`.
#[test]
fn after_a_shutdown_no_body_runs_on_that_is_to_be_cancelled() {
    explore("shutdown at once against bodies that are cancelled", 1_000, || {
        let store = Store::new();
        let idem = builder(&store).on_lost(OnLost::Cancel).build().unwrap();
        let endless = task({
            let idem = idem.clone();
            async move {
                let body = |_lease| std::future::pending::<Result<u64, Error>>();
                idem.call("shut.down").key("a").run(body).await
            }
        });
        dawdle(60);
        block_on(idem.shutdown(Duration::ZERO));
        // It ends without anybody's doing, and without time.
        let ended = block_on(endless).unwrap().unwrap_err();
        assert!(
            matches!(ended.kind(), ErrorKind::ShuttingDown | ErrorKind::LeaseLost),
            "{ended:?}"
        );
        drop(idem);
        block_on(all_ended());
    });
}
