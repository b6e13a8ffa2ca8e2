//! Replies that get lost.

use idem_runtime::testing::Operation;
use idem_runtime::{Error, Source};
use idem_tests::World;

/// The reply of the first begin is cut off: the retry knows its own reservation, and runs once.
#[tokio::test(start_paused = true)]
async fn begin_reply_lost() {
    let world = World::new();
    let process = world.process();
    process.faults.fail_after(Operation::Begin, 1);
    let outcome = process.idem.call("op").key("k").run(|_| async {
        let _run = world.runs.start("action");
        Ok::<_, Error>(1_u64)
    });
    let outcome = outcome.await.unwrap();
    assert_eq!((outcome.source, outcome.attempt, outcome.stored), (Source::Fresh, 1, true));
    assert_eq!(process.faults.sent(Operation::Begin), 2);
    assert_eq!(world.runs.total("action"), 1);
}

/// The reply of a begin is lost and its repeat comes late in the lease: the body is not polled until
/// a renewal has made two thirds of the lease sure again.
#[tokio::test(start_paused = true)]
async fn begin_reply_lost_and_repeated_late() {
    let world = World::new();
    let process = world.process();
    let lease = idem_tests::LEASE;
    process.faults.fail_after(Operation::Begin, 1);
    // The repeat waits for longer than a third of the lease.
    process.faults.delay(Operation::Begin, lease / 2, 1);
    let outcome = process.idem.call("op").key("k").run(|handle| async move {
        Ok::<_, Error>(u64::try_from(handle.time_left().as_millis()).unwrap())
    });
    let outcome = outcome.await.unwrap();
    assert!(
        outcome.value >= 2 * 1_000 / 3,
        "only {} ms were left at the first poll",
        outcome.value
    );
    assert_eq!(process.faults.sent(Operation::Renew), 1);
}

/// The reply of a completion is cut off: the outcome is stored once, the caller gets its value.
#[tokio::test(start_paused = true)]
async fn complete_reply_lost() {
    let world = World::new();
    let process = world.process();
    process.faults.fail_after(Operation::Complete, 1);
    let call = || {
        let runs = world.runs.clone();
        process.idem.call("op").key("k").run(move |_| async move {
            let _run = runs.start("action");
            Ok::<_, Error>(1_u64)
        })
    };
    let outcome = call().await.unwrap();
    assert!(outcome.stored && !outcome.lapsed);
    assert_eq!(process.faults.sent(Operation::Complete), 2);
    assert_eq!(call().await.unwrap().source, Source::Replayed);
    assert_eq!(world.runs.total("action"), 1);
}
