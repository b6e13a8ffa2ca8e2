//! A connection is cut at each command in turn: everything that dispatchers and workers do succeeds all
//! the same, and every run runs once.

use std::time::Duration;

use idem_runtime::{Error, ErrorKind, Ran, Receipt, RunStatus};
use idem_tests::{Aim, Fault, Trap, eventually};

use super::{PATIENCE, Rig, dispatch, everywhere};
use crate::kit::{Queue, work};
use crate::processes::Process;

/// Nothing lapses within a test, and a run is renewed in it.
const LEASE: Duration = Duration::from_secs(4);
const LONG: Duration = Duration::from_secs(600);

/// One of everything that is asked of a run, all of it on one key: each run is over before the next.
async fn one_of_everything(dispatcher: &Process, worker: &Process) {
    let queue = Queue::default();
    let new = async |queue_timeout| -> Receipt {
        let receipt = queue.take(dispatch(&dispatcher.idem, LONG, queue_timeout)).await.unwrap();
        assert!(!receipt.is_replay());
        receipt
    };
    let cancelled = new(LONG).await;
    assert_eq!(worker.idem.run(cancelled.id()).cancel().await.unwrap(), RunStatus::Cancelled);

    let failed = new(LONG).await;
    let fails = async { Err::<u64, _>(Error::of_kind(ErrorKind::NotKept, "no paper")) };
    let ran = worker.idem.attach(failed.id()).run(fails).await.unwrap();
    assert!(matches!(ran, Ran::Ended(Err(_))), "{ran:?}");

    let waited = new(Duration::from_millis(1)).await;
    tokio::time::sleep(Duration::from_millis(5)).await;

    let spawned = dispatch(&dispatcher.idem, LONG, LONG);
    let spawned = spawned.spawn(async { Err::<u64, _>("no ink") }).await.unwrap();
    assert!(!spawned.is_replay());
    while !spawned.status().await.unwrap().has_ended() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }

    let succeeded = new(LONG).await;
    let body = async {
        eventually("renewed", || worker.events.has("renewed")).await;
        Ok::<_, Error>(7_u64)
    };
    let ran = worker.idem.attach(succeeded.id()).run(body).await.unwrap();
    assert!(matches!(ran, Ran::Ended(Ok(7))), "{ran:?}");
    let again = queue.take(dispatch(&dispatcher.idem, LONG, LONG)).await.unwrap();
    assert_eq!((again.id(), again.is_replay()), (succeeded.id(), true));
    assert_eq!(again.result::<u64>().await.unwrap(), 7);
    let late = work(&worker.idem, succeeded.id(), 8).await.unwrap();
    assert!(matches!(late, Ran::NotStarted(RunStatus::Succeeded)), "{late:?}");

    assert_eq!(queue.runs(), [&cancelled, &failed, &waited, &succeeded].map(Receipt::id));
    for (receipt, why) in [(failed, "no paper"), (waited, "queue timeout"), (spawned, "no ink")] {
        let status = receipt.status().await.unwrap();
        assert!(
            matches!(&status, RunStatus::Failed { reason, .. } if reason.contains(why)),
            "{status}"
        );
    }
    assert_eq!(cancelled.status().await.unwrap(), RunStatus::Cancelled);
}

/// Cuts at the n-th command after both have connected; says whether there was one.
async fn survives(nth: usize, cut: impl FnOnce(&Rig, Aim) -> Trap) -> bool {
    let rig = Rig::start();
    let dispatcher = rig.process(LEASE, PATIENCE, PATIENCE).await;
    let worker = rig.process(LEASE, PATIENCE, PATIENCE).await;
    let trap = cut(&rig, Aim::all().nth(nth));
    one_of_everything(&dispatcher, &worker).await;
    for event in ["lease_at_risk", "lease_gone", "lease_lost", "completion_deferred"] {
        for process in [&dispatcher, &worker] {
            assert!(!process.events.has(event), "cut at {nth}: {:?}", process.events.all());
        }
    }
    trap.struck() > 0
}

async fn cut_everywhere(cut: fn(&Rig, Aim) -> Trap) {
    let places = everywhere(move |nth| survives(nth, cut)).await;
    // Fewer would mean that something is not asked any more.
    assert!(places > 40, "{places}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_a_request() {
    cut_everywhere(|rig, aim| rig.proxy.on_request(aim, Fault::Cut(0))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_a_reply() {
    cut_everywhere(|rig, aim| rig.proxy.on_reply(aim, Fault::Cut(0))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_reply() {
    cut_everywhere(|rig, aim| rig.proxy.on_reply(aim, Fault::Cut(2))).await;
}
