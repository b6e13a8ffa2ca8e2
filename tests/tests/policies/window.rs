//! The window: how long after its last sign of life an owner may still store its outcome.

use std::time::Duration;

use idem_runtime::testing::Operation;
use idem_runtime::{Error, ErrorKind, Idem, Outcome};
use idem_tests::{LEASE, World, eventually};
use tokio::time::{Instant, advance, sleep};

async fn run(idem: Idem) -> Result<Outcome<u64>, Error> {
    idem.call("op").key("k").run(|_| async { Ok::<_, Error>(1) }).await
}

/// Later than lease + ttl after the last confirmed renewal nothing is stored, since an
/// outcome that another call stored may have come and gone.
#[tokio::test(start_paused = true)]
async fn the_window_closes() {
    let world = World::new();
    let process = world.process_with(|builder| builder.ttl(LEASE * 2));
    process.faults.fail_before(Operation::Renew, 1_000);
    let late = process.idem.call("op").key("k").run(|_| async {
        sleep(LEASE * 3 + LEASE / 10).await;
        Ok::<_, Error>(1_u64)
    });
    assert_eq!(late.await.unwrap_err().kind(), ErrorKind::LeaseLost);
    assert_eq!(process.events.count("window_closed"), 1);
    assert_eq!(process.faults.sent(Operation::Complete), 0);
    eventually("nothing but a release is sent", || process.faults.sent(Operation::Release) == 1)
        .await;
    assert!(world.store.is_empty());
}

/// The window of a deferred completion ends a ttl after the first complete was sent.
#[tokio::test(start_paused = true)]
async fn the_window_of_a_deferred_completion_closes() {
    let world = World::new();
    let process = world.process_with(|builder| builder.ttl(LEASE * 4));
    process.faults.fail_before(Operation::Complete, 10_000);
    assert!(!run(process.idem.clone()).await.unwrap().stored);
    let start = Instant::now();
    eventually("the window closes", || process.events.has("window_closed")).await;
    assert!(start.elapsed() <= LEASE * 5 + Duration::from_secs(2), "{:?}", start.elapsed());
    eventually("the key is free", || world.store.is_empty()).await;
}

/// A reply that is heard after the window has ended says nothing of what stands now: the process stood
/// still between the two.
#[tokio::test(start_paused = true)]
async fn a_reply_does_not_open_the_window_again() {
    let world = World::new();
    let process = world.process_with(|builder| builder.ttl(LEASE * 2));
    let mut gate = process.faults.hold_after(Operation::Complete);
    let call = tokio::spawn(run(process.idem.clone()));
    gate.arrived().await;
    gate.open();
    advance(LEASE * 2).await;
    assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::LeaseLost);
    assert_eq!(process.events.count("window_closed"), 1);
}
