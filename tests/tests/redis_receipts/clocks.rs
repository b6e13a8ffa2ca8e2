//! Wall clocks that are an hour off: no decision about a run rests on one.

use std::process::Command;

use idem_tests::runner::{Dispatch, Given, Ran, Runner};
use idem_tests::{LEASE, TTL};

use crate::kit::{HOLD, World, millis, program, run_record};

/// A runner under `faketime`. The monotonic clock is left alone: a wall clock that is wrong is no
/// reason for that to be.
fn off_by(shift: &str, world: &World) -> Runner {
    let mut command = Command::new("faketime");
    command.args(["--exclude-monotonic", "-f", shift]).arg(program().get_program());
    let found = Command::new("faketime").arg("--version").output().is_ok();
    assert!(found, "there is no faketime: is it installed? (apt-get install faketime)");
    Runner::start(command, &world.settings())
}

/// What the wall clock of a run's dispatcher said, by the record: 8 bytes after version, state, owner,
/// fingerprint, retention and fence.
fn dispatched_at(world: &World, run: idem_runtime::RunId) -> i64 {
    let record = world.stands(&run_record(run)).0.unwrap();
    i64::from_be_bytes(record[50..58].try_into().unwrap())
}

/// Dispatchers an hour behind and ahead judge a vanished worker's run to the moment of the server's clock.
#[test]
fn dispatchers_whose_clocks_are_off() {
    for shift in ["+3600s", "-3600s"] {
        let world = World::start();
        let dispatch = Dispatch::of("a").hold(HOLD);
        let (mut off, mut right, mut worker) =
            (off_by(shift, &world), world.runner(), world.runner());
        let old = off.new_run(dispatch.clone());
        let skew = dispatched_at(&world, old) - world.now();
        assert!(skew.abs() > 1_800_000, "the clock is not off: {skew} ms");
        worker.begin(old, 1);
        assert_eq!(right.receipt(dispatch.clone()), Given { run: old, replay: true });
        worker.kill();
        let moment = world.hold_ends(old);
        let new = world.new_run_at(moment, &mut off, &dispatch, old);
        assert_eq!(right.work(new, 2), Ran::Ended(2));
        assert_eq!(off.receipt(dispatch), Given { run: new, replay: true });
    }
}

/// A run that waits is given up by the server's clock as well.
#[test]
fn a_queue_timeout_is_the_servers() {
    for shift in ["+3600s", "-3600s"] {
        let world = World::start();
        let dispatch = Dispatch::of("a").queue_timeout(HOLD);
        let (mut off, mut right) = (off_by(shift, &world), world.runner());
        let old = right.new_run(dispatch.clone());
        let queued_at = world.expires_at(&run_record(old)) - 2 * millis(LEASE + TTL);
        let moment = queued_at + millis(HOLD);
        world.new_run_at(moment, &mut off, &dispatch, old);
    }
}

/// Workers whose clocks are off keep their runs as long as they live.
#[test]
fn workers_whose_clocks_are_off() {
    for shift in ["+3600s", "-3600s"] {
        let world = World::start();
        let dispatch = Dispatch::of("a").hold(LEASE / 10);
        let (mut dispatcher, mut off) = (world.runner(), off_by(shift, &world));
        let run = dispatcher.new_run(dispatch.clone());
        off.begin(run, 1);
        for _ in 0..8 {
            off.event("renewed");
            assert_eq!(dispatcher.receipt(dispatch.clone()), Given { run, replay: true });
        }
        assert!(!off.has_event("lease_at_risk"));
        off.finish(&run);
        assert_eq!(off.worked(run), Ok(Ran::Ended(1)));
        assert_eq!(dispatcher.look(run), ("succeeded".to_owned(), Some(1)));
    }
}
