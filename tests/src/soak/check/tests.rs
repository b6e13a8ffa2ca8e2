//! Histories made by hand, each with one thing wrong, and beside it the one in which that is right.

mod answers;
mod claims;
mod crashes;
mod outcomes;

use super::{Rule, check};
use crate::soak::history::{
    Answer, Call, CallId, Disturbance, Duplicate, End, Given, Line, Micros, Source, What,
};
use crate::soak::story::Story;

/// Calls of two processes, in the order of their names.
const A: CallId = CallId::new(0, 0, 1);
const B: CallId = CallId::new(1, 0, 1);
const C: CallId = CallId::new(2, 0, 1);
/// The lease and the ttl of `rerun`, in milliseconds.
const LEASE: u64 = 800;
const TTL: u64 = 2_500;
/// What an owner claims of its lease.
const CLAIM: u64 = LEASE / 10 * 9;

/// A history: what happens, each at a time in milliseconds, in any order.
#[derive(Clone)]
struct Tale {
    operation: &'static str,
    lines: Vec<Line>,
}

impl Tale {
    fn of(operation: &'static str) -> Self {
        Self { operation, lines: Vec::new() }
    }

    fn and(mut self, at: u64, what: What) -> Self {
        self.lines.push(Line { at: moment(at), what });
        self
    }

    fn called_as(self, at: u64, id: CallId, fingerprint: u64, duplicate: Duplicate) -> Self {
        let operation = self.operation.to_owned();
        self.and(at, What::Called(Call { id, operation, key: 0, fingerprint, duplicate }))
    }

    /// A call that waits.
    fn called(self, at: u64, id: CallId) -> Self {
        self.called_as(at, id, 1, Duplicate::Wait)
    }

    /// Its action begins, and its owner claims the key until then.
    fn began(self, at: u64, call: CallId, until: u64) -> Self {
        self.and(at, What::Began { call, attempt: 1, protected: true }).holds(at, call, until)
    }

    fn holds(self, at: u64, call: CallId, until: u64) -> Self {
        self.and(at, What::Holds { call, until: moment(until) })
    }

    fn ended(self, at: u64, call: CallId, end: End) -> Self {
        self.and(at, What::Ended { call, end })
    }

    fn given(self, at: u64, call: CallId, given: Given) -> Self {
        self.and(at, What::Answered { call, answer: Answer::Given(given) })
    }

    /// Its own value, stored.
    fn fresh(self, at: u64, call: CallId) -> Self {
        self.given(at, call, fresh(call))
    }

    fn replayed(self, at: u64, call: CallId, value: CallId) -> Self {
        self.given(at, call, Given { source: Source::Replayed, ..fresh(value) })
    }

    fn refused(self, at: u64, call: CallId, kind: &str) -> Self {
        self.and(at, What::Answered { call, answer: Answer::Refused(kind.to_owned()) })
    }

    /// A call that runs all this time, keeps its lease, and has its outcome stored.
    fn stored(self, from: u64, until: u64, call: CallId) -> Self {
        self.ran(from, until, call).fresh(until + 1, call)
    }

    /// A call whose action runs all this time under its lease, and returns.
    fn ran(self, from: u64, until: u64, call: CallId) -> Self {
        let begun = self.called(from, call).began(from + 1, call, from + CLAIM);
        let renewals = (from + LEASE / 4..until).step_by(LEASE as usize / 4);
        let held = renewals.fold(begun, |tale, at| tale.holds(at, call, at + CLAIM));
        held.ended(until, call, End::Returned)
    }

    fn disturbed(self, from: u64, until: u64, by: Disturbance) -> Self {
        self.and(until, What::Disturbed { by, since: moment(from) })
    }

    /// The rules that it breaks.
    fn breaks(mut self) -> Vec<Rule> {
        self.lines.sort_by_key(|line| line.at);
        let mut rules: Vec<_> =
            check(&Story::of(&self.lines)).into_iter().map(|violation| violation.rule).collect();
        rules.sort();
        rules.dedup();
        rules
    }
}

fn moment(ms: u64) -> Micros {
    (1_000_000 + ms) * 1_000
}

fn fresh(value: CallId) -> Given {
    let (error, source) = (false, Source::Fresh);
    Given { value, error, source, stored: true, lapsed: false, protected: true }
}

#[test]
fn a_history_in_which_nothing_is_wrong_is_fine() {
    let tale = Tale::of("rerun")
        .stored(0, 2_000, A)
        .called(100, B)
        .given(2_010, B, Given { source: Source::Waited, ..fresh(A) })
        .stored(2_000 + TTL + 100, 6_000, C);
    assert_eq!(tale.breaks(), []);
}

#[test]
fn a_history_with_a_gap_is_none() {
    let calls = [
        Tale::of("rerun").fresh(0, A),
        Tale::of("rerun").stored(0, 10, A).fresh(12, A),
        Tale::of("rerun").called(0, A).ended(1, A, End::Returned).fresh(2, A),
        Tale::of("nothing").stored(0, 10, A),
    ];
    for tale in calls {
        assert!(tale.clone().breaks().contains(&Rule::History), "{:?}", tale.lines);
    }
}
