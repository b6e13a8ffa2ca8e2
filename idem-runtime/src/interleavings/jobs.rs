//! What calls hand to the keeper: each job is done or given up exactly once, whatever becomes of the
//! keeper meanwhile.

use std::sync::Arc;
use std::time::Duration;

use shuttle::thread::{self, JoinHandle};

use super::memory::key;
use super::stage::{LEASE, idem};
use super::store::{Did, Store};
use super::{dawdle, explore};
use crate::flight::{Joined, join};
use crate::idem::Idem;
use crate::keeper::Job;
use crate::record::Owner;
use crate::sync::scheduled::{all_ended, block_on, spawned};

fn owner(number: u8) -> Owner {
    Owner::from_bytes([number + 1; 16])
}

/// Hands over the release of a begin that was given up.
fn hand(idem: &Idem, number: u8) {
    let core = idem.core();
    let job = Job::Forget { key: key("a"), owner: owner(number), lease: LEASE };
    core.keeper.hand(core, job);
}

fn hands(idem: &Idem, number: u8) -> JoinHandle<()> {
    let idem = idem.clone();
    thread::spawn(move || hand(&idem, number))
}

fn times_done(store: &Store, number: u8) -> usize {
    let releases = store.did();
    releases.iter().filter(|did| **did == Did::ReleaseNothing(owner(number))).count()
}

#[test]
fn jobs_handed_beside_each_other_are_done_once_and_the_last_handle_ends_the_keeper() {
    explore("jobs, hand against take and the last handle", 1_000, || {
        let store = Store::new();
        let idem = idem(&store);
        let keeper = Arc::clone(&idem.core().keeper);
        let callers = [hands(&idem, 0), hands(&idem, 1)];
        hand(&idem, 2);
        drop(idem);
        for caller in callers {
            caller.join().unwrap();
        }
        block_on(all_ended());
        assert_eq!(keeper.backlog().len(), 0);
        for number in 0..3 {
            assert_eq!(times_done(&store, number), 1, "job {number}");
        }
    });
}

#[test]
fn jobs_handed_beside_a_shutdown_are_done_or_given_up() {
    explore("jobs, hand against shutdown at once", 1_000, || {
        let store = Store::new();
        let idem = idem(&store);
        let callers = [hands(&idem, 0), hands(&idem, 1)];
        dawdle(40);
        let report = block_on(idem.shutdown(Duration::ZERO));
        assert!(report.unsettled <= 2, "{report:?}");
        for caller in callers {
            caller.join().unwrap();
        }
        let keeper = Arc::clone(&idem.core().keeper);
        drop(idem);
        block_on(all_ended());
        assert_eq!(keeper.backlog().len(), 0);
        for number in 0..2 {
            assert!(times_done(&store, number) <= 1, "job {number}");
        }
    });
}

#[test]
fn a_shutdown_with_time_hears_of_the_last_job() {
    explore("jobs, hand against shutdown with time", 1_000, || {
        let store = Store::new();
        let idem = idem(&store);
        // A call hands over what it leaves before it leaves its flight.
        let callers = [0, 1].map(|number| {
            let Joined::Seat(seat) = join(idem.core(), &key(["a", "b"][usize::from(number)]))
            else {
                unreachable!("nobody else is there")
            };
            let idem = idem.clone();
            thread::spawn(move || {
                hand(&idem, number);
                drop(seat);
            })
        });
        dawdle(40);
        let report = block_on(idem.shutdown(Duration::from_secs(60)));
        assert!(report.is_clean(), "{report:?}");
        assert_eq!([times_done(&store, 0), times_done(&store, 1)], [1, 1]);
        for caller in callers {
            caller.join().unwrap();
        }
        let keeper = Arc::clone(&idem.core().keeper);
        drop(idem);
        block_on(all_ended());
        assert_eq!(keeper.backlog().len(), 0);
    });
}

#[test]
fn a_keeper_that_ends_leaves_its_jobs_to_the_next() {
    explore("jobs, hand against the keeper's end", 1_000, || {
        let store = Store::new();
        let idem = idem(&store);
        // It starts with the first job.
        hand(&idem, 0);
        let caller = hands(&idem, 1);
        dawdle(40);
        spawned()[0].abort();
        caller.join().unwrap();
        let keeper = Arc::clone(&idem.core().keeper);
        // As the runtime of a keeper ends before the next one starts.
        while !spawned()[0].is_finished() {
            thread::yield_now();
        }
        hand(&idem, 2);
        drop(idem);
        block_on(all_ended());
        assert_eq!(keeper.backlog().len(), 0);
        for number in 0..3 {
            assert_eq!(times_done(&store, number), 1, "job {number}");
        }
    });
}
