//! Servers that are killed, started again, and emptied in the middle of a run.

use std::thread::sleep;

use idem_runtime::ErrorKind;
use idem_tests::runner::{Dispatch, Given, Ran, Runner};
use idem_tests::{LEASE, RedisServer};

use crate::kit::{World, receipt_record, run_record, wait_until};

fn dispatch() -> Dispatch {
    Dispatch::of("a")
}

/// A server that kept its data goes on where it was, and so does the run.
#[test]
fn a_server_that_is_started_again_with_its_data() {
    let mut world = World::on(RedisServer::start_kept());
    let (mut dispatcher, mut worker) = (world.runner(), world.runner());
    let run = dispatcher.new_run(dispatch());
    worker.begin(run, 1);
    let owner = |world: &World| world.stands(&run_record(run)).0.unwrap()[..18].to_vec();
    let before = owner(&world);
    world.server.restart();
    let restarted = world.expires_at(&run_record(run));
    wait_until("it is renewed", || world.expires_at(&run_record(run)) > restarted);
    assert_eq!(owner(&world), before);
    assert_eq!(dispatcher.receipt(dispatch()), Given { run, replay: true });
    world.server.restart();
    worker.finish(&run);
    assert_eq!(worker.worked(run), Ok(Ran::Ended(1)));
    wait_until("its end is stored", || dispatcher.look(run).0 == "succeeded");
    world.server.restart();
    assert_eq!(dispatcher.receipt(dispatch()), Given { run, replay: true });
    assert_eq!(dispatcher.look(run), ("succeeded".to_owned(), Some(1)));
    assert_eq!(world.begun(run), 1);
}

/// A server that is away for longer than the lease: the run has lapsed, inside its hold, and its result
/// counts.
#[test]
fn a_server_that_is_away_for_longer_than_the_lease() {
    let mut world = World::on(RedisServer::start_kept());
    let (mut dispatcher, mut worker) = (world.runner(), world.runner());
    let run = dispatcher.new_run(dispatch());
    worker.begin(run, 1);
    world.server.kill();
    worker.event("lease_at_risk");
    worker.lost(run);
    worker.finish(&run);
    sleep(LEASE);
    world.server.restart();
    assert_eq!(worker.worked(run), Ok(Ran::Ended(1)));
    // It may be the keeper that stores it.
    wait_until("its end is stored", || dispatcher.look(run).0 == "succeeded");
    assert_eq!(dispatcher.look(run).1, Some(1));
    assert_eq!(dispatcher.receipt(dispatch()), Given { run, replay: true });
}

/// The worker of a run whose record is gone stops, and stores nothing.
fn stops(world: &World, worker: &mut Runner, run: idem_runtime::RunId) {
    worker.lost(run);
    worker.finish(&run);
    let refused = worker.worked(run).unwrap_err();
    assert_eq!(refused.kind, format!("{:?}", ErrorKind::LeaseLost), "{}", refused.message);
    // Not by its keeper either, in the time of many renewals.
    sleep(LEASE);
    assert!(!world.has(&run_record(run)), "it has begun again");
}

#[test]
fn a_server_that_is_emptied() {
    for restarted in [false, true] {
        let mut world = World::start();
        let (mut dispatcher, mut worker) = (world.runner(), world.runner());
        let old = dispatcher.new_run(dispatch());
        worker.begin(old, 1);
        match restarted {
            true => world.server.restart(),
            false => world.server.ask(&["FLUSHALL"]),
        }
        stops(&world, &mut worker, old);
        assert_eq!(dispatcher.look(old).0, "nothing is known of it");
        let new = dispatcher.new_run(dispatch());
        assert_ne!(new, old);
        assert_eq!(worker.work(new, 2), Ran::Ended(2));
        assert_eq!(dispatcher.receipt(dispatch()), Given { run: new, replay: true });
    }
}

/// Only the run's record is lost: the receipt that names it gives way.
#[test]
fn a_run_whose_record_is_evicted() {
    let world = World::start();
    let (mut dispatcher, mut worker) = (world.runner(), world.runner());
    let old = dispatcher.new_run(dispatch());
    worker.begin(old, 1);
    assert!(world.server.ask::<bool>(&["DEL", &run_record(old)]));
    let new = dispatcher.new_run(dispatch());
    assert_ne!(new, old);
    stops(&world, &mut worker, old);
    assert_eq!(worker.work(new, 2), Ran::Ended(2));
    assert_eq!(dispatcher.look(new).1, Some(2));
}

/// Only the receipt is lost, while the run lives: the call gets a second one. That is what the loss of a
/// record costs; the first run ends as it would have.
#[test]
fn a_receipt_that_is_evicted() {
    let world = World::start();
    let (mut dispatcher, mut worker) = (world.runner(), world.runner());
    let old = dispatcher.new_run(dispatch());
    worker.begin(old, 1);
    assert!(world.server.ask::<bool>(&["DEL", &receipt_record("a")]));
    let new = dispatcher.new_run(dispatch());
    assert_ne!(new, old);
    worker.finish(&old);
    assert_eq!(worker.worked(old), Ok(Ran::Ended(1)));
    assert_eq!(dispatcher.receipt(dispatch()), Given { run: new, replay: true });
}
