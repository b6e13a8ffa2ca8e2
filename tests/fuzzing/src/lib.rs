//! Inputs by chance for what reads bytes it did not write.
//!
//! proptest makes the inputs and makes those that fail small. What is added here: every input is
//! counted by what became of it, and a kind of answer that was never seen fails the test, since a
//! fuzzer that only ever reaches the first check proves nothing.
//!
//! Without a variable set, a test takes one short round with a fixed seed. `FUZZ_SECONDS` has each
//! test go on for so long with a new seed each round; `FUZZ_SEED` says the first of them.

use std::cell::RefCell;
use std::fmt::Debug;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

mod tally;

pub use tally::Tally;

/// What became of an input: the kind it is counted under, or why it fails.
pub type Judged = Result<&'static str, TestCaseError>;

/// The seed of the short pass.
const SEED: u64 = 20_240_229;

/// Runs `judge` on `cases` inputs a round. Every one of `kinds` has to be seen, unless it is one
/// round that is repeated.
///
/// # Panics
/// If an input fails, with the seed and the smallest such input that was found; or if a kind of
/// answer was never seen.
pub fn fuzz<S: Strategy<Value: Debug>>(
    subject: &str,
    kinds: &[&'static str],
    cases: u32,
    inputs: &S,
    judge: impl Fn(S::Value) -> Judged,
) {
    let tally = RefCell::new(Tally::new(subject));
    for seed in rounds() {
        let config = Config {
            cases,
            rng_seed: RngSeed::Fixed(seed),
            failure_persistence: None,
            ..Config::default()
        };
        let ran = TestRunner::new(config).run(inputs, |input| {
            tally.borrow_mut().count(judge(input)?);
            Ok(())
        });
        if let Err(failure) = ran {
            panic!("{subject}: {failure}\nagain: FUZZ_SEED={seed} with the same command");
        }
    }
    let repeats = std::env::var_os("FUZZ_SEED").is_some() && number("FUZZ_SECONDS").is_none();
    tally.borrow().saw(if repeats { &[] } else { kinds });
}

/// The seeds of the rounds, as the variables say.
fn rounds() -> impl Iterator<Item = u64> {
    let seconds = number("FUZZ_SECONDS");
    let first = number("FUZZ_SEED").unwrap_or_else(|| match seconds {
        Some(_) => RandomState::new().hash_one("a seed") >> 16,
        None => SEED,
    });
    let ends = Instant::now() + Duration::from_secs(seconds.unwrap_or_default());
    (first..)
        .enumerate()
        .take_while(move |(round, _)| *round == 0 || Instant::now() < ends)
        .map(|(_, seed)| seed)
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    match text.parse() {
        Ok(number) => Some(number),
        Err(_) => panic!("{variable} is a whole number, not {text:?}"),
    }
}
