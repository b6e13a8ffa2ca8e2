//! Whether a history keeps the promises of the protocol. Each rule says which properties of the model it
//! checks, and why it can raise no false alarm.
//!
//! Two kinds of rules: those that hold whatever goes wrong (nobody runs while another may still claim
//! the key; what is stored stands), and those that hold where nothing goes wrong (leases are renewed,
//! the store is reached). For the second kind, what goes wrong is told in the history too.

mod answers;
mod claims;
mod crashes;
mod fences;
mod outcomes;
mod rule;
#[cfg(test)]
mod tests;
mod told;

use std::collections::{HashMap, HashSet};

pub use rule::Rule;

use super::disturbances::Whom;
use super::history::{CallId, Line, Micros, What};
use super::story::{CallStory, KeyStory, Run, Story};

/// A millisecond.
const MS: Micros = 1_000;

/// What the server's clock may be behind: it looks at it once for the commands of a moment.
const TICK: Micros = 50 * MS;

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule that was broken.
    pub rule: Rule,
    /// The operation and the key.
    pub key: (String, u64),
    /// What happened.
    pub what: String,
}

/// All that is wrong with a story.
#[must_use]
pub fn check(story: &Story) -> Vec<Violation> {
    let mut violations: Vec<_> = story.gaps.iter().map(|what| gap(what)).collect();
    for key in story.keys.values() {
        let numbered = key.calls.iter().enumerate().map(|(at, call)| (call.call.id, at));
        let places = numbered.collect();
        let mut check = Check { story, key, places, violations: Vec::new() };
        claims::check(&mut check);
        outcomes::check(&mut check);
        told::check(&mut check);
        crashes::check(&mut check);
        answers::check(&mut check);
        fences::check(&mut check);
        violations.append(&mut check.violations);
    }
    violations
}

fn gap(what: &str) -> Violation {
    Violation { rule: Rule::History, key: (String::new(), 0), what: what.to_owned() }
}

/// The lines of a history that are about a key, and about what went wrong.
pub fn about<'a>(lines: &'a [Line], key: &(String, u64)) -> impl Iterator<Item = &'a Line> {
    let mut calls = HashSet::<CallId>::new();
    lines.iter().filter(move |line| match &line.what {
        What::Called(call) => {
            (&call.operation, call.key) == (&key.0, key.1) && calls.insert(call.id)
        }
        What::Began { call, .. }
        | What::Holds { call, .. }
        | What::Fence { call, .. }
        | What::Asked { call, .. }
        | What::Effect { call }
        | What::Ended { call, .. }
        | What::Answered { call, .. }
        | What::Abandoned { call } => calls.contains(call),
        What::Disturbed { .. } | What::Calm => true,
    })
}

/// The check of one key.
struct Check<'a> {
    story: &'a Story,
    key: &'a KeyStory,
    /// Where each of its calls is.
    places: HashMap<CallId, usize>,
    violations: Vec<Violation>,
}

impl<'a> Check<'a> {
    fn call(&self, id: CallId) -> Option<&'a CallStory> {
        self.places.get(&id).map(|at| &self.key.calls[*at])
    }

    /// The calls whose actions ran under a lease.
    fn owners(&self) -> impl Iterator<Item = (&'a CallStory, &'a Run)> + use<'a> {
        self.key.calls.iter().filter_map(|call| Some((call, call.protected_run()?)))
    }

    fn violated(&mut self, rule: Rule, what: String) {
        let key = (self.key.operation.name.to_owned(), self.key.key);
        self.violations.push(Violation { rule, key, what });
    }

    fn lease(&self) -> Micros {
        self.key.operation.lease_ms * MS
    }

    fn ttl(&self) -> Micros {
        self.key.operation.ttl_ms * MS
    }

    /// Whether the store lost everything between two moments.
    fn emptied(&self, from: Micros, until: Micros) -> bool {
        self.story.disturbances.emptied(from, until)
    }

    /// When the last command was sent that the store confirmed, for an owner that claims its key until
    /// `until`: a tenth of the lease is left unused.
    fn confirmed(&self, until: Micros) -> Micros {
        until.saturating_sub(self.lease() / 10 * 9)
    }

    /// Whether nothing came between these and the store in this time. The machine may stall for as long
    /// as one renewal may be late: two may fail.
    fn are_quiet(&self, whom: Whom, from: Micros, until: Micros) -> bool {
        self.story.disturbances.are_quiet(whom, from, until, self.lease() / 4)
    }
}
