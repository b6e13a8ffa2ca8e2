//! Dead owners: how long they block a key, and who has to look.

use super::*;
use crate::soak::history::Effect;

const KILLED: Disturbance = Disturbance::Killed { process: 0, life: 0 };

/// An owner that is killed at 100 ms, having claimed its key until 900 ms.
fn dead(operation: &'static str) -> Tale {
    Tale::of(operation).called(0, A).began(1, A, 900).disturbed(100, 110, KILLED)
}

#[test]
fn a_crash_is_remembered_until_its_retention_ends() {
    // Renewed at 0, a lease of 1 s, a retention of 3 s.
    assert_eq!(dead("refuse").stored(1_500, 1_600, B).breaks(), [Rule::CrashForgotten]);
    assert_eq!(dead("refuse").stored(4_100, 4_200, B).breaks(), []);
    let emptied = dead("refuse").disturbed(1_100, 1_200, Disturbance::ServerEmptied);
    assert_eq!(emptied.stored(1_500, 1_600, B).breaks(), []);
    let rerun = Tale::of("rerun").called(0, A).began(1, A, CLAIM).disturbed(100, 110, KILLED);
    assert_eq!(rerun.stored(1_000, 1_100, B).breaks(), []);
}

#[test]
fn an_owner_that_vanished_by_a_drop_or_a_panic_is_remembered_too() {
    for end in [End::Dropped, End::Panicked] {
        let tale = Tale::of("refuse").called(0, A).began(1, A, 900).ended(50, A, end);
        let tale = tale.and(60, What::Abandoned { call: A }).stored(1_500, 1_600, B);
        assert_eq!(tale.breaks(), [Rule::CrashForgotten], "{end:?}");
    }
}

#[test]
fn nothing_runs_after_a_crash_before_somebody_has_asked() {
    let asked = |answer| What::Asked { call: B, answer };
    let again = |tale: Tale| {
        let run = tale.called(1_400, B).began(1_500, B, 2_400).ended(1_600, B, End::Returned);
        let effect = What::Effect { call: B };
        run.and(1_590, effect).fresh(1_610, B).breaks()
    };
    assert_eq!(again(dead("reconcile")), [Rule::CrashForgotten]);
    assert_eq!(again(dead("reconcile").and(1_450, asked(Some(Effect::Not)))), []);
    // Whoever could not say has settled nothing.
    assert_eq!(again(dead("reconcile").and(1_450, asked(None))), [Rule::CrashForgotten]);
}

#[test]
fn what_an_owner_returned_stands_or_is_remembered() {
    let next = |at: u64, looks: bool| {
        let way = Disturbance::Way(0);
        let tale = Tale::of("refuse").called(0, A).began(1, A, 900).ended(100, A, End::Returned);
        let tale = tale.disturbed(90, 800, way).refused(801, A, "LeaseLost");
        let tale = tale.stored(at, at + 10, B);
        if looks { tale.called(1_400, C).refused(1_410, C, "OutcomeUnknown") } else { tale }
            .breaks()
    };
    assert_eq!(next(1_500, false), [Rule::CrashForgotten]);
    // It may have been stored, unheard; but not before a call was told that nothing is on record.
    assert_eq!(next(2_700, false), []);
    assert_eq!(next(2_700, true), [Rule::CrashForgotten]);
    assert_eq!(next(4_100, true), []);
}

#[test]
fn nobody_is_told_of_a_crash_that_there_was_not() {
    let told = |tale: Tale| tale.called(1_400, B).refused(1_410, B, "OutcomeUnknown").breaks();
    let asked = |tale: Tale| {
        let none = What::Asked { call: B, answer: None };
        tale.called(1_400, B).and(1_405, none).refused(1_410, B, "OutcomeUnknown").breaks()
    };
    let none = || Tale::of("refuse");
    let way = || none().disturbed(200, 1_300, Disturbance::Way(0));
    let panicked = What::Answered { call: A, answer: Answer::Panicked };
    let alone = none().called(0, A).began(1, A, 900).ended(50, A, End::Panicked).and(51, panicked);
    let alive = |until| none().called(0, A).began(1, A, until).ended(1_500, A, End::Returned);
    let failed = |tale: Tale| {
        let tale = tale.called(0, A).began(1, A, 900).ended(300, A, End::Failed);
        tale.given(310, A, Given { error: true, stored: false, ..fresh(A) })
    };
    let stored = |lapsed| way().ran(0, 300, A).given(310, A, Given { lapsed, ..fresh(A) });
    let refused = |tale: Tale| tale.called(0, A).refused(1_200, A, "Backend");
    let crashes = [dead("refuse"), alone, failed(way()), stored(true), refused(way())];
    for tale in crashes.into_iter().chain([alive(900).fresh(1_501, A)]) {
        for wrong in [told(tale.clone()), asked(tale.clone())] {
            assert!(!wrong.contains(&Rule::NobodyCrashed), "{:?}", tale.lines);
        }
    }
    let none =
        [none(), failed(none()), stored(false), refused(none()), alive(1_500).fresh(1_501, A)];
    for tale in none {
        for wrong in [told(tale.clone()), asked(tale.clone())] {
            assert!(wrong.contains(&Rule::NobodyCrashed), "{:?}", tale.lines);
        }
    }
}

#[test]
fn nobody_stands_in_its_own_way() {
    let alone = |at: u64| {
        let tale = Tale::of("refuse").disturbed(0, 900, Disturbance::Way(0));
        tale.called_as(0, A, 1, Duplicate::Reject).refused(at, A, "InProgress")
    };
    assert_eq!(alone(900).breaks(), [Rule::BlockedByNobody]);
    assert_eq!(alone(900).called(500, B).refused(600, B, "InProgress").breaks(), []);
    // A begin of its own that was held back may be in its way once its lease has ended.
    assert_eq!(alone(1_000).breaks(), []);
    assert_eq!(alone(900).disturbed(100, 200, Disturbance::ServerEmptied).breaks(), []);
}

#[test]
fn nobody_waits_two_leases_for_nobody() {
    let waited = |tale: Tale| tale.called(10_000, B).refused(11_600, B, "InProgress").breaks();
    let ended = Tale::of("rerun").called(9_000, A).began(9_001, A, 9_720);
    let long_over = ended.clone().ended(9_100, A, End::Dropped);
    let long_over = long_over.and(9_110, What::Abandoned { call: A });
    assert_eq!(waited(long_over.clone()), [Rule::BlockedByNobody]);
    assert_eq!(waited(long_over.disturbed(10_500, 10_600, Disturbance::ServerPaused)), []);
    let busy = (9_200..12_000).step_by(200).fold(ended, |tale, at| tale.holds(at, A, at + CLAIM));
    assert_eq!(waited(busy.ended(12_000, A, End::Returned).fresh(12_001, A)), []);
}

#[test]
fn every_key_is_free_in_the_end() {
    let last = |at: u64| {
        let tale = Tale::of("rerun").stored(0, 10, A).and(10_000, What::Calm);
        tale.stored(at, at + 10, B).breaks()
    };
    assert_eq!(last(10_100), []);
    assert_eq!(last(20_000), [Rule::NotFree]);
    let never = Tale::of("rerun").stored(0, 10, A).and(10_000, What::Calm);
    assert_eq!(never.breaks(), [Rule::NotFree]);
}
