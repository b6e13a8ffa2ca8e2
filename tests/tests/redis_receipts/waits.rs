//! Runs that wait for a worker.

use idem_tests::runner::{Dispatch, Given, Ran};
use idem_tests::{LEASE, TTL};

use crate::kit::{HOLD, World, millis, run_record};

const TIMED_OUT: &str = "failed: queue timeout: no worker has started it";

/// A run that nobody picks up is given up when its queue timeout has passed by the server's clock. Its
/// message arrives after all, and starts nothing.
#[test]
fn a_run_that_is_never_picked_up() {
    let world = World::start();
    let (mut dispatcher, mut worker) = (world.runner(), world.runner());
    let dispatch = Dispatch::of("a").queue_timeout(HOLD);
    let old = dispatcher.new_run(dispatch.clone());
    // A state that is not a run's last is kept for two leases and two ttls.
    let queued_at = world.expires_at(&run_record(old)) - 2 * millis(LEASE + TTL);
    assert!(queued_at <= world.now() && world.now() < queued_at + millis(HOLD));
    let moment = queued_at + millis(HOLD);
    let new = world.new_run_at(moment, &mut dispatcher, &dispatch, old);
    assert_eq!(worker.work(old, 1), Ran::NotStarted(TIMED_OUT.to_owned()));
    assert_eq!(worker.work(new, 2), Ran::Ended(2));
    assert_eq!(dispatcher.receipt(dispatch), Given { run: new, replay: true });
    assert_eq!((world.begun(old), world.begun(new)), (0, 1));
}

/// One that was picked up in time is not given up, however long it runs.
#[test]
fn a_run_that_was_picked_up_in_time() {
    let world = World::start();
    let (mut dispatcher, mut worker) = (world.runner(), world.runner());
    let dispatch = Dispatch::of("a").queue_timeout(HOLD);
    let run = dispatcher.new_run(dispatch.clone());
    worker.begin(run, 1);
    let past = world.now() + millis(HOLD * 2);
    while world.now() < past {
        assert_eq!(dispatcher.receipt(dispatch.clone()), Given { run, replay: true });
        worker.event("renewed");
    }
    worker.finish(&run);
    assert_eq!(worker.worked(run), Ok(Ran::Ended(1)));
}
