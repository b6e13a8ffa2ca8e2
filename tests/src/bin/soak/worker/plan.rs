//! What a call is to be: thrown before it is made.

use std::time::Duration;

use idem_tests::soak::history::{Duplicate, End};
use idem_tests::soak::{Dice, OPERATIONS, Operation};

/// A call to make.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) operation: &'static Operation,
    pub(super) key: u64,
    pub(super) fingerprint: u64,
    pub(super) duplicate: Duplicate,
    /// When its caller drops it.
    pub(super) dropped_after: Option<Duration>,
    pub(super) action: Action,
    pub(super) ask: Ask,
    /// Before the next call.
    pub(super) pause: Duration,
}

/// What its action does, if it runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Action {
    pub(super) lasts: Duration,
    /// Whether it holds its thread.
    pub(super) blocks: bool,
    /// When it has its effect, if not at its end.
    pub(super) effect_after: Duration,
    pub(super) fence: bool,
    pub(super) end: End,
}

/// What it finds out about its predecessor's effect, if it is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) lasts: Duration,
    pub(super) fails: bool,
}

impl Plan {
    pub(super) fn throw(dice: &mut Dice, keys: u64) -> Self {
        let operation = &OPERATIONS[dice.below(OPERATIONS.len() as u64) as usize];
        let lease = operation.lease_ms;
        let blocks = dice.one_in(12);
        let lasts = match dice.below(10) {
            0..=3 => dice.ms(0..30),
            4..=6 => dice.ms(30..lease),
            _ if blocks => dice.ms(30..lease),
            _ => dice.ms(lease..2 * lease),
        };
        let end = match dice.below(30) {
            0..=3 => End::Failed,
            4 => End::Panicked,
            _ => End::Returned,
        };
        let duplicate = match dice.below(8) {
            0 | 1 => Duplicate::Reject,
            2 => Duplicate::WaitFor(1 + dice.below(3 * lease)),
            _ => Duplicate::Wait,
        };
        Self {
            operation,
            key: dice.below(keys),
            fingerprint: 1 + u64::from(dice.one_in(40)),
            duplicate,
            dropped_after: dice.one_in(8).then(|| dice.ms(0..lease)),
            action: Action {
                lasts,
                blocks,
                effect_after: if dice.one_in(3) { lasts / 2 } else { Duration::MAX },
                fence: dice.one_in(3),
                end,
            },
            ask: Ask { lasts: dice.ms(0..lease / 2), fails: dice.one_in(5) },
            pause: dice.ms(0..120),
        }
    }

    /// A call that is made when all is over: it only wants an outcome.
    pub(super) fn last(operation: &'static Operation, key: u64, fingerprint: u64) -> Self {
        let at_once = Duration::ZERO;
        Self {
            operation,
            key,
            fingerprint,
            duplicate: Duplicate::Wait,
            dropped_after: None,
            action: Action {
                lasts: at_once,
                blocks: false,
                effect_after: at_once,
                fence: true,
                end: End::Returned,
            },
            ask: Ask { lasts: at_once, fails: false },
            pause: Duration::from_millis(100),
        }
    }
}
