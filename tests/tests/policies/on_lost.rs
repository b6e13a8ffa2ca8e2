//! `on_lost`: what becomes of an action whose lease is at risk or lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use idem_runtime::{Error, ErrorKind, OnDrop, OnLost, Outcome};
use idem_tests::{LEASE, Process, World, eventually};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::gone::forget;

/// Starts a call that runs for six leases and is cut off from the store from one half on; `B`
/// takes the key as soon as it can. Gives the call and whether its body got to its end.
async fn loses_its_key(
    world: &World,
    on_lost: OnLost,
) -> (Process, JoinHandle<Result<Outcome<u64>, Error>>, Arc<AtomicBool>) {
    let (a, b) = (world.process(), world.process());
    let ended = Arc::new(AtomicBool::new(false));
    let (idem, at_end) = (a.idem.clone(), Arc::clone(&ended));
    let call = tokio::spawn(async move {
        let call = idem.call("op").key("k").on_lost(on_lost);
        call.run(|_| async move {
            sleep(LEASE * 6).await;
            at_end.store(true, Ordering::SeqCst);
            Ok::<_, Error>(1)
        })
        .await
    });
    sleep(LEASE / 2).await;
    a.faults.away(true);
    let second = b.idem.call("op").key("k").run(|_| async { Ok::<_, Error>(2_u64) }).await;
    assert_eq!(second.unwrap().value, 2);
    a.faults.away(false);
    (a, call, ended)
}

#[tokio::test(start_paused = true)]
async fn finish_runs_to_the_end_and_tells_the_caller() {
    let world = World::new();
    let (a, call, ended) = loses_its_key(&world, OnLost::Finish).await;
    assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::LeaseLost);
    assert!(ended.load(Ordering::SeqCst));
    assert_eq!(a.events.count("lease_lost"), 1);
    assert_eq!(a.events.count("completion_refused"), 1);
    assert!(!a.events.has("executed"));
}

#[tokio::test(start_paused = true)]
async fn ignore_returns_the_actions_own_value() {
    let world = World::new();
    let (a, call, ended) = loses_its_key(&world, OnLost::Ignore).await;
    let outcome = call.await.unwrap().unwrap();
    assert_eq!(outcome.value, 1);
    assert!(!outcome.stored && outcome.lapsed);
    assert!(ended.load(Ordering::SeqCst));
    assert!(a.events.has("completion_refused"));
    // What is stored is B's.
    let third = a.idem.call("op").key("k").run(|_| async { Ok::<_, Error>(3_u64) }).await;
    assert_eq!(third.unwrap().value, 2);
}

#[tokio::test(start_paused = true)]
async fn cancel_drops_the_action_when_its_lease_is_at_risk() {
    let world = World::new();
    let (a, call, ended) = loses_its_key(&world, OnLost::Cancel).await;
    assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::LeaseLost);
    assert!(!ended.load(Ordering::SeqCst), "the body was dropped at its next await");
    assert!(a.events.has("lease_at_risk"));
}

/// Lost is enough, too: the store forgot the key and another has it, well before any lease deadline.
#[tokio::test(start_paused = true)]
async fn cancel_drops_the_action_when_its_key_is_another_s() {
    let world = World::new();
    let (a, b) = (world.process(), world.process());
    let idem = a.idem.clone();
    let call = tokio::spawn(async move {
        let call = idem.call("op").key("k").on_lost(OnLost::Cancel);
        call.run(|_| std::future::pending::<Result<u64, Error>>()).await
    });
    eventually("A is renewed", || a.events.has("renewed")).await;
    forget(&world).await;
    let idem = b.idem.clone();
    let other = tokio::spawn(async move {
        idem.call("op").key("k").run(|_| std::future::pending::<Result<u64, Error>>()).await
    });
    let start = tokio::time::Instant::now();
    assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::LeaseLost);
    assert!(start.elapsed() <= LEASE / 4);
    assert!(!a.events.has("lease_at_risk"));
    other.abort();
}

/// Each time that a lease is at risk is told, and once.
#[tokio::test(start_paused = true)]
async fn each_risk_is_told() {
    let process = World::new().process();
    let faults = process.faults.clone();
    let outcome = process.idem.call("op").key("k").run(|_| async move {
        for _ in 0..3 {
            faults.away(true);
            sleep(LEASE * 3).await;
            faults.away(false);
            sleep(LEASE).await;
        }
        Ok::<_, Error>(1_u64)
    });
    assert!(outcome.await.unwrap().stored);
    assert_eq!(process.events.count("lease_at_risk"), 3);
    assert_eq!(process.events.count("lease_gone"), 3);
}

/// A lost lease has no time left, whatever its deadline is; its token says so, too.
#[tokio::test(start_paused = true)]
async fn a_lost_lease_has_no_time_left() {
    let world = World::new();
    let (a, b) = (world.process(), world.process());
    let (events, store) = (a.events.clone(), world.clone());
    let call = a.idem.call("op").key("k").run(|lease| async move {
        eventually("A is renewed", || events.has("renewed")).await;
        forget(&store).await;
        let idem = b.idem.clone();
        let other = tokio::spawn(async move {
            idem.call("op").key("k").run(|_| std::future::pending::<Result<u64, Error>>()).await
        });
        eventually("A is told", || events.has("lease_lost")).await;
        assert!(!events.has("lease_at_risk"));
        assert_eq!(lease.time_left(), Duration::ZERO);
        assert!(lease.token().is_cancelled());
        other.abort();
        Ok::<_, Error>(1_u64)
    });
    assert_eq!(call.await.unwrap_err().kind(), ErrorKind::LeaseLost);
}

/// At risk is enough: nobody else has called, and the action is dropped all the same.
#[tokio::test(start_paused = true)]
async fn cancel_settles_the_key_by_on_drop() {
    for (on_drop, released) in [(OnDrop::Hold, 0), (OnDrop::Release, 1)] {
        let process = World::new().process();
        let faults = process.faults.clone();
        let start = tokio::time::Instant::now();
        let call = process.idem.call("op").key("k").on_lost(OnLost::Cancel).on_drop(on_drop);
        let stopped = call.run(|_| async move {
            faults.away(true);
            std::future::pending::<()>().await;
            Ok::<_, Error>(1_u64)
        });
        let stopped = timeout(LEASE * 2, stopped).await.expect("it is woken");
        assert_eq!(stopped.unwrap_err().kind(), ErrorKind::LeaseLost);
        assert!(start.elapsed() >= LEASE - LEASE / 10 && start.elapsed() < LEASE);
        process.faults.away(false);
        let release = idem_runtime::testing::Operation::Release;
        sleep(LEASE * 3).await;
        assert_eq!(process.faults.sent(release).min(1), released, "{on_drop:?}");
        let next = process.idem.call("op").key("k").run(|_| async { Ok::<_, Error>(2_u64) });
        assert_eq!(next.await.unwrap().value, 2);
    }
}

/// A lost key is another's at once, also for duplicates in this process: they do not wait for the
/// body that lost it.
#[tokio::test(start_paused = true)]
async fn duplicates_here_do_not_wait_for_a_body_that_lost_its_key() {
    let world = World::new();
    let (a, call, ended) = loses_its_key(&world, OnLost::Finish).await;
    eventually("A hears of its loss", || a.events.has("lease_lost")).await;
    let duplicate =
        a.idem.call("op").key("k").run(|_| async { Ok::<_, Error>(3_u64) }).await.unwrap();
    assert_eq!(duplicate.value, 2);
    assert!(!ended.load(Ordering::SeqCst), "A's body still runs");
    assert!(call.await.unwrap().is_err());
}

/// The deadline of an action whose key is another's still holds.
#[tokio::test(start_paused = true)]
async fn a_deadline_holds_after_the_loss() {
    let world = World::new();
    let (a, b) = (world.process(), world.process());
    let idem = a.idem.clone();
    let start = tokio::time::Instant::now();
    let call = tokio::spawn(async move {
        let call = idem.call("op").key("k").deadline(LEASE * 10);
        call.run(|_| async {
            std::future::pending::<()>().await;
            Ok::<_, Error>(1_u64)
        })
        .await
    });
    sleep(LEASE / 2).await;
    a.faults.away(true);
    let second = b.idem.call("op").key("k").run(|_| async { Ok::<_, Error>(2_u64) }).await;
    assert_eq!(second.unwrap().value, 2);
    a.faults.away(false);
    let stopped = timeout(LEASE * 20, call).await.expect("its deadline is watched");
    assert_eq!(stopped.unwrap().unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    assert_eq!(start.elapsed(), LEASE * 10);
}
