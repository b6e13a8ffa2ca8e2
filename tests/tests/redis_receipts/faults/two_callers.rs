//! Two callers find the same dead run, and one of them stands still at each of its commands in turn: one
//! new run starts, whoever is slower.

use std::time::Duration;

use idem_tests::{Aim, Fault, Trap, eventually};
use tokio::time::sleep;

use super::{Rig, dispatch, everywhere};
use crate::kit::Queue;

/// Nothing lapses within a test.
const LONG: Duration = Duration::from_secs(60);

/// The slow one stands still at its n-th command until the fast one is done, or waits for it; says whether
/// there was one.
async fn one_new_run(nth: usize, hold: impl FnOnce(&Rig, Aim) -> Trap) -> bool {
    let (rig, queue) = (Rig::start(), Queue::default());
    let fast = rig.straight(LONG).await;
    let old = queue.take(dispatch(&fast.idem, LONG, Duration::from_millis(1))).await.unwrap();
    sleep(Duration::from_millis(5)).await;
    let slow = rig.process(LONG, LONG, LONG).await;
    let trap = hold(&rig, Aim::all().nth(nth));
    let mut one = std::pin::pin!(queue.take(dispatch(&slow.idem, LONG, LONG)));
    tokio::select! {
        () = trap.strikes() => {}
        one = &mut one => {
            assert!(!one.unwrap().is_replay());
            return false;
        }
    }
    let other = async {
        let waits = || rig.server.calls("ssubscribe") > 0;
        let mut other = std::pin::pin!(queue.take(dispatch(&fast.idem, LONG, LONG)));
        tokio::select! {
            other = &mut other => { trap.lift(); other }
            () = eventually("it waits", waits) => { trap.lift(); other.await }
        }
    };
    let (one, other) = tokio::join!(one, other);
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(queue.runs().len(), 2, "at {nth}");
    assert_ne!(one.id(), old.id(), "at {nth}");
    assert_eq!(one.id(), other.id(), "at {nth}");
    assert!(one.is_replay() != other.is_replay(), "at {nth}");
    true
}

async fn at_each(hold: fn(&Rig, Aim) -> Trap) {
    let places = everywhere(move |nth| one_new_run(nth, hold)).await;
    // Fewer would mean that something is not asked any more.
    assert!(places >= 9, "{places}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_a_request() {
    at_each(|rig, aim| rig.proxy.on_request(aim, Fault::Hold)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_a_reply() {
    at_each(|rig, aim| rig.proxy.on_reply(aim, Fault::Hold)).await;
}
