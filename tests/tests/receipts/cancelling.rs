//! Cancelling: before a run starts, while it runs, after it has ended; in another process.

use std::sync::Arc;

use idem_runtime::testing::Operation;
use idem_runtime::{Error, ErrorKind, OnLost, Ran, RunStatus, lease};
use idem_tests::{LEASE, World};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::kit::{Queue, work};

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_before_it_starts_never_does() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    assert_eq!(worker.idem.run(receipt.id()).cancel().await.unwrap(), RunStatus::Cancelled);
    assert!(matches!(work(&worker, receipt.id(), 7).await, Ran::NotStarted(RunStatus::Cancelled)));
    assert_eq!(receipt.result::<u64>().await.unwrap_err().kind(), ErrorKind::RunFailed);
    assert!(!queue.dispatch(&process).await.unwrap().is_replay());
}

/// The next renewal of the worker sees it, and its token is cancelled.
#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_a_worker_in_another_process_by_its_next_renewal() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    let running = Arc::new(Notify::new());
    let (ran, told_after) = tokio::join!(
        worker.idem.attach(receipt.id()).run({
            let running = Arc::clone(&running);
            async move {
                let lease = lease().unwrap();
                running.notify_one();
                lease.token().cancelled().await;
                Ok::<_, Error>(7_u64)
            }
        }),
        async {
            running.notified().await;
            let since = tokio::time::Instant::now();
            assert_eq!(receipt.cancel().await.unwrap(), RunStatus::Cancelled);
            // Nothing is held for a run that was cancelled.
            assert!(!queue.dispatch(&process).await.unwrap().is_replay());
            since
        }
    );
    assert!(told_after.elapsed() <= LEASE / 3, "{:?}", told_after.elapsed());
    let error = ran.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LeaseLost);
    assert!(error.to_string().contains("cancelled"), "{error}");
    assert_eq!(receipt.status().await.unwrap(), RunStatus::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_asks_for_it_is_dropped_when_its_run_is_cancelled() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    let (ran, ()) = tokio::join!(
        worker
            .idem
            .attach(receipt.id())
            .on_lost(OnLost::Cancel)
            .run(async { std::future::pending::<Result<u64, Error>>().await }),
        async {
            sleep(LEASE).await;
            receipt.cancel().await.unwrap();
        }
    );
    assert_eq!(ran.unwrap_err().kind(), ErrorKind::LeaseLost);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_has_ended_stays_as_it_ended() {
    let (world, queue) = (World::new(), Queue::default());
    let process = world.process();
    let receipt = queue.dispatch(&process).await.unwrap();
    drop(work(&process, receipt.id(), 7).await);
    assert_eq!(receipt.cancel().await.unwrap(), RunStatus::Succeeded);
    assert_eq!(receipt.result::<u64>().await.unwrap(), 7);
}

/// The run ends between the cancel's look and its step: what was seen is not what stands, so it looks
/// again.
#[tokio::test(start_paused = true)]
async fn a_cancel_that_comes_too_late_overwrites_no_end() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    let mut gate = process.faults.hold_before(Operation::Replace);
    let (status, ()) = tokio::join!(receipt.cancel(), async {
        gate.arrived().await;
        drop(work(&worker, receipt.id(), 7).await);
        gate.open();
    });
    assert_eq!(status.unwrap(), RunStatus::Succeeded);
    assert_eq!(receipt.result::<u64>().await.unwrap(), 7);
}

/// A cancel between a worker's reservation and its body: the body does not run.
#[tokio::test(start_paused = true)]
async fn a_cancel_before_the_body_is_polled_keeps_it_from_running() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    let mut gate = worker.faults.hold_before(Operation::Renew);
    let (ran, ()) = tokio::join!(work(&worker, receipt.id(), 7), async {
        gate.arrived().await;
        receipt.cancel().await.unwrap();
        gate.open();
    });
    assert!(matches!(ran, Ran::NotStarted(RunStatus::Cancelled)), "{ran:?}");
}

#[tokio::test(start_paused = true)]
async fn of_a_run_that_nobody_knows_nothing_is_cancelled() {
    let process = World::new().process();
    let run = process.idem.run("0123456789abcdef0123456789abcdef".parse().unwrap());
    assert_eq!(run.cancel().await.unwrap(), RunStatus::Gone);
}
