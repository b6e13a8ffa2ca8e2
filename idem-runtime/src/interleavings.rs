//! The interleavings of what calls and the keeper share: the product's own code, under a scheduler
//! that decides at each of its steps who goes on.
//!
//! A schedule in which somebody waits and nobody will wake it is a deadlock, and fails: time stands
//! still unless a test moves it, so that no second look makes up for a wake-up that was lost.

use std::sync::Arc;

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use crate::sync::scheduled;

mod attempts;
mod flights;
mod history;
mod jobs;
mod memory;
mod shutdown;
mod stage;
mod store;

/// How often the scheduler that changes its mind a few times only does so.
const CHANGES_OF_MIND: usize = 3;

/// Runs a scenario under many schedules: half of them drawn step by step, half of them by priorities
/// that change a few times (which finds what takes one task to be held up for long).
///
/// `INTERLEAVE_TIMES` multiplies the schedules, `INTERLEAVE_SEED` draws others, `INTERLEAVE_REPLAY`
/// is the one schedule that a failure has printed.
fn explore(what: &str, schedules: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let scenario = Arc::new(anew(scenario));
    if let Ok(schedule) = std::env::var("INTERLEAVE_REPLAY") {
        return replay(&schedule, move || scenario());
    }
    let schedules = schedules * number("INTERLEAVE_TIMES", 1) / 2;
    let seed = number("INTERLEAVE_SEED", 17) as u64;
    let drawn = Runner::new(RandomScheduler::new_from_seed(seed, schedules), config());
    let prioritised = PctScheduler::new_from_seed(seed, CHANGES_OF_MIND, schedules);
    let prioritised = Runner::new(prioritised, config());
    let again = Arc::clone(&scenario);
    let ran = drawn.run(move || again()) + prioritised.run(move || scenario());
    println!("{what}: {ran} schedules");
}

/// Runs a scenario under every schedule there is.
fn exhaust(what: &str, scenario: impl Fn() + Send + Sync + 'static) {
    let scenario = anew(scenario);
    if let Ok(schedule) = std::env::var("INTERLEAVE_REPLAY") {
        return replay(&schedule, scenario);
    }
    let ran = Runner::new(DfsScheduler::new(None, false), config()).run(scenario);
    println!("{what}: all {ran} schedules");
}

fn replay(schedule: &str, scenario: impl Fn() + Send + Sync + 'static) {
    let scheduler = ReplayScheduler::new_from_encoded(schedule.trim());
    Runner::new(scheduler, config()).run(scenario);
}

fn anew(scenario: impl Fn() + Send + Sync + 'static) -> impl Fn() + Send + Sync + 'static {
    move || {
        scheduled::start_anew();
        scenario();
    }
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    config.failure_persistence = FailurePersistence::Print;
    config.max_steps = MaxSteps::FailAfter(20_000);
    // Of weaker orders than the strongest: what rests on them is loom's.
    config.silence_warnings = true;
    config.ungraceful_shutdown_config.immediately_return_on_panic = true;
    config
}

fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// A number below `end`, drawn by the schedule.
fn drawn(end: u64) -> u64 {
    use shuttle::rand::RngCore;
    shuttle::rand::thread_rng().next_u64() % end
}

/// Lets others go on for a while.
fn dawdle(most: u64) {
    for _ in 0..drawn(most) {
        scheduled::step();
    }
}
