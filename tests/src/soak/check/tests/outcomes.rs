//! What is stored stands, and is what everybody gets.

use super::*;

#[test]
fn nothing_runs_while_an_outcome_stands() {
    let again = |at: u64| Tale::of("rerun").stored(0, 100, A).stored(at, at + 10, B).breaks();
    // The first is then not told of the second either, and the second stores over the first.
    let all =
        [Rule::RanOverAnOutcome, Rule::AnotherOutcome, Rule::StoredOverAnOutcome, Rule::NotTold];
    assert_eq!(again(200), all);
    assert_eq!(again(100 + TTL), []);
}

#[test]
fn a_store_that_lost_everything_has_no_outcomes() {
    let emptied = |from: u64| {
        let tale = Tale::of("rerun").stored(0, 100, A).stored(1_000, 1_010, B);
        tale.disturbed(from, from + 100, Disturbance::ServerEmptied).breaks()
    };
    assert_eq!(emptied(500), []);
    assert!(emptied(1_200).contains(&Rule::RanOverAnOutcome));
}

#[test]
fn everybody_gets_the_outcome_that_stands() {
    let late = |value, at: u64| {
        let old = Tale::of("rerun").stored(0, 100, B).stored(100 + TTL, 200 + TTL, A);
        old.called(at, C).replayed(at + 1, C, value).breaks()
    };
    assert_eq!(late(B, 300 + TTL), [Rule::AnotherOutcome, Rule::Revived]);
    assert_eq!(late(A, 300 + TTL), []);
    assert_eq!(late(B, 50 + TTL), []);
}

#[test]
fn an_outcome_is_not_stored_over_another() {
    let stale = |answer: fn(Tale) -> Tale| {
        let tale = Tale::of("rerun")
            .disturbed(10, 2_000, Disturbance::Paused(0))
            .called(0, A)
            .began(1, A, CLAIM)
            .ended(2_000, A, End::Returned)
            .stored(1_000, 1_010, B);
        answer(tale).breaks()
    };
    let lapsed = |tale: Tale| tale.given(2_001, A, Given { lapsed: true, ..fresh(A) });
    assert_eq!(stale(lapsed), [Rule::StoredOverAnOutcome]);
    assert_eq!(stale(|tale| tale.refused(2_001, A, "LeaseLost")), []);
}

#[test]
fn an_outcome_is_not_stored_while_another_owner_claims_the_key() {
    // Its process stands still, before its action ends or after, and its outcome is stored at 2,001 ms.
    let stored = |made: u64, began: u64, until: u64| {
        Tale::of("rerun")
            .disturbed(10, 2_000, Disturbance::Paused(0))
            .called(0, A)
            .began(1, A, CLAIM)
            .ended(made, A, End::Returned)
            .given(2_001, A, Given { lapsed: true, ..fresh(A) })
            .ran(began, until, B)
            .given(until + 1, B, Given { stored: false, ..fresh(B) })
    };
    assert_eq!(stored(2_000, 1_500, 2_300).breaks(), [Rule::StoredBesideAnOwner]);
    assert_eq!(stored(2_000, 1_500, 1_900).breaks(), []);
    // It was stored before, or over the owner's reservation.
    assert_eq!(stored(5, 1_500, 2_300).breaks(), [Rule::StoredBesideAnOwner]);
    let emptied = stored(2_000, 1_500, 2_300).disturbed(1_600, 1_700, Disturbance::ServerEmptied);
    assert_eq!(emptied.breaks(), []);
    let answered_late = |at: u64| {
        let tale = Tale::of("rerun").disturbed(110, at, Disturbance::Paused(0)).ran(0, 100, A);
        tale.fresh(at, A).ran(at - 100, at + 100, B).fresh(at + 101, B)
    };
    assert!(answered_late(TTL - 100).breaks().contains(&Rule::StoredBesideAnOwner));
    assert!(!answered_late(TTL + 300).breaks().contains(&Rule::StoredBesideAnOwner));
}

#[test]
fn a_call_that_finds_an_outcome_is_not_refused_for_another_reason() {
    let refused = |kind: &str| {
        let tale = Tale::of("refuse").disturbed(0, 900, Disturbance::Way(1));
        tale.stored(0, 100, A).called(1_000, B).refused(1_100, B, kind).breaks()
    };
    assert_eq!(refused("Backend"), []);
    assert_eq!(refused("InProgress"), [Rule::RefusedAtAnOutcome]);
    assert_eq!(refused("OutcomeUnknown"), [Rule::RefusedAtAnOutcome, Rule::NobodyCrashed]);
    // A call of the same process that came before the outcome may still be in the way.
    let beside = CallId::new(1, 0, 2);
    let rejected = |came: u64| {
        let tale = Tale::of("rerun").stored(0, 100, A).called(came, beside);
        let tale = tale.replayed(1_050, beside, A);
        tale.called_as(1_000, B, 1, Duplicate::Reject).refused(1_010, B, "InProgress").breaks()
    };
    assert_eq!(rejected(50), []);
    assert_eq!(rejected(500), [Rule::RefusedAtAnOutcome]);
    // So may one that asks while the process stands still.
    let asks = |stands_still: u64| {
        let tale = Tale::of("rerun").stored(0, 100, A).called(900, beside);
        let tale = tale.disturbed(950, 1_040, Disturbance::Paused(stands_still));
        let tale = tale.replayed(1_050, beside, A);
        tale.called_as(1_000, B, 1, Duplicate::Reject).refused(1_010, B, "InProgress").breaks()
    };
    assert_eq!(asks(1), []);
    assert_eq!(asks(2), [Rule::RefusedAtAnOutcome]);
}

#[test]
fn an_outcome_does_not_come_back() {
    let again =
        |at: u64| Tale::of("rerun").stored(0, 100, A).called(at, B).replayed(at + 1, B, A).breaks();
    assert_eq!(again(TTL + 200), [Rule::Revived]);
    assert_eq!(again(TTL), []);
    // Another call has had it before its owner is told.
    let heard = |at: u64| {
        let tale = Tale::of("rerun").disturbed(110, 4_000, Disturbance::Paused(0)).ran(0, 100, A);
        let tale = tale.fresh(4_001, A).called(150, C).replayed(160, C, A);
        tale.called(at, B).replayed(at + 1, B, A).breaks()
    };
    assert_eq!(heard(TTL + 250), [Rule::Revived]);
    assert_eq!(heard(TTL + 150), []);
    // A call of the same process may have asked before.
    let beside = |at: u64| {
        let tale = Tale::of("rerun").stored(0, 100, A).called(90, CallId::new(1, 0, 2));
        let tale = tale.replayed(at + 1, CallId::new(1, 0, 2), A);
        tale.called(at, B).replayed(at + 1, B, A).breaks().contains(&Rule::Revived)
    };
    assert!(!beside(TTL + 200));
    assert!(beside(TTL + 6_000));
}

#[test]
fn a_value_is_one_of_its_key_and_arguments() {
    let tale = || Tale::of("rerun").stored(0, 100, A);
    let got = |tale: Tale, given| tale.called(200, B).given(210, B, given).breaks();
    let replayed = Given { source: Source::Replayed, ..fresh(A) };
    assert_eq!(got(tale(), replayed), []);
    let wrong = [
        // Nobody's; another's as if it were fresh; its own without having run; an error that was a value.
        Given { value: C, ..replayed },
        Given { source: Source::Fresh, ..replayed },
        Given { value: B, source: Source::Fresh, ..replayed },
        Given { error: true, ..replayed },
    ];
    for given in wrong {
        assert!(got(tale(), given).contains(&Rule::NobodysValue), "{given:?}");
    }
    // The action had not ended.
    let early = Tale::of("rerun").stored(0, 300, A);
    assert_eq!(got(early, replayed), [Rule::NobodysValue]);
    // Other arguments.
    let other = tale().called_as(200, B, 2, Duplicate::Wait).replayed(210, B, A);
    assert_eq!(other.breaks(), [Rule::NobodysValue]);
}

#[test]
fn what_was_made_without_protection_is_not_stored() {
    let made = |stored, protected| {
        let began = What::Began { call: A, attempt: 1, protected: false };
        let tale = Tale::of("outage").called(0, A).and(1, began).ended(10, A, End::Returned);
        tale.given(11, A, Given { stored, protected, ..fresh(A) })
    };
    assert_eq!(made(false, false).breaks(), []);
    assert_eq!(made(true, false).breaks(), [Rule::NobodysValue]);
    assert_eq!(made(false, true).breaks(), [Rule::NobodysValue]);
    let replayed = made(false, false).called(20, B).replayed(21, B, A);
    assert_eq!(replayed.breaks(), [Rule::NobodysValue]);
}

#[test]
fn only_some_operations_store_errors() {
    let error = |operation| {
        let failed = Tale::of(operation).called(0, A).began(1, A, 1_300).ended(10, A, End::Failed);
        let error = Given { error: true, stored: operation == "detach", ..fresh(A) };
        let replayed = Given { source: Source::Replayed, stored: true, ..error };
        failed.given(11, A, error).called(20, B).given(21, B, replayed).breaks()
    };
    assert_eq!(error("rerun"), [Rule::NobodysValue]);
    assert_eq!(error("detach"), []);
}

#[test]
fn under_reconcile_an_effect_is_enough_for_a_value() {
    let killed = Disturbance::Killed { process: 0, life: 0 };
    let reconciled = |effect: bool| {
        let mut tale = Tale::of("reconcile").called(0, A).began(1, A, 900);
        if effect {
            tale = tale.and(50, What::Effect { call: A });
        }
        let answer = Some(crate::soak::history::Effect::Happened(A));
        tale.disturbed(100, 110, killed)
            .called(1_200, B)
            .and(1_300, What::Asked { call: B, answer })
            .given(1_310, B, Given { source: Source::Reconciled, ..fresh(A) })
            .breaks()
    };
    assert_eq!(reconciled(true), []);
    assert_eq!(reconciled(false), [Rule::NobodysValue]);
}
