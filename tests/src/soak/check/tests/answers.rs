//! Errors that a call could get, and calls that end.

use super::*;

/// What is wrong with a call that is refused without having run.
fn refused(tale: Tale, kind: &str) -> Vec<Rule> {
    tale.called(10_000, B).refused(10_010, B, kind).breaks()
}

#[test]
fn a_refusal_has_a_reason() {
    let none = || Tale::of("refuse");
    let way = || none().disturbed(9_500, 9_900, Disturbance::Way(1));
    assert_eq!(refused(none(), "Backend"), [Rule::WrongError]);
    assert_eq!(refused(way(), "Backend"), []);
    assert_eq!(refused(none(), "FingerprintMismatch"), [Rule::WrongError]);
    let other = none().disturbed(8_000, 8_100, Disturbance::Way(0));
    let other = other.called_as(9_000, A, 2, Duplicate::Reject).refused(9_001, A, "Backend");
    assert_eq!(refused(other, "FingerprintMismatch"), []);
    let rerun = Tale::of("rerun");
    assert!(refused(rerun, "OutcomeUnknown").contains(&Rule::WrongError));
    for kind in ["LeaseLost", "DeadlineExceeded", "Unreadable", "NotKept", "Reentrant", "else"] {
        assert_eq!(refused(way(), kind), [Rule::WrongError], "{kind}");
    }
}

#[test]
fn an_action_that_ran_is_not_denied() {
    let way = Disturbance::Way(0);
    let ran = |kind: &str| {
        let tale = Tale::of("refuse").ran(0, 100, A).disturbed(0, 50, way);
        tale.refused(101, A, kind).breaks()
    };
    assert_eq!(ran("Backend"), [Rule::WrongError]);
    assert_eq!(ran("InProgress"), [Rule::WrongError]);

    assert_eq!(ran("LeaseLost"), []);
}

#[test]
fn a_lease_is_not_lost_where_nothing_goes_wrong() {
    let lost = Tale::of("rerun").ran(10_000, 10_100, A).refused(10_101, A, "LeaseLost");
    assert_eq!(lost.breaks(), [Rule::WrongError]);
}

#[test]
fn a_deadline_has_passed_before_it_is_exceeded() {
    let stopped = |at: u64| {
        let begun = Tale::of("cancel").called(0, A).began(1, A, 630);
        let held = (175..at).step_by(175).fold(begun, |tale, at| tale.holds(at, A, at + 630));
        held.ended(at, A, End::Dropped).refused(at + 1, A, "DeadlineExceeded").breaks()
    };
    assert_eq!(stopped(1_101), []);
    assert_eq!(stopped(800), [Rule::WrongError]);
}

#[test]
fn a_panic_is_the_actions_own() {
    let panicked = |end| {
        let tale = Tale::of("rerun").called(0, A).began(1, A, CLAIM).ended(10, A, end);
        tale.and(11, What::Answered { call: A, answer: Answer::Panicked }).breaks()
    };
    assert_eq!(panicked(End::Panicked), []);
    assert_eq!(panicked(End::Returned), [Rule::WrongError]);
}

#[test]
fn calls_end_in_time() {
    assert_eq!(Tale::of("rerun").called(0, A).breaks(), [Rule::NeverEnds]);
    let refused = |at: u64| {
        let waited = Tale::of("rerun").stored(9_000, 9_100, B).called(10_000, A);
        waited.replayed(at, A, B).breaks()
    };
    assert_eq!(refused(11_000), []);
    assert_eq!(refused(17_000), [Rule::NeverEnds]);
}
