//! `on_outage`: the store cannot be reached at begin.

use std::time::Duration;

use idem_runtime::testing::Operation;
use idem_runtime::{Error, ErrorKind, Idem, OnOutage, Outcome, observe};
use idem_tests::World;
use tokio::time::Instant;

async fn run(idem: &Idem, on_outage: OnOutage) -> Result<Outcome<bool>, Error> {
    let call = idem.call("op").key("k").on_outage(on_outage);
    call.run(|lease| async move {
        let protected = lease.is_protected();
        assert_eq!(protected, lease.fence().await.is_ok());
        assert_eq!(protected, lease.time_left() > Duration::ZERO);
        assert!(!lease.token().is_cancelled());
        assert_eq!((lease.operation(), lease.key(), lease.attempt()), ("op", "k", 1));
        Ok(protected)
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn refuse_fails_within_the_stores_time() {
    let process = World::new().process();
    process.faults.away(true);
    let start = Instant::now();
    let failed = run(&process.idem, OnOutage::Refuse).await.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Backend);
    assert!(failed.is_retryable());
    assert!(std::error::Error::source(&failed).is_some(), "the store's own words are kept");
    assert!(start.elapsed() <= Duration::from_secs(2));
    assert!(process.faults.sent(Operation::Begin) > 3, "it was repeated");
    assert_eq!(process.events.count("failed"), 1);
}

#[tokio::test(start_paused = true)]
async fn run_runs_unprotected_and_says_so() {
    let process = World::new().process();
    process.faults.away(true);
    let observed = observe(run(&process.idem, OnOutage::Run)).await;
    let outcome = observed.result.unwrap();
    assert!(!outcome.value && !outcome.protected && !outcome.stored);
    assert!(!observed.facts.unwrap().protected);
    assert_eq!(process.events.count("run_unprotected"), 1);
    process.faults.away(false);
    assert!(run(&process.idem, OnOutage::Run).await.unwrap().protected);
}

/// An answer that is an error is never a reason to run.
#[tokio::test(start_paused = true)]
async fn an_answer_is_not_an_outage() {
    let process = World::new().process();
    process.faults.answer(Operation::Begin, "out of memory", 1);
    let failed = run(&process.idem, OnOutage::Run).await.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Backend);
    assert!(failed.to_string().contains("out of memory"), "{failed}");
    assert_eq!(process.faults.sent(Operation::Begin), 1, "and not repeated");
}

/// A begin that was given up may have been carried out: it is released.
#[tokio::test(start_paused = true)]
async fn a_begin_given_up_is_released() {
    let world = World::new();
    let process = world.process_with(|builder| builder.lease(Duration::from_secs(3_600)));
    process.faults.fail_after(Operation::Begin, 1_000);
    assert!(run(&process.idem, OnOutage::Refuse).await.is_err());
    idem_tests::eventually("it is released", || world.store.is_empty()).await;
}

/// Nor does one refusal of that release end it.
#[tokio::test(start_paused = true)]
async fn the_release_of_a_begin_given_up_is_repeated() {
    let world = World::new();
    let process = world.process_with(|builder| builder.lease(Duration::from_secs(3_600)));
    process.faults.fail_after(Operation::Begin, 1_000);
    process.faults.answer(Operation::Release, "no permission", 5);
    assert!(run(&process.idem, OnOutage::Refuse).await.is_err());
    idem_tests::eventually("it is released", || world.store.is_empty()).await;
    assert!(!process.events.has("release_failed"));
}

/// When the lease has ended there is nothing left to release.
#[tokio::test(start_paused = true)]
async fn the_release_of_a_begin_given_up_ends_with_the_lease() {
    let process = World::new().process_with(|builder| builder.lease(Duration::from_secs(10)));
    process.faults.away(true);
    assert!(run(&process.idem, OnOutage::Refuse).await.is_err());
    let start = Instant::now();
    idem_tests::eventually("it is given up", || process.events.has("release_failed")).await;
    let took = start.elapsed();
    assert!(took <= Duration::from_secs(12), "a lease and the time of one try, not {took:?}");
    let sent = process.faults.sent(Operation::Release);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(process.faults.sent(Operation::Release), sent);
}

/// Duplicates that wait for a begin which fails hear of it, and do not queue up for their own.
#[tokio::test(start_paused = true)]
async fn an_outage_is_told_to_every_duplicate() {
    let process = World::new().process();
    process.faults.away(true);
    let start = Instant::now();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let idem = process.idem.clone();
        calls
            .spawn(async move { run(&idem, OnOutage::Refuse).await.map_err(|error| error.kind()) });
    }
    for result in calls.join_all().await {
        assert_eq!(result.unwrap_err(), ErrorKind::Backend);
    }
    assert!(start.elapsed() <= Duration::from_secs(2));
}
