//! The edges: shutdowns, connections, turns, lost owners, full stores.

use std::time::Duration;

use idem_runtime::backend::Backend;
use idem_runtime::record::{Owner, Record};
use idem_runtime::testing::Operation;
use idem_runtime::{
    Decided, Decision, Error, ErrorKind, Fingerprint, Idem, Key, MemoryBackend, OnCrash, OnDrop,
    OnDuplicate, OnLost, RecordKey, Source,
};
use idem_tests::{LEASE, TTL, World, eventually};
use tokio::time::{Instant, sleep, timeout};

#[derive(Debug)]
struct Failure;

impl From<Error> for Failure {
    fn from(_: Error) -> Self {
        Self
    }
}

/// Past the grace of a shutdown nobody renews: the leases that are left are told that they are at
/// risk, before another call can have their keys.
#[tokio::test(start_paused = true)]
async fn a_shutdown_told_its_leases_nothing() {
    let world = World::new();
    let (ends, other) = (world.process(), world.process());
    let (closing, next) = (ends.idem.clone(), other.idem.clone());
    let call = ends.idem.call("op").key("k").run(|lease| async move {
        let token = lease.token();
        assert_eq!(closing.shutdown(Duration::ZERO).await.running, 1);
        assert!(token.is_cancelled());
        let second = next.call("op").key("k").run(|_| async { Ok::<_, Error>(2_u64) }).await?;
        assert_eq!(second.source, Source::Fresh);
        Ok::<_, Error>(1_u64)
    });
    assert_eq!(call.await.unwrap_err().kind(), ErrorKind::LeaseLost);
}

/// The same under `on_lost = cancel`: the action is dropped at its next await.
#[tokio::test(start_paused = true)]
async fn a_shutdown_let_an_action_run_on() {
    let process = World::new().process();
    let idem = process.idem.clone();
    let call = tokio::spawn(async move {
        let call = idem.call("op").key("k").on_lost(OnLost::Cancel);
        call.run(|_| std::future::pending::<Result<u64, Error>>()).await
    });
    eventually("it runs", || process.events.has("renewed")).await;
    process.idem.shutdown(Duration::ZERO).await;
    let stopped = timeout(LEASE, call).await.expect("it is woken").unwrap();
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::LeaseLost);
}

/// One that is about to start, whose key is being armed, is told at its start; one that was told
/// before is not told again.
#[tokio::test(start_paused = true)]
async fn a_shutdown_was_told_too_early_or_twice() {
    let process = World::new().process();
    let mut gate = process.faults.hold_after(Operation::Renew);
    let idem = process.idem.clone();
    let call = tokio::spawn(async move {
        let call = idem.call("op").key("k").on_crash(OnCrash::Refuse).on_lost(OnLost::Cancel);
        call.run(|_| std::future::pending::<Result<u64, Error>>()).await
    });
    gate.arrived().await;
    process.idem.shutdown(Duration::ZERO).await;
    assert!(!process.events.has("lease_at_risk"), "nothing has started");
    gate.open();
    let stopped = timeout(LEASE, call).await.expect("it is stopped").unwrap();
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::LeaseLost);
    assert_eq!(process.events.count("lease_at_risk"), 1);

    let process = World::new().process();
    let (idem, faults, events) =
        (process.idem.clone(), process.faults.clone(), process.events.clone());
    let call = process.idem.call("op").key("k").run(|_| async move {
        faults.away(true);
        eventually("it is at risk", || events.has("lease_at_risk")).await;
        idem.shutdown(Duration::ZERO).await;
        Ok::<_, Error>(1_u64)
    });
    assert!(!call.await.unwrap().stored);
    assert_eq!(process.events.count("lease_at_risk"), 1);
}

/// A shutdown after one that left something is clean once that has ended.
#[tokio::test(start_paused = true)]
async fn a_second_shutdown_was_never_clean() {
    let process = World::new().process();
    let idem = process.idem.clone();
    let call = tokio::spawn(async move {
        let call = idem.call("op").key("k").on_drop(OnDrop::Release);
        call.run(|_| std::future::pending::<Result<u64, Error>>()).await
    });
    eventually("it runs", || process.events.has("renewed")).await;
    process.idem.shutdown(Duration::ZERO).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert!(process.idem.shutdown(Duration::MAX).await.is_clean());
}

/// A panic while the keeper connects costs one try.
#[tokio::test(start_paused = true)]
async fn a_panic_while_connecting_left_a_keeper_without_a_store() {
    let process = World::new().process();
    process.faults.panic(Operation::ForKeeper, 1);
    let call = process.idem.call("op").key("k").run(|_| async {
        sleep(LEASE * 3).await;
        Ok::<_, Error>(1_u64)
    });
    assert!(!call.await.unwrap().lapsed);
}

/// A panic of the begin after *gone* costs one command: the key is taken again.
#[tokio::test(start_paused = true)]
async fn a_panic_of_the_begin_after_gone_ended_all_renewals() {
    let world = World::new();
    let process = world.process();
    let (faults, store) = (process.faults.clone(), world.store.clone());
    let call = process.idem.call("op").key("k").run(|_| async move {
        faults.away(true);
        sleep(LEASE * 2).await;
        assert!(store.is_empty());
        faults.panic(Operation::Begin, 1);
        faults.away(false);
        sleep(LEASE * 2).await;
        assert!(!store.is_empty(), "nobody holds the key");
        Ok::<_, Error>(1_u64)
    });
    assert!(call.await.unwrap().stored);
}

/// A waiter that nobody polls keeps the turn it is given for a moment, and not for the others' wait.
#[tokio::test(start_paused = true)]
async fn a_waiter_that_is_not_polled_kept_the_others_waiting() {
    let process = World::new().process();
    let idem = process.idem.clone();
    let first = tokio::spawn(async move {
        let call = idem.call("op").key("k").run(|_| async {
            sleep(LEASE).await;
            Err::<u64, _>(Failure)
        });
        call.await.is_err()
    });
    eventually("the first has the key", || process.faults.sent(Operation::Begin) == 1).await;
    let call = |value: u64| {
        let idem = process.idem.clone();
        async move {
            let wait = OnDuplicate::WaitFor(Duration::from_secs(3_600));
            let call = idem.call("op").key("k").on_duplicate(wait);
            call.run(|_| async move { Ok::<_, Error>(value) }).await
        }
    };
    let mut forgotten = Box::pin(call(2));
    assert!(timeout(Duration::from_millis(1), &mut forgotten).await.is_err());
    let start = Instant::now();
    let third = tokio::spawn(call(3));
    assert!(first.await.unwrap());
    assert_eq!(third.await.unwrap().unwrap().value, 3);
    assert!(start.elapsed() < LEASE * 3);
}

/// An owner that has heard of another's record stores nothing, even if that record is gone by then.
#[tokio::test(start_paused = true)]
async fn a_lost_owner_stored_its_outcome() {
    let world = World::new();
    let (a, b) = (world.process(), world.process());
    let (faults, events, idem) = (a.faults.clone(), a.events.clone(), b.idem.clone());
    let call = a.idem.call("op").key("k").run(|_| async move {
        faults.away(true);
        sleep(LEASE * 2).await;
        let fails = tokio::spawn(async move {
            let call = idem.call("op").key("k").run(|_| async {
                sleep(LEASE).await;
                Err::<u64, _>(Failure)
            });
            call.await.is_err()
        });
        sleep(LEASE / 10).await;
        faults.away(false);
        eventually("A is told", || events.has("lease_lost")).await;
        assert!(fails.await.unwrap());
        Ok::<_, Error>(1_u64)
    });
    assert_eq!(call.await.unwrap_err().kind(), ErrorKind::LeaseLost);
    assert!(world.store.is_empty());
}

/// Records that came to end earlier than they were to make room when they have expired.
#[tokio::test(start_paused = true)]
async fn a_memory_backend_was_full_of_expired_records() {
    let store = MemoryBackend::bounded(2);
    let idem = Idem::builder().backend(store.clone()).lease(LEASE).ttl(LEASE).keeper_as_task();
    let idem = idem.build().unwrap();
    for key in ["a", "b"] {
        let dead = Record::reservation(Owner::fresh(), Fingerprint::NONE, 0).remembered_for(TTL);
        let key = RecordKey::new("".into(), "op".into(), Key::of(key).unwrap());
        store.begin(&key, &dead, LEASE).await.unwrap();
    }
    sleep(LEASE * 2).await;
    let call = || idem.call("op").key("c").run(|_| async { Ok::<_, Error>(1_u64) });
    assert_eq!(call().await.unwrap_err().kind(), ErrorKind::Backend);
    for key in ["a", "b"] {
        let decided = idem.decide("op", key, Decision::take(&1_u64)).await;
        assert_eq!(decided.unwrap(), Decided::Done);
    }
    sleep(LEASE * 2).await;
    assert!(store.is_empty());
    call().await.unwrap();
}

/// A call goes on asking for all of the store's time, and not until the pause before the end.
#[tokio::test(start_paused = true)]
async fn a_call_gave_up_before_the_stores_time() {
    let lease = Duration::from_secs(30);
    for _ in 0..50 {
        let process = World::new().process_with(|builder| builder.lease(lease));
        process.faults.away(true);
        let faults = process.faults.clone();
        tokio::spawn(async move {
            sleep(Duration::from_millis(1_600)).await;
            faults.away(false);
        });
        let call = process.idem.call("op").key("k").run(|_| async { Ok::<_, Error>(1_u64) });
        assert!(call.await.is_ok(), "the store was back within its two seconds");
    }
}

/// A release that is answered with an error does not keep duplicates here waiting for the retention.
#[tokio::test(start_paused = true)]
async fn a_release_that_was_refused_kept_its_seat() {
    let process = World::new().process();
    process.faults.answer(Operation::Release, "no permission", 1_000_000);
    let call = || process.idem.call("op").key("k").on_crash(OnCrash::Refuse);
    assert!(call().run(|_| async { Err::<u64, _>(Failure) }).await.is_err());
    sleep(LEASE * 5).await;
    let unknown = call().run(|_| async { Ok::<_, Error>(1_u64) }).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::OutcomeUnknown, "as in every other process");
    let sent = process.faults.sent(Operation::Release);
    assert!((3..20).contains(&sent), "{sent} releases in a lease: the pauses grow");
    assert!(process.events.has("release_failed"));
    assert!(process.idem.shutdown(LEASE).await.is_clean());
}
