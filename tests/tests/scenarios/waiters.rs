//! Duplicates that wait.

use std::time::Duration;

use idem_runtime::testing::Operation;
use idem_runtime::{Error, ErrorKind, OnDuplicate, Source};
use idem_tests::{LEASE, Process, World, eventually};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// The owner dies while B waits: B runs, within a lease of the death.
#[tokio::test(start_paused = true)]
async fn waiter_takes_over() {
    let world = World::new();
    let (a, b) = (world.process(), world.process());
    let idem = a.idem.clone();
    tokio::spawn(async move {
        let call = idem.call("op").key("k");
        call.run(|_| async {
            sleep(LEASE * 1_000).await;
            Ok::<_, Error>(1_u64)
        })
        .await
    });
    eventually("A has the key", || a.faults.sent(Operation::Begin) == 1).await;
    let idem = b.idem.clone();
    let waiting = tokio::spawn(async move {
        let call = idem
            .call("op")
            .key("k")
            .on_duplicate(OnDuplicate::WaitFor(Duration::from_millis(60_000)));
        call.run(|_| async { Ok::<_, Error>(2_u64) }).await
    });
    // A lives for a while, and is renewed; then its process is gone.
    sleep(LEASE * 5).await;
    assert!(!waiting.is_finished());
    a.faults.away(true);
    let death = Instant::now();
    let outcome = waiting.await.unwrap().unwrap();
    assert_eq!((outcome.value, outcome.source), (2, Source::Fresh));
    let took = death.elapsed();
    assert!(took <= LEASE + LEASE / 20, "B ran {took:?} after the death");
}

/// A thousand callers in four processes: one run, and reads in proportion to the processes.
#[tokio::test(start_paused = true)]
async fn herd() {
    let world = World::new();
    let processes: Vec<Process> = (0..4).map(|_| world.process()).collect();
    let mut calls = JoinSet::new();
    for n in 0..1_000 {
        let (idem, runs) = (processes[n % 4].idem.clone(), world.runs.clone());
        calls.spawn(async move {
            let call = idem.call("op").key("k");
            call.run(|_| async move {
                let _run = runs.start("action");
                sleep(LEASE).await;
                Ok::<_, Error>(7_u64)
            })
            .await
        });
    }
    let start = Instant::now();
    let outcomes = calls.join_all().await;
    assert_eq!(start.elapsed(), LEASE, "everybody hears of the outcome when it is there");
    assert!(
        outcomes.iter().all(|outcome| outcome.as_ref().is_ok_and(|outcome| outcome.value == 7))
    );
    assert_eq!(world.runs.total("action"), 1);
    let fresh = outcomes.iter().filter(|outcome| outcome.as_ref().unwrap().source == Source::Fresh);
    assert_eq!(fresh.count(), 1);
    for process in &processes {
        assert_eq!(process.faults.sent(Operation::Begin), 1, "one begin a process");
        assert!(process.faults.sent(Operation::Changed) <= 1, "one subscription a process");
        // One read after the subscription, one at the change, and the polls beside it: at most
        // 25 ms, 50 ms, … within the second that the action takes.
        let reads = process.faults.sent(Operation::Peek);
        assert!(reads <= 10, "{reads} reads");
    }
}

#[derive(Debug)]
struct Failure;

impl From<Error> for Failure {
    fn from(_: Error) -> Self {
        Self
    }
}

/// When the owner's error frees the key, one waiter takes over and the others go on waiting, within
/// bounds of their own.
#[tokio::test(start_paused = true)]
async fn herd_whose_owner_fails() {
    let world = World::new();
    let process = world.process();
    let mut calls = JoinSet::new();
    for _ in 0..100 {
        let (idem, runs) = (process.idem.clone(), world.runs.clone());
        calls.spawn(async move {
            let call = idem.call("op").key("k");
            call.run(|_| async move {
                let _run = runs.start("action");
                sleep(LEASE / 10).await;
                if runs.total("action") < 4 {
                    return Err(Failure);
                }
                Ok::<_, Failure>(7_u64)
            })
            .await
        });
    }
    let outcomes = calls.join_all().await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_err()).count(), 3);
    assert_eq!(world.runs.total("action"), 4);
    assert_eq!(world.runs.most_at_once("action"), 1);
}

/// A wait is bounded, and says when to come back.
#[tokio::test(start_paused = true)]
async fn a_wait_ends() {
    let world = World::new();
    let (a, b) = (world.process(), world.process());
    let idem = a.idem.clone();
    let long = tokio::spawn(async move {
        let call = idem.call("op").key("k");
        call.run(|_| async {
            sleep(LEASE * 20).await;
            Ok::<_, Error>(1_u64)
        })
        .await
    });
    eventually("A has the key", || a.faults.sent(Operation::Begin) == 1).await;
    for process in [&a, &b] {
        for (wait, bound) in [
            (OnDuplicate::Wait, LEASE * 2),
            (OnDuplicate::WaitFor(Duration::from_millis(3_500)), Duration::from_millis(3_500)),
            (OnDuplicate::Reject, Duration::ZERO),
        ] {
            let start = Instant::now();
            let call = process.idem.call("op").key("k").on_duplicate(wait);
            let refused = call.run(|_| async { Ok::<_, Error>(2_u64) }).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InProgress);
            let took = start.elapsed();
            assert!(took >= bound && took <= bound + LEASE / 100, "{wait:?} took {took:?}");
            let after = refused.retry_after().unwrap();
            assert!(after > Duration::ZERO && after <= LEASE, "{after:?}");
        }
        assert_eq!(process.events.count("wait_ended"), 2);
        assert_eq!(process.events.count("rejected"), 1);
    }
    assert_eq!(long.await.unwrap().unwrap().value, 1);
}

/// Duplicates beside a begin that is under way are told of a mismatch as soon as it is known what
/// stands, and not when their wait ends; those that agree wait on.
#[tokio::test(start_paused = true)]
async fn a_mismatch_is_told_as_soon_as_it_is_known() {
    let process = World::new().process();
    let mut gate = process.faults.hold_before(Operation::Begin);
    let call = |cents: u64| {
        let idem = process.idem.clone();
        async move {
            let call = idem.call("op").key("k").fingerprint(&cents);
            call.run(|_| async {
                sleep(LEASE).await;
                Ok::<_, Error>(1_u64)
            })
            .await
        }
    };
    let first = tokio::spawn(call(1));
    gate.arrived().await;
    let (same, other) = (tokio::spawn(call(1)), tokio::spawn(call(2)));
    sleep(LEASE / 2).await;
    assert!(!other.is_finished(), "what stands is not known yet");
    gate.open();
    let start = Instant::now();
    assert_eq!(other.await.unwrap().unwrap_err().kind(), ErrorKind::FingerprintMismatch);
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(first.await.unwrap().unwrap().source, Source::Fresh);
    assert_eq!(same.await.unwrap().unwrap().source, Source::Waited);
    assert_eq!(process.faults.sent(Operation::Begin), 1);
}

/// When another process's reservation is gone, a duplicate that does not wait is not refused because
/// of it: it hears what the begin that follows finds.
#[tokio::test(start_paused = true)]
async fn a_reservation_that_is_gone_refuses_nobody() {
    let world = World::new();
    let (a, b) = (world.process(), world.process());
    let idem = a.idem.clone();
    let fails = tokio::spawn(async move {
        let call = idem.call("op").key("k");
        call.run(|_| async {
            sleep(LEASE).await;
            Err::<u64, _>(Failure)
        })
        .await
        .is_err()
    });
    eventually("A has the key", || a.faults.sent(Operation::Begin) == 1).await;
    let call = |on_duplicate| {
        let idem = b.idem.clone();
        async move {
            let call = idem.call("op").key("k").on_duplicate(on_duplicate);
            call.run(|_| async { Ok::<_, Error>(2_u64) }).await
        }
    };
    let waits = tokio::spawn(call(OnDuplicate::Wait));
    eventually("B waits", || b.faults.sent(Operation::Peek) > 0).await;
    let mut gate = b.faults.hold_before(Operation::Begin);
    assert!(fails.await.unwrap());
    gate.arrived().await;
    let does_not_wait = tokio::spawn(call(OnDuplicate::Reject));
    tokio::task::yield_now().await;
    assert!(!does_not_wait.is_finished());
    gate.open();
    assert_eq!(waits.await.unwrap().unwrap().source, Source::Fresh);
    assert_eq!(does_not_wait.await.unwrap().unwrap().value, 2);
}
