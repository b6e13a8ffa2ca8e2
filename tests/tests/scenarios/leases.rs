//! Leases that are renewed, lapse, and are lost.

use std::time::Duration;

use idem_runtime::backend::Backend;
use idem_runtime::protocol::transition::{BeginReply, CompleteReply, RenewReply, ReplaceReply};
use idem_runtime::record::{Owner, Record, State};
use idem_runtime::testing::Operation;
use idem_runtime::{
    Error, ErrorKind, Fingerprint, Idem, Key, OnDuplicate, RecordKey, Source, Status,
};
use idem_tests::{LEASE, TTL, World, eventually};
use tokio::sync::oneshot;
use tokio::time::sleep;

fn record_key(operation: &'static str, key: &str) -> RecordKey {
    RecordKey::new("".into(), operation.into(), Key::of(key).unwrap())
}

async fn run(
    idem: &Idem,
    takes: Duration,
    value: u64,
) -> Result<idem_runtime::Outcome<u64>, Error> {
    idem.call("op")
        .key("k")
        .run(|_| async move {
            sleep(takes).await;
            Ok::<_, Error>(value)
        })
        .await
}

/// A renewal on its way when the outcome is stored changes neither its state nor its expiry.
#[tokio::test(start_paused = true)]
async fn renewal_meets_completion() {
    let world = World::new();
    let process = world.process();
    let mut gate = process.faults.hold_before(Operation::Renew);
    let (held, opened) = oneshot::channel();
    let outcome = process.idem.call("op").key("k2").run(|_| async move {
        gate.arrived().await;
        let _ = held.send(gate);
        Ok::<_, Error>(7_u64)
    });
    assert!(outcome.await.unwrap().stored);
    let key = record_key("op", "k2");
    let before = world.store.peek(&key).await.unwrap().unwrap();
    opened.await.unwrap().open();
    sleep(LEASE * 3).await;
    let after = world.store.peek(&key).await.unwrap().unwrap();
    assert_eq!(after.standing, before.standing);
    assert_eq!(before.left - after.left, LEASE * 3);
    assert!(!process.events.has("lease_lost") && !process.events.has("renewal_failed"));
}

/// "Stop renewing" that comes before "start": a call that ends at once is never renewed.
#[tokio::test(start_paused = true)]
async fn renewal_meets_completion_at_once() {
    let process = World::new().process();
    run(&process.idem, Duration::ZERO, 1).await.unwrap();
    sleep(LEASE * 3).await;
    assert_eq!(process.faults.sent(Operation::Renew), 0);
}

/// Takeover is a compare-and-set on what was read: after A completed, B gets A's outcome.
#[tokio::test(start_paused = true)]
async fn takeover_from_a_stale_read() {
    let world = World::new();
    // A reservation that lapsed and is remembered: A, paused.
    let (a, key) = (Owner::fresh(), record_key("op", "k"));
    let reserved = Record::reservation(a, Fingerprint::NONE, 1).remembered_for(TTL);
    world.store.begin(&key, &reserved, LEASE).await.unwrap();
    sleep(LEASE * 2).await;
    // B has read it and is about to take over when A completes.
    let b = world.process();
    let mut gate = b.faults.hold_before(Operation::Replace);
    let idem = b.idem.clone();
    let waiting = tokio::spawn(async move { run(&idem, Duration::ZERO, 2).await });
    gate.arrived().await;
    let done = Record { state: State::Completed, ..reserved.clone() };
    assert_eq!(world.store.complete(&key, &done, TTL).await.unwrap(), CompleteReply::Stored);
    gate.open();
    // The planted outcome has no value: B proves that it found A's, and did not run.
    assert_eq!(waiting.await.unwrap().unwrap_err().kind(), ErrorKind::Unreadable);
    assert!(!b.events.has("taken_over"));
}

/// The same, with C taking over in between: B finds C's reservation and waits for C's outcome.
#[tokio::test(start_paused = true)]
async fn takeover_from_a_stale_read_with_another_taking_over_in_between() {
    let world = World::new();
    let (a, key) = (Owner::fresh(), record_key("op", "k"));
    let reserved = Record::reservation(a, Fingerprint::NONE, 1).remembered_for(TTL);
    world.store.begin(&key, &reserved, LEASE).await.unwrap();
    sleep(LEASE * 2).await;
    let (b, c) = (world.process(), world.process());
    let mut gate = b.faults.hold_before(Operation::Replace);
    let idem = b.idem.clone();
    let stale = tokio::spawn(async move { run(&idem, Duration::ZERO, 2).await });
    gate.arrived().await;
    let idem = c.idem.clone();
    let successor = tokio::spawn(async move { run(&idem, LEASE * 2, 3).await });
    eventually("C takes over", || c.events.has("taken_over")).await;
    gate.open();
    let successor = successor.await.unwrap().unwrap();
    assert_eq!((successor.value, successor.source, successor.attempt), (3, Source::Fresh, 2));
    let stale = stale.await.unwrap().unwrap();
    assert_eq!((stale.value, stale.source), (3, Source::Waited));
}

/// A body that blocks its only executor thread for more than three leases keeps its key.
#[test]
fn blocked_executor() {
    let world = World::new();
    let lease = Duration::from_millis(300);
    let process = world.real_process(|builder| builder.lease(lease));
    let other =
        world.real_process(|builder| builder.lease(lease).on_duplicate(OnDuplicate::Reject));
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (started, has_started) = std::sync::mpsc::channel();
    let duplicate = std::thread::spawn(move || {
        has_started.recv().unwrap();
        let start = std::time::Instant::now();
        // Asks throughout the time in which the lease would have ended without renewal.
        while start.elapsed() < Duration::from_millis(800) {
            let refused = runtime().block_on(run(&other.idem, Duration::ZERO, 2)).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InProgress);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let outcome = runtime().block_on(process.idem.call("op").key("k").run(|_| async move {
        started.send(()).unwrap();
        std::thread::sleep(Duration::from_secs(1));
        Ok::<_, Error>(1_u64)
    }));
    let outcome = outcome.unwrap();
    assert!(outcome.stored && !outcome.lapsed, "{outcome:?}");
    duplicate.join().unwrap();
    assert_eq!(process.events.count("blocked_poll"), 1);
}

/// A renewal that fails is made up for; so is the same on the next reservation of the key.
#[tokio::test(start_paused = true)]
async fn one_failed_renewal() {
    let world = World::new();
    let process = world.process_with(|builder| builder.lease(LEASE * 3));
    for round in 1..=2 {
        let faults = process.faults.clone();
        let outage = tokio::spawn(async move {
            sleep(LEASE).await;
            faults.away(true);
            sleep(LEASE).await;
            faults.away(false);
        });
        let idem = process.idem.clone();
        let refused = idem.call("op").key("k").run(|_| async {
            sleep(LEASE * 10).await;
            Err::<u64, _>(idem_error().await)
        });
        assert_eq!(refused.await.unwrap_err().kind(), ErrorKind::NotInstalled);
        outage.await.unwrap();
        assert!(process.events.count("renewal_failed") >= round);
        assert!(process.events.count("renewed") >= 10 * round, "{:?}", process.events.all());
    }
    assert!(!process.events.has("lease_at_risk") && !process.events.has("lease_gone"));
}

/// Some error of the action's own: here, a call without an `Idem`.
async fn idem_error() -> Error {
    #[idem_runtime::idempotent(key = 1)]
    async fn nowhere() -> Result<(), Error> {
        Ok(())
    }
    nowhere().await.unwrap_err()
}

/// The store is away for two leases while A runs and nobody calls: A reserves again and completes.
#[tokio::test(start_paused = true)]
async fn store_away_for_a_lease() {
    let world = World::new();
    let process = world.process();
    let faults = process.faults.clone();
    let outcome = process.idem.call("op").key("k").run(|lease| async move {
        faults.away(true);
        sleep(LEASE * 2).await;
        assert!(lease.token().is_cancelled(), "the body can know that its lease is at risk");
        faults.away(false);
        sleep(LEASE * 2).await;
        Ok::<_, Error>(1_u64)
    });
    let outcome = outcome.await.unwrap();
    assert!(outcome.stored && outcome.lapsed);
    for event in ["lease_at_risk", "renewal_failed", "lease_gone", "renewed"] {
        assert!(process.events.has(event), "{event} is missing in {:?}", process.events.all());
    }
    let status = process.idem.inspect("op", "k").await.unwrap().unwrap().status;
    assert!(matches!(status, Status::Completed { .. }));
}

/// The same with B calling meanwhile: B runs, and A is told.
#[tokio::test(start_paused = true)]
async fn store_away_for_a_lease_with_another_caller() {
    let world = World::new();
    let (a, b) = (world.process(), world.process());
    let faults = a.faults.clone();
    let idem = a.idem.clone();
    let first = tokio::spawn(async move {
        idem.call("op")
            .key("k")
            .run(|_| async move {
                faults.away(true);
                sleep(LEASE * 2).await;
                faults.away(false);
                sleep(LEASE * 2).await;
                Ok::<_, Error>(1_u64)
            })
            .await
    });
    sleep(LEASE / 2).await;
    let second = run(&b.idem, Duration::ZERO, 2).await.unwrap();
    assert_eq!((second.value, second.source), (2, Source::Fresh));
    assert_eq!(first.await.unwrap().unwrap_err().kind(), ErrorKind::LeaseLost);
    assert!(a.events.has("lease_lost"));
    assert_eq!(run(&a.idem, Duration::ZERO, 3).await.unwrap().value, 2);
}

/// A renewal, or any other command, that arrives after its lease ended and B took the key, changes
/// nothing of B's.
#[tokio::test(start_paused = true)]
async fn lapsed_lease_is_not_revived() {
    let world = World::new();
    let key = record_key("op", "k");
    let (stale, owner) = (Owner::fresh(), Owner::fresh());
    let mine = |owner| Record::reservation(owner, Fingerprint::NONE, 1);
    world.store.begin(&key, &mine(stale), LEASE).await.unwrap();
    sleep(LEASE).await;
    assert_eq!(world.store.begin(&key, &mine(owner), LEASE).await.unwrap(), BeginReply::Acquired);
    let before = world.store.peek(&key).await.unwrap();
    let renewal = idem_runtime::backend::Renewal {
        key: key.clone(),
        owner: stale,
        lease: TTL,
        retention: TTL,
    };
    assert_eq!(world.store.renew(&[renewal]).await.remove(0).unwrap(), RenewReply::Taken);
    let outcome = Record { state: State::Completed, ..mine(stale) };
    let refused = world.store.complete(&key, &outcome, TTL).await.unwrap();
    assert!(matches!(refused, CompleteReply::Refused(_)));
    world.store.release(&key, stale).await.unwrap();
    let seen = mine(stale).head();
    let replaced = world.store.replace(&key, seen, &outcome, TTL, None).await.unwrap();
    assert!(matches!(replaced, ReplaceReply::Stands(Some(_))));
    assert_eq!(world.store.peek(&key).await.unwrap(), before);
}

/// Two processes with the same configuration do not keep each other's work alive.
#[tokio::test(start_paused = true)]
async fn owner_is_unique() {
    let world = World::new();
    let (a, b) = (world.process(), world.process());
    let idem = a.idem.clone();
    let dead = tokio::spawn(async move { run(&idem, LEASE * 100, 1).await });
    eventually("A has the key", || a.faults.sent(Operation::Begin) == 1).await;
    // A is cut off for good; B goes on renewing leases of its own, under another key.
    a.faults.away(true);
    let idem = b.idem.clone();
    let busy = tokio::spawn(async move {
        idem.call("op")
            .key("other")
            .run(|_| async {
                sleep(LEASE * 10).await;
                Ok::<_, Error>(0_u64)
            })
            .await
    });
    let start = tokio::time::Instant::now();
    assert_eq!(run(&b.idem, Duration::ZERO, 2).await.unwrap().value, 2);
    assert!(start.elapsed() <= LEASE * 2, "B's renewals kept A's lease alive");
    busy.await.unwrap().unwrap();
    dead.abort();
}
