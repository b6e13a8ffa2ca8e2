//! A record that is gone while its owner lives: it is taken again, unless somebody else has the key.

use idem_runtime::backend::Backend;
use idem_runtime::record::{Owner, Record, State};
use idem_runtime::testing::Operation;
use idem_runtime::{Error, ErrorKind, Fingerprint, Key, Outcome, RecordKey};
use idem_tests::{LEASE, Process, TTL, World, eventually};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

fn record_key() -> RecordKey {
    RecordKey::new("".into(), "op".into(), Key::of("k").unwrap())
}

/// The store forgets the key, whoever has it: says who had.
pub(crate) async fn forget(world: &World) -> Owner {
    let found = world.store.peek(&record_key()).await.unwrap().unwrap();
    let owner = found.standing.record().unwrap().owner;
    world.store.release(&record_key(), owner).await.unwrap();
    owner
}

/// Reserves the key, as if from elsewhere.
async fn reserve(world: &World, owner: Owner) -> Record {
    let reservation = Record::reservation(owner, Fingerprint::NONE, 0);
    world.store.begin(&record_key(), &reservation, TTL).await.unwrap();
    reservation
}

/// The begin after *gone* moves no deadline; the renewal that does follows at once.
#[tokio::test(start_paused = true)]
async fn a_renewal_follows_the_begin_at_once() {
    let world = World::new();
    let process = world.process();
    let events = process.events.clone();
    let call = process.idem.call("op").key("k").run(|_| async move {
        forget(&world).await;
        eventually("it is gone", || events.has("lease_gone")).await;
        let start = Instant::now();
        eventually("it is renewed", || events.has("renewed")).await;
        assert!(start.elapsed() < LEASE / 20, "{:?}", start.elapsed());
        Ok::<_, Error>(1_u64)
    });
    let outcome = call.await.unwrap();
    assert!(outcome.stored && outcome.lapsed);
}

/// A begin after *gone* that finds another's record says so, not the next renewal.
#[tokio::test(start_paused = true)]
async fn a_key_that_is_another_s_by_then_is_lost_at_once() {
    let world = World::new();
    let process = world.process();
    let (faults, events) = (process.faults.clone(), process.events.clone());
    let call = process.idem.call("op").key("k").run(|_| async move {
        let mut gate = faults.hold_before(Operation::Begin);
        forget(&world).await;
        gate.arrived().await;
        reserve(&world, Owner::fresh()).await;
        let sent = faults.sent(Operation::Renew);
        gate.open();
        eventually("it is told", || events.has("lease_lost")).await;
        assert_eq!(faults.sent(Operation::Renew), sent);
        Ok::<_, Error>(1_u64)
    });
    assert_eq!(call.await.unwrap_err().kind(), ErrorKind::LeaseLost);
}

/// While a begin after *gone* is under way, nothing is renewed beside it: the store would say *gone*
/// again, and each time another begin would follow.
#[tokio::test(start_paused = true)]
async fn nothing_is_renewed_beside_a_begin() {
    let world = World::new();
    let process = world.process();
    let (faults, events, store) =
        (process.faults.clone(), process.events.clone(), world.store.clone());
    let call = process.idem.call("op").key("k").run(|_| async move {
        faults.away(true);
        sleep(LEASE * 2).await;
        assert!(store.is_empty());
        faults.fail_before(Operation::Begin, 1_000);
        faults.away(false);
        eventually("it is gone", || events.has("lease_gone")).await;
        let sent = faults.sent(Operation::Renew);
        sleep(LEASE * 5).await;
        assert_eq!((faults.sent(Operation::Renew), events.count("lease_gone")), (sent, 1));
        Ok::<_, Error>(1_u64)
    });
    assert_eq!(call.await.unwrap().value, 1);
}

/// A call whose record is gone when its outcome is to be stored: stops it before the begin that
/// follows. Gives who had the key.
async fn gone_at_completion(
    world: &World,
    process: &Process,
) -> (Owner, idem_runtime::testing::Gate, JoinHandle<Result<Outcome<u64>, Error>>) {
    let (idem, forgets, (out, owner)) =
        (process.idem.clone(), world.clone(), tokio::sync::oneshot::channel());
    let faults = process.faults.clone();
    let call = tokio::spawn(async move {
        let call = idem.call("op").key("k").run(|_| async move {
            let gate = faults.hold_before(Operation::Begin);
            let _ = out.send((forget(&forgets).await, gate));
            Ok::<_, Error>(1_u64)
        });
        call.await
    });
    let (owner, mut gate) = owner.await.unwrap();
    gate.arrived().await;
    (owner, gate, call)
}

#[tokio::test(start_paused = true)]
async fn a_completion_does_not_follow_into_another_s_reservation() {
    let world = World::new();
    let process = world.process();
    let (_, gate, call) = gone_at_completion(&world, &process).await;
    reserve(&world, Owner::fresh()).await;
    gate.open();
    assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::LeaseLost);
    assert_eq!(process.events.count("completion_refused"), 1);
}

/// A copy of its begin and one of its complete have arrived before it: its outcome stands already.
#[tokio::test(start_paused = true)]
async fn a_completion_finds_that_it_was_carried_out() {
    let world = World::new();
    let process = world.process();
    let (owner, gate, call) = gone_at_completion(&world, &process).await;
    let outcome = Record { state: State::Completed, ..reserve(&world, owner).await };
    world.store.complete(&record_key(), &outcome, TTL).await.unwrap();
    gate.open();
    assert!(call.await.unwrap().unwrap().stored);
    assert_eq!(process.faults.sent(Operation::Complete), 1);
}
