//! Dispatchers that die or stand still between the queue and their own completion: processes.

use idem_runtime::RunId;
use idem_tests::runner::{Body, Dispatch, Given, Ran, Runner, Way};

use crate::kit::{World, receipt_record, wait_until};

fn dispatch() -> Dispatch {
    Dispatch::of("a")
}

/// A dispatcher whose queue has its run, and has not answered yet; and another process.
fn between(world: &World) -> (Runner, Runner, RunId) {
    let (mut dispatcher, other) = (world.runner(), world.runner());
    dispatcher.dispatch(dispatch().way(Way::SlowQueue));
    let run = dispatcher.queued("a");
    (dispatcher, other, run)
}

fn wait_until_its_lease_has_ended(world: &World) {
    wait_until("the dispatch's lease has ended", || !world.has(&receipt_record("a")));
}

/// Its worker comes at once, and completes the dispatch.
#[test]
fn a_dispatcher_that_is_killed_before_its_receipt_is_stored() {
    let world = World::start();
    let (mut dispatcher, mut worker, run) = between(&world);
    dispatcher.kill();
    worker.begin(run, 1);
    // The receipt is there as soon as the run runs.
    assert_eq!(worker.receipt(dispatch()), Given { run, replay: true });
    worker.finish(&run);
    assert_eq!(worker.worked(run), Ok(Ran::Ended(1)));
    assert_eq!(worker.receipt(dispatch()), Given { run, replay: true });
    assert_eq!(worker.look(run), ("succeeded".to_owned(), Some(1)));
    assert!(!worker.has_queued("a"));
    assert_eq!(world.effects(), [format!("{run} began"), format!("{run} ended")]);
}

/// Its worker comes only when the dispatch's lease has ended, and dispatches anew for it.
#[test]
fn a_dispatcher_that_was_killed_long_ago() {
    let world = World::start();
    let (mut dispatcher, mut worker, run) = between(&world);
    dispatcher.kill();
    wait_until_its_lease_has_ended(&world);
    assert_eq!(worker.work(run, 1), Ran::Ended(1));
    assert_eq!(worker.receipt(dispatch()), Given { run, replay: true });
    assert!(!worker.has_queued("a"));
}

/// The same call comes first, and has a run of its own: the killed one's is skipped.
#[test]
fn a_dispatcher_that_was_killed_and_whose_call_was_repeated() {
    let world = World::start();
    let (mut dispatcher, mut other, old) = between(&world);
    dispatcher.kill();
    // Waits for the dead dispatcher's lease to end.
    let new = other.new_run(dispatch());
    assert_ne!(new, old);
    let skipped = Ran::NotStarted("skipped: another run had its place".to_owned());
    assert_eq!(other.work(old, 1), skipped);
    assert_eq!(other.work(new, 2), Ran::Ended(2));
    assert_eq!(other.work(old, 1), skipped);
    assert_eq!(other.receipt(dispatch()), Given { run: new, replay: true });
    assert_eq!((world.begun(old), world.begun(new)), (0, 1));
}

/// It is only slow: its worker is done before it goes on, and it gets its own receipt.
#[test]
fn a_dispatcher_that_is_stopped_while_its_worker_works() {
    let world = World::start();
    let (mut dispatcher, mut worker, run) = between(&world);
    dispatcher.pause();
    wait_until_its_lease_has_ended(&world);
    assert_eq!(worker.work(run, 1), Ran::Ended(1));
    let stands = world.stands(&receipt_record("a"));
    dispatcher.finish(&"a");
    dispatcher.resume();
    assert_eq!(dispatcher.given("a").unwrap().run, run);
    assert_eq!(world.stands(&receipt_record("a")), stands, "it is stored once");
    assert_eq!(worker.receipt(dispatch()), Given { run, replay: true });
}

/// It is slow, and the same call has a run of its own by then: it gets that one's receipt.
#[test]
fn a_dispatcher_that_is_stopped_while_its_call_is_repeated() {
    let world = World::start();
    let (mut dispatcher, mut other, old) = between(&world);
    dispatcher.pause();
    let new = other.new_run(dispatch());
    assert_eq!(other.work(new, 2), Ran::Ended(2));
    let stands = world.stands(&receipt_record("a"));
    dispatcher.finish(&"a");
    dispatcher.resume();
    assert_eq!(dispatcher.given("a"), Ok(Given { run: new, replay: true }));
    assert_eq!(world.stands(&receipt_record("a")), stands);
    other.attach(old, Body::of(1));
    assert!(matches!(other.worked(old), Ok(Ran::NotStarted(_))));
    assert_eq!((world.begun(old), world.begun(new)), (0, 1));
}
