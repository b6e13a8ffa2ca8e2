//! What operators do about an owner that vanished.

use idem_runtime::testing::Operation;
use idem_runtime::{Decided, Decision, Error, ErrorKind, OnCrash, Source, Status};
use idem_tests::{LEASE, TTL, World, eventually};
use tokio::time::sleep;

use super::on_crash::{call, crash, run};

/// An operator finds the effect in the world and says so.
#[tokio::test(start_paused = true)]
async fn decide_takes_a_value() {
    let world = World::new();
    crash(&world, OnCrash::Refuse).await;
    let idem = world.process().idem;
    assert_eq!(idem.decide("op", "k", Decision::take(&1_u64)).await.unwrap(), Decided::InProgress);
    sleep(LEASE * 2).await;
    assert_eq!(idem.inspect("op", "k").await.unwrap().unwrap().status, Status::Lapsed);
    assert_eq!(idem.decide("op", "k", Decision::take(&1_u64)).await.unwrap(), Decided::Done);
    let outcome = run(call(&idem, OnCrash::Refuse), 2).await.unwrap();
    assert_eq!((outcome.value, outcome.source), (1, Source::Replayed));
    let again = idem.decide("op", "k", Decision::run_again()).await.unwrap();
    assert_eq!(again, Decided::NothingToDecide, "an outcome is final");
    let status = idem.inspect("op", "k").await.unwrap().unwrap();
    assert!(matches!(status.status, Status::Completed { kept: true, error: false, .. }));
    assert!(status.expires_in <= TTL);
}

#[tokio::test(start_paused = true)]
async fn decide_runs_again() {
    let world = World::new();
    crash(&world, OnCrash::Refuse).await;
    let idem = world.process().idem;
    sleep(LEASE * 2).await;
    assert_eq!(idem.decide("op", "k", Decision::run_again()).await.unwrap(), Decided::Done);
    assert_eq!(idem.inspect("op", "k").await.unwrap(), None);
    assert_eq!(run(call(&idem, OnCrash::Refuse), 2).await.unwrap().value, 2);
    assert_eq!(
        idem.decide("op", "other", Decision::run_again()).await.unwrap(),
        Decided::NothingToDecide
    );
}

/// An owner that comes back between the operator's look and the decision is not run over.
#[tokio::test(start_paused = true)]
async fn a_decision_comes_after_a_renewal() {
    let world = World::new();
    let (paused, operator) = (world.process(), world.process());
    let idem = paused.idem.clone();
    let owner = tokio::spawn(async move {
        let call = call(&idem, OnCrash::Refuse);
        call.run(|_| async {
            sleep(LEASE * 5).await;
            Ok::<_, Error>(1_u64)
        })
        .await
    });
    eventually("the owner is renewed", || paused.events.has("renewed")).await;
    paused.faults.away(true);
    sleep(LEASE * 2).await;
    let mut gate = operator.faults.hold_before(Operation::Replace);
    let idem = operator.idem.clone();
    let decision =
        tokio::spawn(async move { idem.decide("op", "k", Decision::take(&9_u64)).await });
    gate.arrived().await;
    let renewed = paused.events.count("renewed");
    paused.faults.away(false);
    eventually("the owner is renewed again", || paused.events.count("renewed") > renewed).await;
    gate.open();
    assert_eq!(decision.await.unwrap().unwrap(), Decided::InProgress);
    let outcome = owner.await.unwrap().unwrap();
    assert!(outcome.stored && outcome.lapsed);
}

/// An owner that was only paused finds the operator's decision, and is told.
#[tokio::test(start_paused = true)]
async fn a_paused_owner_does_not_overwrite_a_decision() {
    let world = World::new();
    let paused = world.process();
    let idem = paused.idem.clone();
    let owner = tokio::spawn(async move {
        let call = call(&idem, OnCrash::Refuse);
        call.run(|_| async {
            sleep(LEASE * 5).await;
            Ok::<_, Error>(1_u64)
        })
        .await
    });
    eventually("the owner is renewed", || paused.events.has("renewed")).await;
    paused.faults.away(true);
    sleep(LEASE * 2).await;
    let operator = world.process().idem;
    assert_eq!(operator.decide("op", "k", Decision::take(&9_u64)).await.unwrap(), Decided::Done);
    paused.faults.away(false);
    assert_eq!(owner.await.unwrap().unwrap_err().kind(), ErrorKind::LeaseLost);
    assert_eq!(run(call(&operator, OnCrash::Refuse), 2).await.unwrap().value, 9);
}
