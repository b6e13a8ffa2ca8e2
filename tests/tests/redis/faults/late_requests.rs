//! Commands that reach the server long after they were sent, and after whoever sent them gave up: a
//! stale owner changes nothing while another one's record stands.

use std::cell::RefCell;
use std::time::Duration;

use idem_runtime::testing::Runs;
use idem_runtime::{ErrorKind, OnDuplicate, Source};
use idem_tests::{Aim, Fault, LEASE, TTL, Trap, eventually};

use super::{COMPLETE, LONG_LEASE, RELEASE, RENEW, Rig, begin_of, record_name, script_on};
use crate::kit::{LONG, Process, connect, process_with};

/// A process by way of the proxy with leases of a second, and one beside it with long ones.
async fn stale_and_other(rig: &Rig) -> (Process, Process) {
    let backend = rig.connect_with(|builder| builder).await;
    let stale = process_with(backend, |builder| builder.store_timeout(Duration::from_secs(1)));
    let other = process_with(connect(&rig.server).await, |builder| builder.lease(LONG));
    (stale, other)
}

/// What is left of the record's life, in milliseconds.
fn left(rig: &Rig) -> u64 {
    rig.server.ask(&["PTTL", &record_name("a")])
}

/// Lets go on what is held; the server has carried it out when this returns.
async fn all_arrive(rig: &Rig, held: &Trap, aim: &Aim) {
    assert!(held.struck() > 0);
    held.lift();
    let answered = || rig.proxy.answered(aim) == rig.proxy.came(aim);
    eventually("what was held has been carried out", answered).await;
}

/// Renewals arrive after their lease has ended and another owner has the key.
#[tokio::test]
async fn a_lapsed_lease_is_not_revived() {
    let rig = Rig::start();
    let (stale, other) = stale_and_other(&rig).await;
    let renewals = script_on(RENEW, "a");
    let held = rig.proxy.on_request(renewals.clone(), Fault::Hold);
    let runs = Runs::new();
    let second = RefCell::new(None);
    let first = stale.call_until("a", 1, async {
        let during = async {
            let _run = runs.start("other");
            all_arrive(&rig, &held, &renewals).await;
            // Thirty seconds for a busy machine; a renewal would leave one.
            assert!(left(&rig) > 30_000, "{}", left(&rig));
        };
        *second.borrow_mut() = Some(other.call_until("a", 2, during).await);
        eventually("it is told", || stale.events.has("lease_lost")).await;
    });
    assert_eq!(first.await.unwrap_err().kind(), ErrorKind::LeaseLost);
    let second = second.into_inner().unwrap().unwrap();
    assert_eq!((second.value, second.source), (2, Source::Fresh));
    assert!(second.stored && !second.lapsed);
    assert!(stale.events.has("lease_at_risk"));
    assert_eq!(runs.total("other"), 1);
    assert_eq!(stale.call("a", 3).await.unwrap().value, 2);
}

/// A completion arrives while another owner runs: that one's reservation stands, and its outcome after
/// it.
#[tokio::test]
async fn a_completion_beside_another_owner() {
    let rig = Rig::start();
    let (stale, other) = stale_and_other(&rig).await;
    let commands = script_on(COMPLETE, "a");
    let held = rig.proxy.on_request(commands.clone(), Fault::Hold);
    // So that it does not keep its key for the completion that it has deferred.
    let renewals = rig.proxy.on_request(script_on(RENEW, "a"), Fault::Hold);
    let first = stale.call("a", 1).await.unwrap();
    assert_eq!((first.value, first.stored), (1, false));
    let second = other.call_until("a", 2, async {
        all_arrive(&rig, &held, &commands).await;
        assert!(left(&rig) > 30_000, "{}", left(&rig));
        rig.proxy.heal();
        eventually("it is told", || stale.events.has("completion_refused")).await;
    });
    let second = second.await.unwrap();
    assert_eq!((second.value, second.source, second.stored), (2, Source::Fresh, true));
    assert!(!stale.events.has("deferred_stored") && renewals.struck() > 0);
    assert_eq!(stale.call("a", 3).await.unwrap().value, 2);
}

/// A completion arrives where nothing stands any more, and its owner has ended: it stores nothing.
#[tokio::test]
async fn a_completion_in_the_void() {
    let rig = Rig::start();
    let (stale, _other) = stale_and_other(&rig).await;
    let commands = script_on(COMPLETE, "a");
    let held = rig.proxy.on_request(commands.clone(), Fault::Hold);
    assert!(!stale.call("a", 1).await.unwrap().stored);
    // Its process ends, and its key with its lease.
    let report = stale.idem.shutdown(Duration::ZERO).await;
    assert!(!report.is_clean());
    drop(stale);
    let is_gone = || !rig.server.ask::<bool>(&["EXISTS", &record_name("a")]);
    eventually("its lease has ended", is_gone).await;
    all_arrive(&rig, &held, &commands).await;
    assert!(is_gone(), "an outcome was stored that nobody holds");
}

/// A release arrives while another owner runs.
#[tokio::test]
async fn a_release_beside_another_owner() {
    let rig = Rig::start();
    let (stale, other) = stale_and_other(&rig).await;
    let commands = script_on(RELEASE, "a");
    let held = rig.proxy.on_request(commands.clone(), Fault::Hold);
    let fails = |_| async { Err::<u64, _>(idem_runtime::Error::of_kind(ErrorKind::NotKept, "x")) };
    let failed = stale.idem.call("charge").key("a").run(fails).await.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::NotKept);
    let second = other.call_until("a", 2, async {
        all_arrive(&rig, &held, &commands).await;
        assert!(left(&rig) > 30_000, "{}", left(&rig));
    });
    let second = second.await.unwrap();
    assert_eq!((second.value, second.source), (2, Source::Fresh));
    assert!(second.stored && !second.lapsed);
}

/// A begin arrives after its call has been given up, and after the release that was to undo it: it
/// blocks its key for one lease and not longer.
#[tokio::test]
async fn a_begin_that_was_given_up() {
    let rig = Rig::start();
    let (stale, other) = stale_and_other(&rig).await;
    let held = rig.proxy.on_request(begin_of("a"), Fault::Hold);
    let error = stale.call("a", 1).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Backend, true));
    let released = || rig.proxy.answered(&script_on(RELEASE, "a")) > 0;
    eventually("the keeper has released it", released).await;
    all_arrive(&rig, &held, &begin_of("a")).await;
    eventually("it stands", || rig.server.ask(&["EXISTS", &record_name("a")])).await;
    assert!(left(&rig) <= LEASE.as_millis() as u64);
    // Twenty leases for a busy machine.
    let call = other.idem.call("charge").key("a").on_duplicate(OnDuplicate::WaitFor(LEASE * 20));
    let second = call.run(|_| async { Ok::<_, idem_runtime::Error>(2_u64) }).await.unwrap();
    assert_eq!((second.value, second.source), (2, Source::Fresh));
    assert!(!stale.events.has("executed"));
}

/// A begin after *gone* arrives late, when the action has ended: nothing is left to end it but its
/// lease, so the end of the attempt waits for it.
#[tokio::test]
async fn a_begin_after_gone_holds_up_the_end() {
    let rig = Rig::start();
    let process = process_with(rig.connect().await, |builder| builder.lease(LONG_LEASE));
    let held = RefCell::new(None);
    let outcome = process.call_until("a", 1, async {
        let trap = rig.proxy.on_request(begin_of("a"), Fault::Hold);
        let _: u64 = rig.server.ask(&["DEL", &record_name("a")]);
        trap.strikes().await;
        *held.borrow_mut() = Some(trap);
    });
    let (outcome, ()) = tokio::join!(outcome, async {
        eventually("it is held", || held.borrow().is_some()).await;
        // The action ends now, and a completion would take a millisecond to come.
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(rig.proxy.came(&script_on(COMPLETE, "a")), 0);
        held.take().unwrap().lift();
    });
    let outcome = outcome.unwrap();
    assert!(outcome.lapsed);
    if !outcome.stored {
        eventually("the keeper has stored it", || process.events.has("deferred_stored")).await;
    }
    let again = process.call("a", 2).await.unwrap();
    assert_eq!((again.value, again.source), (1, Source::Replayed));
    assert!(rig.server.ask::<u64>(&["PTTL", &record_name("a")]) > TTL.as_millis() as u64 / 2);
}
