//! Calls: fingerprints, leases and tokens that were not what they seemed.

use std::time::Duration;

use idem_runtime::backend::Backend;
use idem_runtime::record::{Owner, Record};
use idem_runtime::testing::Operation;
use idem_runtime::{
    Error, ErrorKind, Fingerprint, Key, OnDuplicate, OnOutage, Outcome, RecordKey, Source, lease,
};
use idem_tests::{LEASE, Process, TTL, World};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

/// A fingerprint counts in whatever order a call is built.
#[tokio::test(start_paused = true)]
async fn a_fingerprint_before_the_key_was_dropped() {
    let process = World::new().process();
    let call = |cents: u64| process.idem.call("op").fingerprint(&cents).key("k");
    call(1).run(|_| async { Ok::<_, Error>(1_u64) }).await.unwrap();
    let refused = call(2).run(|_| async { Ok::<_, Error>(2_u64) }).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::FingerprintMismatch);
}

/// Reconciles after a crash; while it asks, the key becomes another's or goes. The answer is that
/// the effect did not happen.
async fn reconcile_and_lose(
    process: &Process,
    world: &World,
    taken: bool,
) -> Result<Outcome<u64>, Error> {
    let key = RecordKey::new("".into(), "op".into(), Key::of("k").unwrap());
    let dead = Record::reservation(Owner::fresh(), Fingerprint::NONE, 0).remembered_for(TTL);
    world.store.begin(&key, &dead, Duration::from_millis(100)).await.unwrap();
    sleep(LEASE).await;
    let store = world.store.clone();
    let ask = async move {
        sleep(LEASE / 5).await;
        // The machine stands still for a while, so that a renewal is late and the next one is not
        // far from an answer that comes early in a lease.
        tokio::time::advance(LEASE / 4).await;
        sleep(LEASE / 50).await;
        let found = store.peek(&key).await.unwrap().unwrap();
        let seen = found.standing.record().unwrap().head();
        if taken {
            let other = Record::reservation(Owner::fresh(), Fingerprint::NONE, 0);
            store.replace(&key, seen, &other, LEASE * 60, None).await.unwrap();
        } else {
            store.release(&key, seen.owner).await.unwrap();
        }
        sleep(LEASE / 8).await;
        Ok::<Option<u64>, Error>(None)
    };
    let call = process.idem.call("op").key("k").on_duplicate(OnDuplicate::Reject);
    let runs = world.runs.clone();
    call.run_reconciling(ask, |lease| async move {
        let _run = runs.start("body");
        Ok::<_, Error>(u64::from(lease.attempt()))
    })
    .await
}

/// Taken before the body ran ends the attempt: the body does not run beside the other owner.
#[tokio::test(start_paused = true)]
async fn a_body_ran_although_its_key_was_another_s() {
    let world = World::new();
    let process = world.process();
    let refused = reconcile_and_lose(&process, &world, true).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InProgress);
    assert!(process.events.has("lease_lost"));
    assert_eq!(world.runs.total("body"), 0);
}

/// Gone before the body ran ends the attempt: the call begins anew, with a new owner.
#[tokio::test(start_paused = true)]
async fn a_body_ran_on_a_reservation_that_was_gone() {
    let world = World::new();
    let process = world.process();
    let outcome = reconcile_and_lose(&process, &world, false).await.unwrap();
    assert!(process.events.has("lease_gone"));
    assert_eq!((outcome.value, outcome.stored), (1, true), "the first attempt of a new owner");
}

/// The deadline holds for an action that runs without protection, too.
#[tokio::test(start_paused = true)]
async fn an_unprotected_action_had_no_deadline() {
    let process = World::new().process();
    process.faults.away(true);
    let call = process.idem.call("op").key("k").deadline(LEASE * 5).on_outage(OnOutage::Run);
    let start = Instant::now();
    let stopped = call.run(|_| std::future::pending::<Result<u64, Error>>()).await.unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::DeadlineExceeded);
    assert!(start.elapsed() <= LEASE * 5 + Duration::from_secs(2));
    assert!(process.events.has("deadline_exceeded"));
}

/// The token is cancelled when the body is dropped, so that what it handed it to ends as well.
#[tokio::test(start_paused = true)]
async fn the_token_of_a_dropped_body_was_never_cancelled() {
    let process = World::new().process();
    let (out, handed) = oneshot::channel();
    let idem = process.idem.clone();
    let call = tokio::spawn(async move {
        let call = idem.call("op").key("k").run(|lease| async move {
            let _ = out.send(lease.token());
            std::future::pending::<Result<u64, Error>>().await
        });
        call.await
    });
    let token = handed.await.unwrap();
    assert!(!token.is_cancelled());
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert!(token.is_cancelled());
}

/// `Idem::scope` covers the task that polls it, and brings nothing along from where it was made.
#[tokio::test(start_paused = true)]
async fn a_scope_carried_the_lease_into_a_spawned_task() {
    let process = World::new().process();
    let idem = process.idem.clone();
    let call = process.idem.call("op").key("k").run(|_| async move {
        let spawned = tokio::spawn(idem.scope(async { lease().is_some() }));
        Ok::<_, Error>(spawned.await.unwrap())
    });
    assert!(!call.await.unwrap().value);
}

/// A lease that was kept after its body has ended does not make its key reentrant.
#[tokio::test(start_paused = true)]
async fn a_kept_lease_refused_a_replay() {
    let process = World::new().process();
    let (out, handed) = oneshot::channel();
    let call = process.idem.call("op").key("k").run(|lease| async move {
        let _ = out.send(lease);
        Ok::<_, Error>(1_u64)
    });
    call.await.unwrap();
    let again = process.idem.call("op").key("k").run(|_| async { Ok::<_, Error>(2_u64) });
    assert_eq!(handed.await.unwrap().scope(again).await.unwrap().value, 1);
}

/// A drop of the body's own runs where its polls ran: it sees the lease.
#[tokio::test(start_paused = true)]
async fn a_drop_of_the_body_saw_no_lease() {
    struct Last(Option<oneshot::Sender<bool>>);
    impl Drop for Last {
        fn drop(&mut self) {
            let _ = self.0.take().unwrap().send(lease().is_some());
        }
    }
    let process = World::new().process();
    let (out, seen) = oneshot::channel();
    let idem = process.idem.clone();
    let call = tokio::spawn(async move {
        let call = idem.call("op").key("k").run(|_| async move {
            let _last = Last(Some(out));
            std::future::pending::<Result<u64, Error>>().await
        });
        call.await
    });
    idem_tests::eventually("it runs", || process.events.has("renewed")).await;
    call.abort();
    assert!(seen.await.unwrap());
}

/// A record that had ended before the body ran was told as another owner's, which is a line to act on.
#[tokio::test(start_paused = true)]
async fn a_key_that_was_gone_was_told_as_taken() {
    let process = World::new().process();
    // Half of the lease passes before the begin is answered, the rest before the renewal arrives.
    process.faults.fail_after(Operation::Begin, 1);
    process.faults.delay(Operation::Begin, LEASE / 2, 1);
    process.faults.delay(Operation::Renew, LEASE, 1);
    let outcome = process.idem.call("op").key("k").run(|_| async { Ok::<_, Error>(1) });
    assert_eq!(outcome.await.unwrap().source, Source::Fresh);
    assert!(process.events.has("lease_gone") && !process.events.has("lease_lost"));
}
