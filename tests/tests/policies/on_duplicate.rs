//! `on_duplicate`: what a call does that finds its key reserved by another process.

use std::time::Duration;

use idem_runtime::backend::Backend;
use idem_runtime::record::{Owner, Record};
use idem_runtime::testing::Operation;
use idem_runtime::{
    Error, ErrorKind, Fingerprint, Idem, Key, OnDuplicate, Outcome, RecordKey, Source,
};
use idem_tests::{LEASE, TTL, World, eventually};
use tokio::time::{Instant, sleep};

/// The time that a store has to answer, unless a call says otherwise.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

/// Some other process's reservation: gives its owner.
async fn reserve(world: &World, fingerprint: Fingerprint) -> Owner {
    let owner = Owner::fresh();
    let reservation = Record::reservation(owner, fingerprint, 0);
    world.store.begin(&record_key(), &reservation, TTL).await.unwrap();
    owner
}

fn record_key() -> RecordKey {
    RecordKey::new("".into(), "op".into(), Key::of("k").unwrap())
}

async fn call(
    idem: Idem,
    on_duplicate: OnDuplicate,
    fingerprint: u64,
) -> Result<Outcome<u64>, Error> {
    let call = idem.call("op").key("k").fingerprint(&fingerprint).on_duplicate(on_duplicate);
    call.run(|_| async { Ok::<_, Error>(1) }).await
}

/// What one call has read in the store is known to those beside it: one that does not wait, or has
/// other arguments, is refused at once and without a read of its own.
#[tokio::test(start_paused = true)]
async fn what_one_has_read_is_known_to_all() {
    let (world, one) = (World::new(), Fingerprint::of(&1_u64).unwrap());
    reserve(&world, one).await;
    let process = world.process();
    let waits = tokio::spawn(call(process.idem.clone(), OnDuplicate::Wait, 1));
    eventually("it has read", || process.faults.sent(Operation::Peek) == 1).await;
    let start = Instant::now();
    let rejected = call(process.idem.clone(), OnDuplicate::Reject, 1).await.unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::InProgress);
    assert!(rejected.retry_after().unwrap() > TTL - LEASE);
    let mismatch = call(process.idem.clone(), OnDuplicate::Wait, 2).await.unwrap_err();
    assert_eq!(mismatch.kind(), ErrorKind::FingerprintMismatch);
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(process.faults.sent(Operation::Begin), 1);
    waits.abort();
}

/// A subscription that the store does not answer costs a waiter a quarter of the store's time, not the
/// wait: it reads then.
#[tokio::test(start_paused = true)]
async fn a_subscription_without_an_answer_costs_little() {
    let world = World::new();
    let owner = reserve(&world, Fingerprint::NONE).await;
    let process = world.process();
    let mut gate = process.faults.hold_before(Operation::Changed);
    let start = Instant::now();
    let waits = tokio::spawn(call(process.idem.clone(), OnDuplicate::Wait, 1));
    gate.arrived().await;
    world.store.release(&record_key(), owner).await.unwrap();
    assert_eq!(waits.await.unwrap().unwrap().source, Source::Fresh);
    assert_eq!(start.elapsed(), STORE_TIMEOUT / 4);
}

/// The last read gets a quarter of the store's time when the wait is over, and no more: a store that
/// does not answer it is what the caller hears of.
#[tokio::test(start_paused = true)]
async fn a_last_read_without_an_answer_ends_the_wait() {
    let world = World::new();
    reserve(&world, Fingerprint::NONE).await;
    let process = world.process();
    process.faults.delay(Operation::Begin, LEASE / 2, 1);
    let gate = process.faults.hold_before(Operation::Peek);
    let start = Instant::now();
    let waited = call(process.idem.clone(), OnDuplicate::WaitFor(LEASE / 2), 1).await.unwrap_err();
    assert_eq!(waited.kind(), ErrorKind::Backend);
    assert_eq!(start.elapsed(), LEASE / 2 + STORE_TIMEOUT / 4);
    drop(gate);
}

/// A record that comes and goes does not keep a call for ever: each time the call begins it is there,
/// each time it reads it is not.
#[tokio::test(start_paused = true)]
async fn a_record_that_comes_and_goes_ends_the_wait() {
    const STEP: Duration = Duration::from_millis(50);
    let world = World::new();
    let process = world.process();
    // A begin takes effect a step after it was sent, a read a step after that.
    process.faults.delay(Operation::Begin, STEP, 1_000);
    process.faults.delay(Operation::Peek, STEP, 1_000);
    let start = Instant::now();
    let call = tokio::spawn(call(process.idem.clone(), OnDuplicate::Reject, 1));
    sleep(STEP / 2).await;
    while !call.is_finished() {
        let owner = reserve(&world, Fingerprint::NONE).await;
        sleep(STEP).await;
        world.store.release(&record_key(), owner).await.unwrap();
        sleep(STEP).await;
    }
    assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::InProgress);
    let took = start.elapsed();
    assert!((STORE_TIMEOUT * 3..STORE_TIMEOUT * 3 + STEP * 4).contains(&took), "{took:?}");
}
