//! The promises of the protocol, held against random schedules: three callers of one key, a store
//! that expires, and a network that delays, repeats, reorders and loses.
//!
//! The store's half is the transition module itself, the owner's half its tenure.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

mod world;

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use world::{Reached, Step, World};

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..40_u64).prop_map(Step::Pass),
        1 => (100..1_000_u64).prop_map(Step::Pass),
        8 => (0..3_usize).prop_map(Step::Act),
        10 => (any::<prop::sample::Index>(), any::<bool>())
            .prop_map(|(which, again)| Step::Deliver { which, again }),
        2 => any::<prop::sample::Index>().prop_map(Step::Lose),
        1 => (0..3_usize).prop_map(Step::Crash),
        1 => (0..3_usize).prop_map(Step::End),
    ]
}

/// Runs random schedules, and fails unless they reached everything the promises are about: a check
/// that never saw what it checks proves nothing.
fn promises_hold(remembered: bool) {
    let default = ProptestConfig::default();
    // More with PROPTEST_CASES.
    let cases = default.cases.max(1_000);
    let config = ProptestConfig { cases, failure_persistence: None, ..default };
    let reached = RefCell::new(Reached::default());
    let schedules = prop::collection::vec(step(), 1..400);
    let outcome = TestRunner::new(config).run(&schedules, |schedule| {
        let mut world = World::new(remembered);
        for step in schedule {
            world.take(step)?;
        }
        reached.borrow_mut().add(&world.reached);
        Ok(())
    });
    if let Err(broken) = outcome {
        panic!("{broken}");
    }
    reached.borrow().assert_everything_was_seen(remembered);
}

/// Under `rerun`: a lapsed reservation is forgotten.
#[test]
fn promises_hold_under_rerun() {
    promises_hold(false);
}

/// Under `refuse` and `reconcile`: a lapsed reservation is remembered, and taken over in one step.
#[test]
fn promises_hold_when_crashes_are_remembered() {
    promises_hold(true);
}
