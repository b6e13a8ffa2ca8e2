//! Owners that die, stand still, and look alike: processes.

use std::thread::sleep;
use std::time::{Duration, Instant};

use idem_runtime::ErrorKind;
use idem_tests::LEASE;
use idem_tests::caller::{Call, Caller, Done, Ends, OnDuplicate};

use crate::kit::{LONG, World, assert_refused, caller, wait_until};

/// An outcome that this call's own action gave.
fn fresh(value: u64) -> Done {
    Done { value, source: "Fresh".to_owned(), attempt: 1, stored: true, lapsed: false }
}

fn replayed(value: u64) -> Done {
    Done { source: "Replayed".to_owned(), ..fresh(value) }
}

/// A is killed: every retry before its lease has ended by the server's clock is refused, the first
/// one after it runs, the next replays.
///
/// A retry that the end of the lease falls into may be either, so a slow machine moves no bound. The
/// lease leaves it time for two refusals.
#[test]
fn killed_owner() {
    const LEASE: Duration = Duration::from_secs(3);
    let world = World::start();
    let settings = world.settings().lease(LEASE).on_duplicate(OnDuplicate::Reject);
    let (mut a, mut b) = (caller(&settings), caller(&settings));
    a.begin(Call::of("a", 1).ends(Ends::WhenTold));
    a.kill();
    let ends = world.expires_at("a").unwrap();
    assert!(ends <= world.now() + i64::try_from(LEASE.as_millis()).unwrap());
    let mut refusals = 0;
    let answer = loop {
        let asked = world.now();
        match b.answer_to(Call::of("a", 2)) {
            Ok(done) => break done,
            refused => {
                assert_refused(&refused, ErrorKind::InProgress);
                assert!(asked <= ends, "refused {} ms after the lease ended", asked - ends);
                refusals += 1;
            }
        }
        sleep(Duration::from_millis(20));
    };
    assert!(world.now() >= ends, "it ran while the dead owner's lease stood");
    assert!(refusals >= 2, "{refusals} refusals");
    assert_eq!(answer, fresh(2));
    assert_eq!(b.answer_to(Call::of("a", 3)), Ok(replayed(2)));
    assert_eq!(caller(&settings).answer_to(Call::of("a", 4)), Ok(replayed(2)));
    assert_eq!(world.ledger.effects(), ["a 2"]);
}

/// A, which still stands still after two leases, and what B has left of its key since.
fn overtaken(world: &World) -> (Caller, (Option<Vec<u8>>, Option<i64>)) {
    let settings = world.settings().on_duplicate(OnDuplicate::WaitFor(LONG));
    let (mut a, mut b) = (caller(&settings), caller(&settings));
    a.begin(Call::of("a", 1).ends(Ends::WhenTold));
    a.pause();
    let paused = Instant::now();
    assert_eq!(b.answer_to(Call::of("a", 2)), Ok(fresh(2)));
    let stands = world.stands("a");
    sleep((LEASE * 2).saturating_sub(paused.elapsed()));
    (a, stands)
}

/// A's whole process stands still for two leases, in which B runs and completes. When A goes on, its
/// completion is refused: it was told to finish before it could see that its key is lost.
#[test]
fn paused_process() {
    let world = World::start();
    let (mut a, stands) = overtaken(&world);
    a.finish("a");
    a.resume();
    assert_refused(&a.answer("a"), ErrorKind::LeaseLost);
    assert_eq!(world.stands("a"), stands, "what stands is B's, as B left it");
    assert_eq!(world.ledger.effects(), ["a 2", "a 1"], "by default it runs to its end");
    assert_eq!(a.answer_to(Call::of("a", 3)), Ok(replayed(2)));
}

/// The same, and A hears of its loss before it ends: from the keeper, whose next renewal is refused.
#[test]
fn paused_process_that_hears_of_its_loss_first() {
    let world = World::start();
    let (mut a, stands) = overtaken(&world);
    a.resume();
    a.event("lease_lost");
    assert!(!a.is_answered("a"), "its action goes on");
    a.finish("a");
    assert_refused(&a.answer("a"), ErrorKind::LeaseLost);
    assert_eq!(world.stands("a"), stands);
    assert_eq!(world.ledger.effects(), ["a 2", "a 1"]);
}

/// Two processes of one host and configuration are different owners: when A dies, B goes on renewing
/// what is its own, and nobody renews what was A's.
#[test]
fn owner_is_unique() {
    let world = World::start();
    let settings = world.settings().lease(LEASE * 2);
    let (mut a, mut b) = (caller(&settings), caller(&settings));
    a.begin(Call::of("a", 1).ends(Ends::WhenTold));
    b.begin(Call::of("b", 1).ends(Ends::WhenTold));
    assert_ne!(world.owner("a"), world.owner("b"));
    a.kill();
    let (ends, renewed) = (world.expires_at("a").unwrap(), world.expires_at("b"));
    wait_until("A's reservation ends", || {
        world.expires_at("a").inspect(|at| assert_eq!(*at, ends, "somebody renewed it")).is_none()
    });
    assert!(world.expires_at("b") > renewed, "B was not renewed meanwhile");
    assert_eq!(b.answer_to(Call::of("a", 2)), Ok(fresh(2)));
    b.finish("b");
    assert_eq!(b.answer("b"), Ok(fresh(1)));
    assert_eq!(world.ledger.effects(), ["a 2", "b 1"]);
}
