//! `on_crash`: an owner vanished without an outcome.

use idem_runtime::testing::Operation;
use idem_runtime::{DirectCall, Error, ErrorKind, Idem, OnCrash, OnDrop, Outcome, Source};
use idem_tests::{LEASE, Process, World, eventually};
use tokio::time::{Instant, sleep};

pub(super) fn call(idem: &Idem, on_crash: OnCrash) -> DirectCall {
    idem.call("op").key("k").on_crash(on_crash).retention(LEASE * 10)
}

pub(super) async fn run(call: DirectCall, value: u64) -> Result<Outcome<u64>, Error> {
    call.run(|_| async move { Ok::<_, Error>(value) }).await
}

/// An owner under `on_crash` starts its body and is never heard of again. Gives when its lease was
/// last renewed, at the latest.
pub(super) async fn crash(world: &World, on_crash: OnCrash) -> Process {
    let process = world.process();
    let idem = process.idem.clone();
    let dead = tokio::spawn(async move {
        let call = call(&idem, on_crash);
        let forever = std::future::pending::<Result<u64, Error>>;
        match on_crash {
            OnCrash::Reconcile => {
                let never = std::future::pending::<Result<Option<u64>, Error>>();
                call.run_reconciling(never, |_| forever()).await
            }
            _ => call.run(|_| forever()).await,
        }
    });
    eventually("the owner is renewed", || process.events.has("renewed")).await;
    process.faults.away(true);
    dead.abort();
    process
}

#[tokio::test(start_paused = true)]
async fn rerun_runs_after_the_lease() {
    let world = World::new();
    crash(&world, OnCrash::Rerun).await;
    let start = Instant::now();
    let outcome = run(call(&world.process().idem, OnCrash::Rerun), 2).await.unwrap();
    assert_eq!((outcome.value, outcome.source), (2, Source::Fresh));
    assert!(start.elapsed() <= LEASE + LEASE / 20);
}

#[tokio::test(start_paused = true)]
async fn refuse_refuses_until_the_retention_ends() {
    let world = World::new();
    crash(&world, OnCrash::Refuse).await;
    let process = world.process();
    let start = Instant::now();
    loop {
        match run(call(&process.idem, OnCrash::Refuse), 2).await {
            Err(unknown) => {
                assert_eq!(unknown.kind(), ErrorKind::OutcomeUnknown);
                assert!(!unknown.is_retryable(), "somebody has to look");
                sleep(LEASE).await;
            }
            Ok(outcome) => {
                assert_eq!(outcome.value, 2);
                break;
            }
        }
    }
    let took = start.elapsed();
    assert!(took >= LEASE * 10 && took <= LEASE * 13, "remembered for {took:?}");
    assert!(process.events.count("outcome_unknown") >= 8);
}

/// A call that does not wait is told as well: a lapsed reservation is not in progress.
#[tokio::test(start_paused = true)]
async fn refuse_tells_a_call_that_does_not_wait() {
    let world = World::new();
    crash(&world, OnCrash::Refuse).await;
    sleep(LEASE * 2).await;
    let reject = |on_crash| {
        let idem = world.process().idem;
        call(&idem, on_crash).on_duplicate(idem_runtime::OnDuplicate::Reject)
    };
    let unknown = run(reject(OnCrash::Refuse), 2).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::OutcomeUnknown);
    let rerun = run(reject(OnCrash::Rerun), 2).await.unwrap();
    assert_eq!((rerun.value, rerun.attempt), (2, 2));
}

/// Under `refuse`, a key whose body never ran is not remembered as a crash: a reservation begins
/// without a retention and is armed right before the first poll.
#[tokio::test(start_paused = true)]
async fn a_crash_is_remembered_only_once_the_body_may_have_run() {
    let world = World::new();
    let process = world.process();
    let mut gate = process.faults.hold_before(Operation::Renew);
    let idem = process.idem.clone();
    let dead = tokio::spawn(async move { run(call(&idem, OnCrash::Refuse), 1).await });
    gate.arrived().await;
    process.faults.away(true);
    dead.abort();
    drop(gate);
    let outcome = run(call(&world.process().idem, OnCrash::Refuse), 2).await.unwrap();
    assert_eq!((outcome.value, outcome.attempt), (2, 1));
}

/// The arming's reply is lost: it is sent again, and the body runs once.
#[tokio::test(start_paused = true)]
async fn an_arming_whose_reply_was_lost_is_repeated() {
    let process = World::new().process();
    process.faults.fail_after(Operation::Renew, 1);
    let outcome = run(call(&process.idem, OnCrash::Refuse), 1).await.unwrap();
    assert!(outcome.stored && !outcome.lapsed);
    assert_eq!(process.faults.sent(Operation::Renew), 2);
}

/// The arming is never answered: nothing runs, and the key is released.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_cannot_be_armed_releases() {
    let world = World::new();
    let process = world.process();
    process.faults.fail_before(Operation::Renew, 1_000);
    let failed = run(call(&process.idem, OnCrash::Refuse), 1).await.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Backend);
    assert!(failed.is_retryable());
    eventually("the key is released", || process.faults.sent(Operation::Release) == 1).await;
    assert_eq!(run(call(&world.process().idem, OnCrash::Refuse), 2).await.unwrap().value, 2);
}

/// The key is lost before the body ran: the call begins anew with a new owner.
#[tokio::test(start_paused = true)]
async fn a_key_lost_before_the_body_ran_is_begun_anew() {
    let world = World::new();
    let process = world.process();
    let mut gate = process.faults.hold_before(Operation::Renew);
    let idem = process.idem.clone();
    let late = tokio::spawn(async move { run(call(&idem, OnCrash::Refuse), 1).await });
    gate.arrived().await;
    // The reservation expires unarmed, and another call runs.
    let other = run(call(&world.process().idem, OnCrash::Refuse), 2).await.unwrap();
    assert_eq!(other.source, Source::Fresh);
    gate.open();
    let late = late.await.unwrap().unwrap();
    assert_eq!((late.value, late.source), (2, Source::Replayed));
    assert!(process.events.has("lease_lost"));
}

async fn reconcile(
    process: &Process,
    answer: Result<Option<u64>, &'static str>,
) -> Result<Outcome<u64>, Error> {
    // Which says what becomes of a body, not of a crash that was asked about.
    let call = call(&process.idem, OnCrash::Reconcile).on_drop(OnDrop::Release);
    let ask = async move {
        sleep(LEASE * 3).await;
        answer
    };
    call.run_reconciling(ask, |lease| async move { Ok(u64::from(lease.attempt())) }).await
}

#[tokio::test(start_paused = true)]
async fn reconcile_answers_with_the_value_that_happened() {
    let world = World::new();
    crash(&world, OnCrash::Reconcile).await;
    let process = world.process();
    let outcome = reconcile(&process, Ok(Some(1))).await.unwrap();
    assert_eq!((outcome.value, outcome.source, outcome.attempt), (1, Source::Reconciled, 2));
    assert!(outcome.stored && !outcome.lapsed, "the takeover is renewed while it asks");
    assert_eq!(process.events.count("taken_over"), 1);
    assert_eq!(process.events.count("reconciled"), 1);
    assert_eq!(reconcile(&process, Ok(None)).await.unwrap().source, Source::Replayed);
}

#[tokio::test(start_paused = true)]
async fn reconcile_runs_what_did_not_happen() {
    let world = World::new();
    crash(&world, OnCrash::Reconcile).await;
    let process = world.process();
    let outcome = reconcile(&process, Ok(None)).await.unwrap();
    assert_eq!((outcome.value, outcome.source, outcome.attempt), (2, Source::Fresh, 2));
}

/// Reconcile is asked after a crash only.
#[tokio::test(start_paused = true)]
async fn reconcile_is_not_asked_without_a_crash() {
    let process = World::new().process();
    let outcome = reconcile(&process, Err("asked")).await.unwrap();
    assert_eq!((outcome.value, outcome.source), (1, Source::Fresh));
}

/// An error, a drop and a deadline in reconcile all leave the crash remembered.
#[tokio::test(start_paused = true)]
async fn a_crash_is_not_forgotten_by_who_failed_to_look_into_it() {
    let world = World::new();
    crash(&world, OnCrash::Reconcile).await;
    let process = world.process();
    let unknown = reconcile(&process, Err("the gateway is down")).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::OutcomeUnknown);
    assert!(unknown.to_string().contains("the gateway is down"), "{unknown}");
    assert!(unknown.is_retryable(), "the next call asks again");
    assert_eq!(unknown.retry_after(), Some(LEASE));

    let dropped = tokio::time::timeout(LEASE * 2, reconcile(&process, Ok(Some(1))));
    assert!(dropped.await.is_err());

    let call = call(&process.idem, OnCrash::Reconcile).on_drop(OnDrop::Release).deadline(LEASE * 2);
    let never = std::future::pending::<Result<Option<u64>, Error>>();
    let stopped = call.run_reconciling(never, |_| async { Ok::<_, Error>(2) }).await.unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::OutcomeUnknown);

    assert_eq!(
        process.faults.sent(Operation::Release),
        0,
        "a takeover is never released unanswered"
    );
    let outcome = reconcile(&process, Ok(Some(1))).await.unwrap();
    assert_eq!((outcome.value, outcome.source), (1, Source::Reconciled));
    assert!(outcome.attempt > 2);
}

/// Once reconcile has answered that the effect did not happen there is no crash to remember: a body
/// that cannot start, since the lease is short by then and is not renewed, leaves its key free.
#[tokio::test(start_paused = true)]
async fn a_crash_that_was_looked_into_is_released() {
    let world = World::new();
    crash(&world, OnCrash::Reconcile).await;
    let process = world.process();
    process.faults.fail_before(Operation::Renew, 1_000);
    let ask = async {
        sleep(LEASE / 2).await;
        Ok::<Option<u64>, Error>(None)
    };
    let call = call(&process.idem, OnCrash::Reconcile);
    let failed = call.run_reconciling(ask, |_| async { Ok::<_, Error>(2) }).await.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Backend);
    eventually("the key is free", || world.store.is_empty()).await;
    assert_eq!(process.faults.sent(Operation::Release), 1);
}

/// A takeover whose body was never polled is left to lapse as well: here, one that came late in its
/// lease and could not be renewed.
#[tokio::test(start_paused = true)]
async fn a_takeover_that_did_not_start_keeps_the_crash_remembered() {
    let world = World::new();
    crash(&world, OnCrash::Refuse).await;
    let process = world.process();
    process.faults.delay(Operation::Replace, LEASE / 2, 1);
    process.faults.fail_before(Operation::Renew, 1_000);
    let failed = run(call(&process.idem, OnCrash::Rerun), 2).await.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Backend);
    assert!(process.events.has("taken_over"));
    sleep(LEASE * 2).await;
    assert_eq!(process.faults.sent(Operation::Release), 0);
    let unknown = run(call(&world.process().idem, OnCrash::Refuse), 2).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::OutcomeUnknown);
}

/// An owner whose effect is out, and whose window ends before the store takes its outcome, leaves its
/// key to be remembered: were it freed, the next call would run beside an effect that nobody asked
/// about.
#[tokio::test(start_paused = true)]
async fn an_outcome_that_comes_too_late_is_remembered_as_a_crash() {
    for on_crash in [OnCrash::Refuse, OnCrash::Reconcile] {
        let world = World::new();
        let (owner, other) = (world.process(), world.process());
        let call_of = |process: &Process, value: u64, away: bool| {
            let call = call(&process.idem, on_crash).ttl(LEASE * 2).retention(LEASE * 100);
            let faults = process.faults.clone();
            let action = move |_| async move {
                faults.away(away);
                Ok::<_, Error>(value)
            };
            async move {
                match on_crash {
                    OnCrash::Reconcile => {
                        let unknown =
                            async { Err(Error::of_kind(ErrorKind::Backend, "no answer")) };
                        call.run_reconciling(unknown, action).await
                    }
                    _ => call.run(action).await,
                }
            }
        };
        assert!(!call_of(&owner, 1, true).await.unwrap().stored);
        sleep(LEASE * 5).await;
        owner.faults.away(false);
        eventually("the window is closed", || owner.events.has("window_closed")).await;
        sleep(LEASE).await;
        let unknown = call_of(&other, 2, false).await.unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::OutcomeUnknown, "{unknown}");
        // The process of the owner as well, and its key is not held up there.
        let unknown = call_of(&owner, 3, false).await.unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::OutcomeUnknown, "{unknown}");
    }
}
