//! The keeper: leases that were not renewed, threads that ended, jobs that never did.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use idem_runtime::testing::Operation;
use idem_runtime::{Error, Idem, Observer, OnDrop, Outcome};
use idem_tests::{LEASE, World, eventually};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

#[derive(Debug)]
struct Failure;

impl From<Error> for Failure {
    fn from(_: Error) -> Self {
        Self
    }
}

/// A call that fails just after its first renewal has left.
fn fails_soon(idem: &Idem) -> JoinHandle<bool> {
    let idem = idem.clone();
    tokio::spawn(async move {
        let call = idem.call("op").key("k").run(|_| async {
            sleep(LEASE / 4 + LEASE / 50).await;
            Err::<u64, _>(Failure)
        });
        call.await.is_err()
    })
}

async fn takes(idem: Idem, time: Duration) -> Result<Outcome<u64>, Error> {
    let call = idem.call("op").key("k").run(|_| async move {
        sleep(time).await;
        Ok::<_, Error>(2)
    });
    call.await
}

/// The late answer to a renewal of an owner that has ended does not switch off the renewals of the
/// next owner of the key in this process.
#[tokio::test(start_paused = true)]
async fn a_late_answer_silenced_the_next_owner() {
    let process = World::new().process();
    let mut gate = process.faults.hold_before(Operation::Renew);
    let first = fails_soon(&process.idem);
    gate.arrived().await;
    let second = tokio::spawn(takes(process.idem.clone(), LEASE * 5));
    assert!(first.await.unwrap());
    eventually("the second has the key", || process.faults.sent(Operation::Begin) == 2).await;
    gate.open();
    let second = second.await.unwrap().unwrap();
    assert!(second.stored && !second.lapsed, "{:?}", process.events.all());
    assert!(process.faults.sent(Operation::Renew) > 10);
}

/// Nor does one that is never answered.
#[tokio::test(start_paused = true)]
async fn an_unanswered_renewal_silenced_the_next_owner() {
    let process = World::new().process();
    process.faults.delay(Operation::Renew, LEASE * 2, 1);
    let first = fails_soon(&process.idem);
    sleep(LEASE / 8).await;
    let second = tokio::spawn(takes(process.idem.clone(), LEASE * 3));
    assert!(first.await.unwrap());
    assert!(!second.await.unwrap().unwrap().lapsed);
}

/// A dead attempt does not reserve its key again: the keeper stops with the action.
#[tokio::test(start_paused = true)]
async fn a_dead_attempt_reserved_its_key_again() {
    let world = World::new();
    let process = world.process();
    let (faults, store) = (process.faults.clone(), world.store.clone());
    let idem = process.idem.clone();
    let call = tokio::spawn(async move {
        idem.call("op")
            .key("k")
            .run(|_| async move {
                faults.away(true);
                sleep(LEASE * 2).await;
                assert!(store.is_empty());
                faults.fail_before(Operation::Begin, 100);
                faults.away(false);
                std::future::pending::<Result<u64, Error>>().await
            })
            .await
    });
    eventually("it is gone", || process.events.has("lease_gone")).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    for _ in 0..200 {
        sleep(LEASE / 10).await;
        assert!(world.store.is_empty(), "a dead attempt reserved its key again");
    }
}

/// After an outage in which a thousand calls failed, their releases cost the store no more than a
/// few callers would.
#[tokio::test(start_paused = true)]
async fn an_outage_left_a_storm_of_releases() {
    let process = World::new().process_with(|builder| builder.lease(Duration::from_secs(30)));
    process.faults.away(true);
    let mut calls = JoinSet::new();
    for key in 0..1_000_u32 {
        let idem = process.idem.clone();
        calls.spawn(async move {
            let call = idem.call("op").key(&key).run(|_| async { Ok::<_, Error>(1_u64) });
            call.await.is_err()
        });
    }
    calls.join_all().await;
    sleep(Duration::from_secs(10)).await;
    let sent = process.faults.sent(Operation::Release);
    assert!(sent < 2_000, "{sent} releases in ten seconds of an outage");
    process.faults.away(false);
    let report = process.idem.shutdown(Duration::from_secs(60)).await;
    assert!(report.is_clean(), "{report:?}");
}

/// A task as an executor that has ended leaves it: waking it drops it.
struct Task(Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        drop(self);
    }
}

/// A waker may drop its task: it is woken with no lock held.
#[tokio::test]
async fn a_waker_that_drops_its_task_hung_the_keeper() {
    let lease = Duration::from_millis(200);
    let process = World::new().real_process(|builder| builder.lease(lease));
    let idem = process.idem.clone();
    let task = Arc::new(Task(Mutex::new(Some(Box::pin(async move {
        let call = idem.call("op").key("k").deadline(lease);
        drop(call.run(|_| std::future::pending::<Result<u64, Error>>()).await);
    })))));
    let waker = Waker::from(Arc::clone(&task));
    let mut context = Context::from_waker(&waker);
    assert!(task.0.lock().unwrap().as_mut().unwrap().as_mut().poll(&mut context).is_pending());
    // What the attempt holds is all that is left of the task.
    drop((waker, task));
    eventually("its deadline passes", || process.events.has("deadline_exceeded")).await;
    let call = process.idem.call("op").key("other").run(|_| async {
        sleep(lease * 3).await;
        Ok::<_, Error>(1_u64)
    });
    assert!(!call.await.unwrap().lapsed, "the keeper hangs");
}

/// Says when the `Idem` that has it is gone.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Observer for Gone {
    fn observe(&self, _: &idem_runtime::Event<'_>) {}
}

/// What is left to the keeper after a shutdown does not keep the `Idem` for ever.
#[tokio::test(start_paused = true)]
async fn an_idem_leaked_after_its_shutdown() {
    let gone = Arc::new(AtomicBool::new(false));
    let process = World::new().process_with(|builder| builder.observer(Gone(Arc::clone(&gone))));
    let idem = process.idem.clone();
    let call = tokio::spawn(async move {
        let call = idem.call("op").key("k").on_drop(OnDrop::Release);
        call.run(|_| std::future::pending::<Result<u64, Error>>()).await
    });
    eventually("it runs", || process.events.has("renewed")).await;
    let report = process.idem.shutdown(Duration::from_millis(1)).await;
    assert_eq!(report.running, 1);
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    drop(process);
    eventually("the Idem is freed", || gone.load(Ordering::SeqCst)).await;
}

/// A grace period longer than the clock goes is for ever, not a panic.
#[tokio::test(start_paused = true)]
async fn a_shutdown_for_ever_panicked() {
    assert!(World::new().process().idem.shutdown(Duration::MAX).await.is_clean());
}

/// A keeper that is a task ends with the runtime of the first test that used it; the next one gets
/// a keeper of its own.
#[test]
fn a_keeper_task_ended_with_its_runtime() {
    let process = World::new().process();
    for _ in 0..3 {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        let call = process.idem.call("op").key("k").run(|_| async {
            sleep(LEASE * 3).await;
            Err::<u64, _>(Failure)
        });
        assert!(runtime.block_on(call).is_err());
        assert!(!process.events.has("lease_at_risk"), "{:?}", process.events.all());
    }
    assert!(process.events.count("renewed") > 30, "{:?}", process.events.all());
}

/// The same when it ended with something still to come: what the next call has to be looked at for
/// comes later, and is news all the same.
#[test]
fn a_keeper_task_ended_before_its_next_tick() {
    let process = World::new().process();
    let in_a_runtime = |key: &str, time: Duration| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        let call = process.idem.call("op").key(key).run(|_| async {
            sleep(LEASE * 3).await;
            Ok::<_, Failure>(1_u64)
        });
        runtime.block_on(async { tokio::time::timeout(time, call).await })
    };
    assert!(in_a_runtime("first", Duration::from_millis(1)).is_err());
    assert!(!in_a_runtime("second", LEASE * 4).unwrap().unwrap().lapsed);
}
