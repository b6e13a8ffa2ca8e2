//! Duplicates that wait, in processes of their own.

use std::time::{Duration, Instant};

use idem_tests::LEASE;
use idem_tests::caller::{Call, Caller, Ends, OnDuplicate};

use crate::kit::{LONG, World, caller};

/// The owner's process is killed while B waits: B runs, within a lease of the death.
#[test]
fn waiter_takes_over() {
    // From the end of the lease to B's action are two commands; the rest is for a busy machine.
    const BUSY: Duration = Duration::from_millis(750);
    let world = World::start();
    let settings = world.settings().lease(LEASE * 2).on_duplicate(OnDuplicate::WaitFor(LONG));
    let (mut a, mut b) = (caller(&settings), caller(&settings));
    a.begin(Call::of("a", 1).ends(Ends::WhenTold));
    b.call(Call::of("a", 2));
    // A lives for a while, and is renewed; then its process is gone.
    for _ in 0..5 {
        a.event("renewed");
    }
    assert!(!b.is_answered("a"));
    a.kill();
    let death = Instant::now();
    b.begun("a");
    let took = death.elapsed();
    assert!(took <= LEASE * 2 + BUSY, "B ran {took:?} after the death");
    let outcome = b.answer("a").unwrap();
    assert_eq!((outcome.value, outcome.source.as_str()), (2, "Fresh"));
    assert_eq!(world.ledger.effects(), ["a 2"]);
}

/// A thousand callers in four processes: one run, and what the server is asked is in proportion to
/// the processes.
#[test]
fn herd() {
    const CALLS: usize = 250;
    let world = World::start();
    // Nothing is renewed meanwhile, so that every script call is a read, save the completion.
    let settings = world.settings().lease(LONG).on_duplicate(OnDuplicate::WaitFor(LONG));
    let mut processes: Vec<Caller> = (0..4).map(|_| caller(&settings)).collect();
    let _: String = world.server.ask(&["CONFIG", "RESETSTAT"]);
    let all = || Call::of("a", 7).times(CALLS).ends(Ends::WhenTold);
    processes[0].begin(all());
    for process in &mut processes[1..] {
        process.call(all());
    }
    // So long that somebody who asks again and again would be seen.
    std::thread::sleep(LEASE);
    processes[0].finish("a");
    let mut fresh = 0;
    for process in &mut processes {
        for _ in 0..CALLS {
            let outcome = process.answer("a").unwrap();
            assert_eq!(outcome.value, 7);
            fresh += usize::from(outcome.source == "Fresh");
        }
    }
    assert_eq!(fresh, 1);
    assert_eq!(world.ledger.effects(), ["a 7"]);
    assert_eq!(world.server.calls("set"), 4 + 1, "a begin for each process, and the outcome");
    assert!(world.server.calls("ssubscribe") <= 3, "a subscription for each that waits");
    // For each process that waits: one after the subscription, one at the change, and the polls
    // beside it, after about 25 ms, 50 ms, … and then every second. A slow machine makes them fewer.
    let reads = world.server.calls("evalsha") - 1;
    assert!(reads <= 3 * 12, "{reads} reads");
}
