//! The end of an attempt: deferred completions, releases, panics.

use std::time::Duration;

use idem_runtime::testing::Operation;
use idem_runtime::{Error, ErrorKind, Idem, OnDrop, OnDuplicate, Outcome, Source};
use idem_tests::{LEASE, World, eventually};
use tokio::time::{Instant, sleep};

async fn run(idem: &Idem, value: u64) -> Result<Outcome<u64>, Error> {
    idem.call("op").key("k").run(|_| async move { Ok::<_, Error>(value) }).await
}

/// The store does not answer at completion: the caller has its value soon, the keeper stores it
/// later, and duplicates are refused meanwhile, not run.
#[tokio::test(start_paused = true)]
async fn a_completion_is_deferred() {
    let world = World::new();
    let (a, b) = (world.process(), world.process());
    a.faults.fail_before(Operation::Complete, 20);
    let start = Instant::now();
    let outcome = run(&a.idem, 1).await.unwrap();
    assert!(!outcome.stored);
    assert!(
        start.elapsed() <= Duration::from_secs(2),
        "its caller waits for the store's time only"
    );
    assert_eq!(a.events.count("completion_deferred"), 1);
    for process in [&a, &b] {
        let call = process.idem.call("op").key("k").on_duplicate(OnDuplicate::Reject);
        let refused = call.run(|_| async { Ok::<_, Error>(2_u64) }).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InProgress);
    }
    // One that waits gets the outcome when it is stored, longer than a lease later.
    let call = b
        .idem
        .call("op")
        .key("k")
        .on_duplicate(OnDuplicate::WaitFor(Duration::from_millis(60_000)));
    let waited = call.run(|_| async { Ok::<_, Error>(2_u64) }).await.unwrap();
    assert_eq!((waited.value, waited.source), (1, Source::Waited));
    assert_eq!(a.events.count("deferred_stored"), 1);
    assert!(a.events.has("renewed"));
}

/// An answer that is an error at completion is deferred as well: the effect has happened.
#[tokio::test(start_paused = true)]
async fn a_completion_that_is_answered_with_an_error_is_deferred() {
    let process = World::new().process();
    process.faults.answer(Operation::Complete, "out of memory", 3);
    assert!(!run(&process.idem, 1).await.unwrap().stored);
    eventually("it is stored after all", || process.events.has("deferred_stored")).await;
    assert_eq!(run(&process.idem, 2).await.unwrap().value, 1);
}

/// Where completion was deferred, a loss is told by the event and not by the caller's value.
#[tokio::test(start_paused = true)]
async fn a_deferred_completion_that_is_refused_is_an_event() {
    let world = World::new();
    let (a, b) = (world.process(), world.process());
    let faults = a.faults.clone();
    let call = a.idem.call("op").key("k").run(|_| async move {
        faults.away(true);
        Ok::<_, Error>(1_u64)
    });
    assert!(!call.await.unwrap().stored);
    assert_eq!(run(&b.idem, 2).await.unwrap().source, Source::Fresh);
    a.faults.away(false);
    eventually("A is told", || a.events.has("completion_refused")).await;
    assert_eq!(run(&a.idem, 3).await.unwrap().value, 2);
}

/// A completion that finds nothing begins again with the same owner, then completes.
#[tokio::test(start_paused = true)]
async fn a_completion_that_finds_nothing_begins_again() {
    let world = World::new();
    let process = world.process();
    process.faults.fail_before(Operation::Renew, 1_000);
    let faults = process.faults.clone();
    let outcome = process.idem.call("op").key("k").run(|_| async move {
        sleep(LEASE * 2).await;
        assert_eq!(faults.sent(Operation::Begin), 1);
        Ok::<_, Error>(1_u64)
    });
    let outcome = outcome.await.unwrap();
    assert!(outcome.stored && outcome.lapsed);
    assert_eq!(process.faults.sent(Operation::Begin), 2);
    assert_eq!(process.faults.sent(Operation::Complete), 2);
}

/// Once the body has ended, the keeper does not begin again: only the completion does, so that no
/// begin is under way beside it.
#[tokio::test(start_paused = true)]
async fn the_keeper_does_not_begin_again_beside_a_completion() {
    let world = World::new();
    let process = world.process_with(|builder| builder.store_timeout(LEASE * 60));
    let mut gate = process.faults.hold_before(Operation::Complete);
    process.faults.fail_before(Operation::Renew, 8);
    let idem = process.idem.clone();
    let call = tokio::spawn(async move { run(&idem, 1).await });
    gate.arrived().await;
    eventually("the store says gone", || process.events.has("lease_gone")).await;
    sleep(LEASE).await;
    assert_eq!(process.faults.sent(Operation::Begin), 1);
    gate.open();
    let outcome = call.await.unwrap().unwrap();
    assert!(outcome.stored && outcome.lapsed);
    assert_eq!(process.faults.sent(Operation::Begin), 2);
}

/// A keeper that cannot connect keeps what it was left until there is no point in it, and ends it.
#[tokio::test(start_paused = true)]
async fn a_keeper_that_never_connects_gives_up_in_time() {
    let world = World::new();
    let process = world.process_with(|builder| builder.ttl(LEASE * 4));
    process.faults.fail_before(Operation::ForKeeper, 10_000);
    process.faults.fail_before(Operation::Complete, 10_000);
    assert!(!run(&process.idem, 1).await.unwrap().stored);
    eventually("the window closes", || process.events.has("window_closed")).await;
    eventually("the release is given up", || process.events.has("release_failed")).await;
    assert!(process.idem.shutdown(LEASE).await.is_clean(), "and nothing is left");
}

/// A keeper whose connection takes longer than a renewal may, and fails at first, connects all the
/// same, and renews what it finds.
#[tokio::test(start_paused = true)]
async fn a_keeper_that_connects_late_renews() {
    let process = World::new().process();
    process.faults.fail_before(Operation::ForKeeper, 1);
    process.faults.delay(Operation::ForKeeper, LEASE / 5, 1);
    let outcome = process.idem.call("op").key("k").run(|_| async {
        sleep(LEASE * 3).await;
        Ok::<_, Error>(1_u64)
    });
    let outcome = outcome.await.unwrap();
    assert!(outcome.stored && !outcome.lapsed, "two misses are absorbed");
    assert!(process.events.has("renewed"));
}

/// A release that is not answered is tried again until it is.
#[tokio::test(start_paused = true)]
async fn a_release_is_repeated() {
    let world = World::new();
    let process = world.process_with(|builder| builder.lease(Duration::from_secs(3_600)));
    process.faults.fail_before(Operation::Release, 100);
    let failed = process.idem.call("op").key("k").run(|_| async { Err::<u64, _>(nowhere().await) });
    assert_eq!(failed.await.unwrap_err().kind(), ErrorKind::NotInstalled);
    eventually("the key is free", || world.store.is_empty()).await;
    assert!(!process.events.has("release_failed"));
}

/// A release that is never answered is given up when the lease has ended, with an event.
#[tokio::test(start_paused = true)]
async fn a_release_is_given_up() {
    let process = World::new().process();
    process.faults.fail_before(Operation::Release, 10_000);
    let failed = process.idem.call("op").key("k").run(|_| async { Err::<u64, _>(nowhere().await) });
    assert!(failed.await.is_err());
    eventually("it is given up", || process.events.has("release_failed")).await;
    assert_eq!(run(&process.idem, 2).await.unwrap().value, 2);
}

/// A renewal that leaves late is reported: here, after the whole process stood still.
#[tokio::test(start_paused = true)]
async fn a_late_renewal_is_reported() {
    let process = World::new().process();
    let outcome = process.idem.call("op").key("k").run(|_| async {
        sleep(LEASE).await;
        tokio::time::advance(LEASE / 2).await;
        sleep(LEASE).await;
        Ok::<_, Error>(1_u64)
    });
    assert!(outcome.await.unwrap().stored);
    assert_eq!(process.events.count("renewed_late"), 1, "{:?}", process.events.all());
    assert!(!process.events.has("lease_at_risk"));
}

/// The end of an attempt waits for a begin after *gone* that is under way.
#[tokio::test(start_paused = true)]
async fn the_end_waits_for_a_begin_under_way() {
    let world = World::new();
    let process = world.process();
    let (faults, store) = (process.faults.clone(), world.store.clone());
    let (gate_out, gate_in) = tokio::sync::oneshot::channel();
    let idem = process.idem.clone();
    let ends = tokio::spawn(async move {
        idem.call("op")
            .key("k")
            .run(|_| async move {
                faults.away(true);
                sleep(LEASE * 2).await;
                assert!(store.is_empty(), "the reservation has expired");
                let mut gate = faults.hold_before(Operation::Begin);
                faults.away(false);
                gate.arrived().await;
                let _ = gate_out.send(gate);
                Err::<u64, _>(nowhere().await)
            })
            .await
    });
    let gate = gate_in.await.unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        process.faults.sent(Operation::Release),
        0,
        "a release would be overtaken by the begin"
    );
    gate.open();
    assert!(ends.await.unwrap().is_err());
    assert_eq!(process.faults.sent(Operation::Release), 1);
    assert!(world.store.is_empty());
}

/// A panic counts as a drop: it goes on, and `on_drop` says what becomes of the key.
#[tokio::test(start_paused = true)]
async fn a_panic_counts_as_a_drop() {
    for (on_drop, free_at_once) in [(OnDrop::Hold, false), (OnDrop::Release, true)] {
        let process = World::new().process();
        let idem = process.idem.clone();
        let panicked = tokio::spawn(async move {
            idem.call("op")
                .key("k")
                .on_drop(on_drop)
                .run(|_| async {
                    tokio::task::yield_now().await;
                    panic!("the action's own");
                    #[allow(unreachable_code, reason = "names the type")]
                    Ok::<u64, Error>(0)
                })
                .await
        });
        assert!(panicked.await.unwrap_err().is_panic());
        assert_eq!(process.events.count("panicked"), 1);
        assert!(!process.events.has("abandoned_by_drop"));
        let start = Instant::now();
        assert_eq!(run(&process.idem, 2).await.unwrap().value, 2);
        assert_eq!(start.elapsed() < LEASE / 2, free_at_once, "{on_drop:?}");
    }
}

/// A backend that panics under the keeper costs that one command: the lease is renewed on, the
/// outcome is stored, the key is not taken for ever.
#[tokio::test(start_paused = true)]
async fn a_backend_that_panics_does_not_end_the_keeper() {
    let world = World::new();
    let process = world.process();
    process.faults.panic(Operation::Renew, 1);
    let outcome = process.idem.call("op").key("k").run(|_| async {
        sleep(LEASE * 3).await;
        Ok::<_, Error>(1_u64)
    });
    let outcome = outcome.await.unwrap();
    assert!(outcome.stored && !outcome.lapsed);
    assert!(process.events.has("renewal_failed") && process.events.has("renewed"));

    // A completion that panics in the caller is left to the keeper, like any other drop.
    process.faults.panic(Operation::Complete, 1);
    let idem = process.idem.clone();
    let call = || {
        let idem = idem.clone();
        async move { idem.call("op").key("c").run(|_| async { Ok::<_, Error>(1_u64) }).await }
    };
    assert!(tokio::spawn(call()).await.unwrap_err().is_panic());
    eventually("the keeper stores it", || process.events.has("deferred_stored")).await;
    assert_eq!(call().await.unwrap().source, Source::Replayed);

    // One that panics in the keeper as well frees its seat here; its lease lapses.
    process.faults.panic(Operation::Complete, 2);
    let call = || {
        let idem = idem.clone();
        async move { idem.call("op").key("d").run(|_| async { Ok::<_, Error>(1_u64) }).await }
    };
    assert!(tokio::spawn(call()).await.unwrap_err().is_panic());
    assert_eq!(call().await.unwrap().source, Source::Fresh);
    assert!(process.idem.shutdown(LEASE).await.is_clean());
}

/// An observer that panics is heard of, and nothing else comes of it.
#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_harms_nobody() {
    struct Loud;
    impl idem_runtime::Observer for Loud {
        fn observe(&self, event: &idem_runtime::Event<'_>) {
            panic!("{}", event.kind.name());
        }
    }
    let process = World::new().process_with(|builder| builder.observer(Loud));
    let outcome = process.idem.call("op").key("k").run(|_| async {
        sleep(LEASE * 3).await;
        Ok::<_, Error>(1_u64)
    });
    let outcome = outcome.await.unwrap();
    assert!(outcome.stored && !outcome.lapsed, "the keeper goes on");
}

/// A panic of a detached body reaches its caller.
#[tokio::test(start_paused = true)]
async fn a_panic_of_a_detached_body_goes_on() {
    let process = World::new().process();
    let idem = process.idem.clone();
    let call = tokio::spawn(async move {
        idem.call("op")
            .key("k")
            .run_detached(|_| async {
                panic!("the action's own");
                #[allow(unreachable_code, reason = "names the type")]
                Ok::<u64, Error>(0)
            })
            .await
    });
    assert!(call.await.unwrap_err().is_panic());
    assert_eq!(process.events.count("panicked"), 1);
}

/// A value that panics while it is serialised is a panic of the action: no lease is kept alive.
#[tokio::test(start_paused = true)]
async fn a_value_that_panics_when_it_is_stored() {
    #[derive(Debug, serde::Deserialize)]
    struct Explosive;
    impl serde::Serialize for Explosive {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("not to be serialised")
        }
    }
    let world = World::new();
    let process = world.process();
    let idem = process.idem.clone();
    let call = tokio::spawn(async move {
        idem.call("op").key("k").run(|_| async { Ok::<_, Error>(Explosive) }).await.map(drop)
    });
    assert!(call.await.unwrap_err().is_panic());
    assert_eq!(process.events.count("panicked"), 1);
    sleep(LEASE * 2).await;
    assert!(world.store.is_empty());
}

/// Some error of the action's own: here, a call without an `Idem`.
async fn nowhere() -> Error {
    #[idem_runtime::idempotent(key = 1)]
    async fn call() -> Result<(), Error> {
        Ok(())
    }
    call().await.unwrap_err()
}
