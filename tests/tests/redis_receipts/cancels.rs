//! Cancelling a run of another process: before it starts, while it runs, after it has ended.

use std::time::{Duration, Instant};

use idem_runtime::ErrorKind;
use idem_tests::runner::{Dispatch, Given, Ran};

use crate::kit::{World, run_record};

/// A renewal comes every second.
const LEASE: Duration = Duration::from_secs(4);
/// What a busy machine may take on top.
const MARGIN: Duration = Duration::from_secs(1);

fn dispatch() -> Dispatch {
    Dispatch::of("a")
}

#[test]
fn a_run_that_has_not_started() {
    let world = World::start();
    let (mut dispatcher, mut worker) = (world.runner(), world.runner());
    let old = dispatcher.new_run(dispatch());
    assert_eq!(worker.cancel(old), "cancelled");
    assert_eq!(worker.work(old, 1), Ran::NotStarted("cancelled".to_owned()));
    let new = dispatcher.new_run(dispatch());
    assert_eq!(worker.work(new, 2), Ran::Ended(2));
    assert_eq!((world.begun(old), world.begun(new)), (0, 1));
}

/// The worker hears of it by its next renewal, and stores nothing. The same call has a new run at once.
#[test]
fn a_run_that_runs() {
    let world = World::start();
    let (mut dispatcher, mut worker) = (world.runner_with(LEASE), world.runner_with(LEASE));
    let old = dispatcher.new_run(dispatch());
    worker.begin(old, 1);
    worker.event("renewed");
    assert_eq!(dispatcher.cancel(old), "cancelled");
    let cancelled = Instant::now();
    worker.lost(old);
    let told = cancelled.elapsed();
    assert!(told <= LEASE / 4 + MARGIN, "told only after {told:?}");
    let stands = world.stands(&run_record(old));
    let new = dispatcher.new_run(dispatch());
    worker.finish(&old);
    let refused = worker.worked(old).unwrap_err();
    assert_eq!(refused.kind, format!("{:?}", ErrorKind::LeaseLost));
    assert!(refused.message.contains("cancelled"), "{}", refused.message);
    assert_eq!(world.stands(&run_record(old)), stands);
    assert_eq!(dispatcher.look(old), ("cancelled".to_owned(), None));
    assert_eq!(worker.work(new, 2), Ran::Ended(2));
}

#[test]
fn a_run_that_has_ended() {
    let world = World::start();
    let (mut dispatcher, mut worker) = (world.runner(), world.runner());
    let run = dispatcher.new_run(dispatch());
    assert_eq!(worker.work(run, 1), Ran::Ended(1));
    let stands = world.stands(&run_record(run));
    assert_eq!(dispatcher.cancel(run), "succeeded");
    assert_eq!(world.stands(&run_record(run)), stands);
    assert_eq!(dispatcher.receipt(dispatch()), Given { run, replay: true });
}

/// A worker that stands still while its run is cancelled: it is told when it goes on.
#[test]
fn a_run_whose_worker_stands_still() {
    let world = World::start();
    let (mut dispatcher, mut worker) = (world.runner(), world.runner());
    let old = dispatcher.new_run(dispatch());
    worker.begin(old, 1);
    worker.pause();
    assert_eq!(dispatcher.cancel(old), "cancelled");
    let new = dispatcher.new_run(dispatch());
    worker.finish(&old);
    worker.resume();
    assert_eq!(worker.worked(old).unwrap_err().kind, format!("{:?}", ErrorKind::LeaseLost));
    assert_eq!(dispatcher.look(old), ("cancelled".to_owned(), None));
    assert_eq!(worker.work(new, 2), Ran::Ended(2));
}
