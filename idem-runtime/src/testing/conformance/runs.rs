//! Cases of receipts and their runs, which stand on the same operations.

use super::*;
use crate::error::Error;
use crate::idem::Idem;
use crate::protocol::transition::{CompleteReply, RenewReply, ReplaceReply};
use crate::receipt::{Dispatch, Liveness, Ran, Receipt, RunStatus, Verdict};

/// How long a run whose lease has lapsed may come back.
const HOLD: Duration = Duration::from_millis(600);

fn idem(backend: impl Backend) -> Idem {
    let idem = Idem::builder().backend(backend).lease(LEASE).ttl(LONG).build();
    idem.unwrap_or_else(|error| panic!("the suite's settings are valid: {error}"))
}

fn dispatch(idem: &Idem, key: &str) -> Dispatch {
    idem.dispatch("idem-conformance/run").key(key).hold(HOLD)
}

/// A dispatch to a queue that nobody sees.
async fn queued(idem: &Idem, key: &str) -> Receipt {
    let receipt = dispatch(idem, key).enqueue(async |_| Ok::<_, Error>(())).await;
    receipt.unwrap_or_else(|error| panic!("the dispatch failed: {error}"))
}

fn ok<T>(answer: Result<T, Error>) -> T {
    answer.unwrap_or_else(|error| panic!("the store failed: {error}"))
}

fn unique(text: &str) -> String {
    format!("{text}/{:?}", Owner::fresh())
}

/// A completed record gives way to a reservation that carries a payload; renewals leave that alone, and
/// the reservation's own outcome replaces it.
pub async fn a_reservation_keeps_what_it_carries(backend: impl Backend) {
    let key = key("carries");
    let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
    let queued = outcome(owner, b"queued");
    answered(backend.complete(&key, &queued, LONG).await);
    let running = Record { state: State::Reserved, ..outcome(Owner::fresh(), b"running") };
    let running = running.remembered_for(LONG);
    for _ in 0..2 {
        let reply = backend.replace(&key, queued.head(), &running, LONG * 2, None).await;
        assert_eq!(answered(reply), ReplaceReply::Replaced);
    }
    assert_eq!(standing(&backend, &key).await, Some(running.clone()));
    let (owner, retention) = (running.owner, LONG / 2);
    let renewal = Renewal { key: key.clone(), owner, lease: LONG, retention };
    let renewed = backend.renew(&[renewal]).await.pop().map(answered);
    assert_eq!(renewed, Some(RenewReply::Renewed));
    let kept = running.remembered_for(retention);
    assert_eq!(standing(&backend, &key).await, Some(kept));
    let done = outcome(owner, b"done");
    assert_eq!(answered(backend.complete(&key, &done, LONG).await), CompleteReply::Stored);
    assert_eq!(standing(&backend, &key).await, Some(done));
}

/// A run goes from its queue to its result, and its receipt stands all the time.
pub async fn a_run_goes_from_its_queue_to_its_result(backend: impl Backend) {
    let (idem, key) = (idem(backend), unique("result"));
    let receipt = queued(&idem, &key).await;
    assert_eq!(ok(receipt.status().await), RunStatus::Queued);
    let body = async {
        tokio::time::sleep(LEASE * 2).await;
        let again = queued(&idem, &key).await;
        assert_eq!((again.id(), again.is_replay()), (receipt.id(), true));
        Ok::<_, Error>("done".to_owned())
    };
    assert!(matches!(ok(idem.attach(receipt.id()).run(body).await), Ran::Ended(Ok(_))));
    assert_eq!(ok(receipt.result::<String>().await), "done");
    assert_eq!(queued(&idem, &key).await.id(), receipt.id());
}

/// A run that failed, was cancelled or was given up gives way to another one.
pub async fn a_run_that_is_over_gives_way_to_another(backend: impl Backend) {
    let (idem, key) = (idem(backend), unique("over"));
    let first = queued(&idem, &key).await;
    let body = async { Err::<u64, _>("no paper") };
    assert!(ok(idem.attach(first.id()).run(body).await).is_done());
    let second = queued(&idem, &key).await;
    assert!(second.id() != first.id() && !second.is_replay());
    assert_eq!(ok(second.cancel().await), RunStatus::Cancelled);
    let third = queued(&idem, &key).await;
    assert!(third.id() != second.id() && !third.is_replay());
    let body = async { Ok::<_, Error>(7_u64) };
    let late = ok(idem.attach(second.id()).run(body).await);
    assert!(matches!(late, Ran::NotStarted(RunStatus::Cancelled)), "{late:?}");
}

/// A run whose worker has vanished counts as one that may come back until its hold is over.
pub async fn a_run_that_lapsed_is_held(backend: impl Backend) {
    let (idem, key) = (idem(backend), unique("held"));
    let receipt = queued(&idem, &key).await;
    let body = async { std::future::pending::<Result<u64, Error>>().await };
    let running = idem.attach(receipt.id()).run(body);
    assert!(tokio::time::timeout(LEASE / 3, running).await.is_err());
    until("the lease lapses", || async { idem.verdict(receipt.id()).await == Verdict::MaybeAlive })
        .await;
    assert_eq!(queued(&idem, &key).await.id(), receipt.id());
    let held =
        until("the hold is over", || async { idem.verdict(receipt.id()).await == Verdict::Ended })
            .await;
    assert!(held <= HOLD + LEASE, "it was held for {held:?}");
    assert_ne!(queued(&idem, &key).await.id(), receipt.id());
}

/// A worker learns with its next renewal that its run has been cancelled.
pub async fn a_cancel_reaches_the_worker(backend: impl Backend) {
    let (idem, key) = (idem(backend), unique("cancel"));
    let receipt = queued(&idem, &key).await;
    let body = async {
        assert_eq!(ok(receipt.cancel().await), RunStatus::Cancelled);
        let told = crate::lease().map(|lease| lease.token());
        let told = told.unwrap_or_else(|| panic!("a run has a lease"));
        assert!(tokio::time::timeout(LIMIT, told.cancelled()).await.is_ok());
        Ok::<_, Error>(7_u64)
    };
    let ran = idem.attach(receipt.id()).run(body).await;
    assert!(ran.is_err_and(|error| error.kind() == crate::ErrorKind::LeaseLost));
    assert_eq!(ok(receipt.status().await), RunStatus::Cancelled);
}
