//! Leases that are renewed, lapse, and are lost.

use std::time::Duration;

use idem_runtime::backend::{Backend, Renewal};
use idem_runtime::protocol::transition::{
    BeginReply, CompleteReply, DiscardReply, FenceReply, ReleaseReply, RenewReply, ReplaceReply,
};
use idem_runtime::record::Owner;
use idem_runtime::testing::Operation;
use idem_runtime::{ErrorKind, LEASE_RANGE, OnDuplicate, Source};
use idem_tests::caller::{Call, Ends, Runtime};
use idem_tests::{LEASE, TTL, eventually};
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::kit::{
    LONG, World, assert_refused, call, call_until, caller, outcome, record_key, reservation,
};

/// A renewal on its way when the outcome is stored changes neither its state nor its expiry.
///
/// The keeper gives a renewal an eighth of the lease, here 750 ms: in that the completion has to be
/// answered, which takes a millisecond or two.
#[tokio::test]
async fn renewal_meets_completion() {
    let world = World::start();
    let process = world.process_with(|builder| builder.lease(LEASE * 6)).await;
    let mut gate = process.faults.hold_before(Operation::Renew);
    let (held, opened) = oneshot::channel();
    let outcome = call_until(&process.idem, "a", 7, async {
        gate.arrived().await;
        let _ = held.send(gate);
    });
    let outcome = outcome.await.unwrap();
    assert!(outcome.stored && !outcome.lapsed);
    let (stands, scripts) = (world.stands("a"), world.server.calls("evalsha"));
    opened.await.unwrap().open();
    eventually("the renewal arrives", || world.server.calls("evalsha") > scripts).await;
    assert_eq!(world.stands("a"), stands);
    // Absolute times: that they are the same now says that they are after three leases as well,
    // unless renewals go on; those would come twice in half a lease.
    let sent = process.faults.sent(Operation::Renew);
    sleep(LEASE * 3).await;
    assert_eq!(process.faults.sent(Operation::Renew), sent);
    assert_eq!(world.stands("a"), stands);
    assert!(!process.events.has("lease_lost") && !process.events.has("renewal_failed"));
}

/// "Stop renewing" that comes before "start": what ended at once is not renewed afterwards.
#[tokio::test]
async fn renewal_meets_completion_at_once() {
    let world = World::start();
    let process = world.process().await;
    call(&process.idem, "a", 1).await.unwrap();
    let (stands, sent) = (world.stands("a"), process.faults.sent(Operation::Renew));
    sleep(LEASE * 3).await;
    assert_eq!(world.stands("a"), stands);
    assert_eq!(process.faults.sent(Operation::Renew), sent);
}

/// A's reservation has lapsed and is remembered; gives A.
async fn lapsed(world: &World, key: &str) -> Owner {
    let owner = Owner::fresh();
    let remembered = reservation(owner).remembered_for(TTL);
    let (shortest, _) = LEASE_RANGE;
    let begun = world.backend().await.begin(&record_key(key), &remembered, shortest).await;
    assert_eq!(begun.unwrap(), BeginReply::Acquired);
    let ends = world.expires_at(key).unwrap() - i64::try_from(TTL.as_millis()).unwrap();
    eventually("A's reservation lapses", || world.now() > ends).await;
    owner
}

/// Takeover is a compare-and-set on what was read: after A completed, B gets A's outcome.
#[tokio::test]
async fn takeover_from_a_stale_read() {
    let world = World::start();
    let a = lapsed(&world, "a").await;
    let b = world.process_with(|builder| builder.store_timeout(LONG)).await;
    let mut gate = b.faults.hold_before(Operation::Replace);
    let stale = async { call(&b.idem, "a", 2).await.unwrap_err() };
    let meanwhile = async {
        gate.arrived().await;
        let stored = world.backend().await.complete(&record_key("a"), &outcome(a), TTL).await;
        assert_eq!(stored.unwrap(), CompleteReply::Stored);
        let stands = world.stands("a");
        gate.open();
        stands
    };
    let (stale, stands) = tokio::join!(stale, meanwhile);
    // The planted outcome has no value: B proves that it found A's, and did not run.
    assert_eq!(stale.kind(), ErrorKind::Unreadable);
    assert!(!b.events.has("taken_over"));
    assert_eq!(world.stands("a"), stands);
}

/// The same, with C taking over in between: B finds C's reservation and waits for C's outcome.
#[tokio::test]
async fn takeover_from_a_stale_read_with_another_taking_over_in_between() {
    let world = World::start();
    lapsed(&world, "a").await;
    let patient = |builder: idem_runtime::Builder| {
        builder.lease(LONG).store_timeout(LONG).on_duplicate(OnDuplicate::WaitFor(LONG))
    };
    let (b, c) = (world.process_with(patient).await, world.process_with(patient).await);
    let mut gate = b.faults.hold_before(Operation::Replace);
    let stale = async { call(&b.idem, "a", 2).await.unwrap() };
    let successor = async {
        gate.arrived().await;
        let until = async {
            gate.open();
            // B's replace has been refused when it reads what stands.
            let read = b.faults.sent(Operation::Peek);
            eventually("B looks again", || b.faults.sent(Operation::Peek) > read).await;
        };
        call_until(&c.idem, "a", 3, until).await.unwrap()
    };
    let (stale, successor) = tokio::join!(stale, successor);
    assert_eq!((successor.value, successor.source, successor.attempt), (3, Source::Fresh, 2));
    assert_eq!((stale.value, stale.source), (3, Source::Waited));
    assert!(c.events.has("taken_over") && !b.events.has("taken_over"));
}

/// A body that blocks the only thread of its runtime for more than three leases keeps its key.
///
/// Renewals come every 375 ms and the lease deadline 1.35 s after the last: the machine may stall
/// for most of a second.
#[test]
fn blocked_executor() {
    let world = World::start();
    let settings = world.settings().lease(LEASE * 3 / 2);
    let mut a = caller(&settings.clone().runtime(Runtime::CurrentThread));
    let mut b = caller(&settings.on_duplicate(idem_tests::caller::OnDuplicate::Reject));
    let start = std::time::Instant::now();
    a.begin(Call::of("a", 1).ends(Ends::WhenToldBlocking));
    while start.elapsed() < LEASE * 5 {
        assert_refused(&b.answer_to(Call::of("a", 2)), ErrorKind::InProgress);
        std::thread::sleep(Duration::from_millis(50));
    }
    a.finish("a");
    let outcome = a.answer("a").unwrap();
    assert!(outcome.value == 1 && outcome.stored && !outcome.lapsed, "{outcome:?}");
    a.event("blocked_poll");
    assert_eq!(world.ledger.effects(), ["a 1"]);
}

/// A renewal that fails is made up for; the next reservation of the key is renewed as well.
///
/// Renewals come every 750 ms and have 375 ms. The server stands still from after the first until the
/// second has failed; from then to the lease deadline it is a second and a half.
#[tokio::test]
async fn one_failed_renewal() {
    let world = World::start();
    let process = world.process_with(|builder| builder.lease(LEASE * 3)).await;
    let renewed = |more: usize| {
        let (events, now) = (process.events.clone(), process.events.count("renewed"));
        async move { eventually("it is renewed", || events.count("renewed") >= now + more).await }
    };
    let first = process.idem.call(idem_tests::caller::OPERATION).key("a").run(|_| async {
        renewed(1).await;
        world.server.pause();
        eventually("one fails", || process.events.has("renewal_failed")).await;
        world.server.resume();
        // Four more: without them the lease would have ended.
        renewed(4).await;
        Err::<u64, _>(idem_runtime::Error::of_kind(ErrorKind::NotInstalled, "its own error"))
    });
    assert_eq!(first.await.unwrap_err().kind(), ErrorKind::NotInstalled);
    let second = call_until(&process.idem, "a", 2, renewed(5)).await.unwrap();
    assert!(second.source == Source::Fresh && second.stored && !second.lapsed);
    assert!(!process.events.has("lease_at_risk") && !process.events.has("lease_gone"));
}

/// A renewal, or any other command, that arrives after its lease ended and B took the key, changes
/// nothing of B's; neither while B runs, nor when B has completed.
#[tokio::test]
async fn lapsed_lease_is_not_revived() {
    let world = World::start();
    let (backend, key) = (world.backend().await, record_key("a"));
    let (stale, b) = (Owner::fresh(), Owner::fresh());
    let (shortest, _) = LEASE_RANGE;
    backend.begin(&key, &reservation(stale), shortest).await.unwrap();
    eventually("its lease ends", || world.expires_at("a").is_none()).await;
    assert_eq!(backend.begin(&key, &reservation(b), LONG).await.unwrap(), BeginReply::Acquired);
    for (b_completed, told) in [(false, RenewReply::Taken), (true, RenewReply::Completed)] {
        if b_completed {
            backend.complete(&key, &outcome(b), TTL).await.unwrap();
        }
        let stands = world.stands("a");
        let renewal =
            Renewal { key: key.clone(), owner: stale, lease: TTL, retention: Duration::ZERO };
        let renewed = backend.renew(&[renewal]).await.remove(0).unwrap();
        assert_eq!(renewed, told);
        let completed = backend.complete(&key, &outcome(stale), TTL).await.unwrap();
        assert!(matches!(completed, CompleteReply::Refused(_)));
        let released = backend.release(&key, stale).await.unwrap();
        assert_eq!(released, ReleaseReply::NotMine);
        let seen = reservation(stale).head();
        let replaced = backend.replace(&key, seen, &outcome(stale), TTL, None).await.unwrap();
        assert!(matches!(replaced, ReplaceReply::Stands(Some(_))));
        let discarded = backend.discard(&key, stale).await.unwrap();
        assert_eq!(discarded, DiscardReply::NotThere);
        assert_eq!(backend.fence(&key, stale).await.unwrap(), FenceReply::Refused);
        assert_eq!(world.stands("a"), stands);
    }
}
