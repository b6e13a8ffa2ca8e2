//! Workers that die, stand still, and get the same run: processes.

use idem_runtime::{ErrorKind, RunId};
use idem_tests::LEASE;
use idem_tests::caller::Refused;
use idem_tests::runner::{Body, Dispatch, Given, Ran, Runner, Way};

use crate::kit::{HOLD, World, run_record, wait_until};

const EXPIRED: &str = "failed: lease expired: its worker has not been heard of";

fn dispatch() -> Dispatch {
    Dispatch::of("a").hold(HOLD)
}

fn not_started(status: &str) -> Ran {
    Ran::NotStarted(status.to_owned())
}

/// Killed, a worker leaves a run that may come back until its hold is over by the server's clock: until
/// then everybody gets its receipt, and afterwards a new run.
#[test]
fn a_worker_that_is_killed() {
    let world = World::start();
    let (mut dispatcher, mut worker) = (world.runner(), world.runner());
    let old = dispatcher.new_run(dispatch());
    worker.begin(old, 1);
    worker.kill();
    let moment = world.hold_ends(old);
    let new = world.new_run_at(moment, &mut dispatcher, &dispatch(), old);
    assert_eq!(dispatcher.look(old), (EXPIRED.to_owned(), None));
    // The queue hands it out again, as queues do with what died.
    let mut worker = world.runner();
    assert_eq!(worker.work(old, 1), not_started(EXPIRED));
    assert_eq!(worker.work(new, 2), Ran::Ended(2));
    assert_eq!(dispatcher.receipt(dispatch()), Given { run: new, replay: true });
    assert_eq!(dispatcher.look(new), ("succeeded".to_owned(), Some(2)));
    assert_eq!(
        world.effects(),
        [format!("{old} began"), format!("{new} began"), format!("{new} ended")]
    );
}

/// The same with the process that dispatched and runs.
#[test]
fn a_process_that_is_killed_with_what_it_spawned() {
    let world = World::start();
    let (mut spawner, mut other) = (world.runner(), world.runner());
    let old = spawner.receipt(dispatch().way(Way::Spawn(Body::held(1)))).run;
    spawner.began(old);
    spawner.kill();
    let moment = world.hold_ends(old);
    let new = world.new_run_at(moment, &mut other, &dispatch(), old);
    assert_eq!(other.work(new, 2), Ran::Ended(2));
    assert_eq!((world.begun(old), world.begun(new)), (1, 1));
}

/// A worker that stands still past its hold, and what has become of its run since. Another run has
/// succeeded meanwhile.
fn overtaken(world: &World) -> (Runner, Runner, RunId) {
    let (mut dispatcher, mut worker) = (world.runner(), world.runner());
    let old = dispatcher.new_run(dispatch());
    worker.begin(old, 1);
    worker.pause();
    let new = world.new_run_at(world.hold_ends(old), &mut dispatcher, &dispatch(), old);
    assert_eq!(dispatcher.work(new, 2), Ran::Ended(2));
    (worker, dispatcher, old)
}

fn assert_finds_itself_ended(ran: &Result<Ran, Refused>) {
    let refused = ran.as_ref().unwrap_err();
    assert_eq!(refused.kind, format!("{:?}", ErrorKind::LeaseLost), "{}", refused.message);
    assert!(refused.message.contains(EXPIRED), "{}", refused.message);
}

/// When it goes on it finds its run ended, and stores nothing.
#[test]
fn a_worker_that_is_stopped_past_the_hold() {
    let world = World::start();
    let (mut worker, mut dispatcher, old) = overtaken(&world);
    let stands = world.stands(&run_record(old));
    worker.finish(&old);
    worker.resume();
    assert_finds_itself_ended(&worker.worked(old));
    assert_eq!(world.stands(&run_record(old)), stands, "what stands is its failure");
    let given = dispatcher.receipt(dispatch());
    assert_eq!(dispatcher.look(given.run), ("succeeded".to_owned(), Some(2)));
    assert_eq!(world.begun(old), 1);
}

/// The same, and it hears of it before its body ends: from its next renewal.
#[test]
fn a_worker_that_is_stopped_past_the_hold_and_hears_of_it_first() {
    let world = World::start();
    let (mut worker, _, old) = overtaken(&world);
    let stands = world.stands(&run_record(old));
    worker.resume();
    worker.lost(old);
    worker.event("lease_lost");
    assert!(!worker.has_worked(old), "its body goes on");
    worker.finish(&old);
    assert_finds_itself_ended(&worker.worked(old));
    assert_eq!(world.stands(&run_record(old)), stands);
}

/// A worker that stands still for longer than its lease, and goes on inside the hold: its result counts.
#[test]
fn a_worker_that_is_stopped_inside_the_hold() {
    let world = World::start();
    let (mut dispatcher, mut worker) = (world.runner(), world.runner());
    let run = dispatcher.new_run(Dispatch::of("a"));
    worker.begin(run, 1);
    worker.pause();
    wait_until("it has lapsed", || {
        let (status, result) = dispatcher.look(run);
        assert_eq!(result, None);
        status.starts_with("not heard of")
    });
    assert_eq!(dispatcher.receipt(Dispatch::of("a")), Given { run, replay: true });
    worker.finish(&run);
    worker.resume();
    assert_eq!(worker.worked(run), Ok(Ran::Ended(1)));
    assert_eq!(dispatcher.look(run), ("succeeded".to_owned(), Some(1)));
    assert_eq!(dispatcher.receipt(Dispatch::of("a")), Given { run, replay: true });
    assert!(!dispatcher.has_queued("a"));
}

/// Two processes that are handed the same run at once: one starts it, whoever that is.
#[test]
fn two_workers_of_one_run() {
    const RUNS: u64 = 40;
    let world = World::start();
    let mut dispatcher = world.runner();
    let mut workers = [world.runner(), world.runner()];
    for nth in 0..RUNS {
        let run = dispatcher.new_run(Dispatch::of(&format!("key {nth}")));
        for worker in &mut workers {
            worker.attach(run, Body::of(nth));
        }
        let ran = workers.each_mut().map(|worker| worker.worked(run).unwrap());
        let started = ran.iter().filter(|ran| **ran == Ran::Ended(nth)).count();
        assert_eq!((started, world.begun(run)), (1, 1), "{ran:?}");
        // And once more, as queues do.
        assert_eq!(workers[0].work(run, 99), not_started("succeeded"));
        assert_eq!(dispatcher.look(run), ("succeeded".to_owned(), Some(nth)));
    }
}

/// Two processes that find the same dead run at once: one starts a new one, the other gets its receipt.
#[test]
fn two_callers_of_one_dead_run() {
    const GENERATIONS: usize = 40;
    let world = World::start();
    let mut callers = [world.runner(), world.runner()];
    let mut dead = callers[0].new_run(dispatch());
    for _ in 0..GENERATIONS {
        callers[0].cancel(dead);
        for caller in &mut callers {
            caller.dispatch(dispatch());
        }
        let [one, other] = callers.each_mut().map(|caller| caller.given("a").unwrap());
        assert_eq!(one.run, other.run);
        assert_ne!(one.run, dead);
        assert!(one.replay != other.replay);
        let queued = callers.each_mut().map(|caller| caller.has_queued("a"));
        assert_eq!(queued, [!one.replay, !other.replay]);
        dead = one.run;
        callers[usize::from(one.replay)].queued("a");
    }
}

/// A worker that lives keeps its run for many leases, and another one that is handed it is told so.
#[test]
fn a_run_that_another_process_has() {
    let world = World::start();
    let (mut dispatcher, mut worker) = (world.runner(), world.runner());
    let run = dispatcher.new_run(dispatch().hold(LEASE / 10));
    worker.begin(run, 1);
    for _ in 0..12 {
        worker.event("renewed");
        assert_eq!(dispatcher.work(run, 2), not_started("running, attempt 1"));
        assert_eq!(dispatcher.receipt(dispatch()), Given { run, replay: true });
    }
    worker.finish(&run);
    assert_eq!(worker.worked(run), Ok(Ran::Ended(1)));
    assert_eq!(world.begun(run), 1);
}
