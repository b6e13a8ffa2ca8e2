//! One owner at a time, leases that are renewed, and owners that are told.

use super::*;

#[test]
fn two_owners_never_claim_a_key_at_once() {
    let until = |claimed: u64| {
        Tale::of("rerun")
            .disturbed(100, 3_000, Disturbance::Paused(0))
            .called(0, A)
            .began(10, A, claimed)
            .ended(3_000, A, End::Returned)
            .refused(3_001, A, "LeaseLost")
            .stored(1_000, 1_100, B)
    };
    assert_eq!(until(1_002).breaks(), [Rule::TwoClaims]);
    assert_eq!(until(1_000).breaks(), []);
}

#[test]
fn a_dead_owner_claims_its_key_to_the_end_of_its_lease() {
    let taken_over = |at: u64| {
        let killed = Disturbance::Killed { process: 0, life: 0 };
        let dead = Tale::of("rerun").called(0, A).began(1, A, CLAIM).disturbed(100, 110, killed);
        dead.stored(at, at + 100, B)
    };
    assert_eq!(taken_over(CLAIM - 10).breaks(), [Rule::TwoClaims]);
    assert_eq!(taken_over(CLAIM + 10).breaks(), []);
}

#[test]
fn an_owner_that_frees_its_key_claims_it_no_more() {
    let frees = |end| Tale::of("cancel").called(0, A).began(1, A, 600).ended(50, A, end);
    let next = |tale: Tale| tale.and(60, What::Abandoned { call: A }).stored(100, 200, B).breaks();
    assert_eq!(next(frees(End::Dropped)), []);
    let holds = Tale::of("rerun").called(0, A).began(1, A, CLAIM).ended(50, A, End::Dropped);
    assert_eq!(next(holds), [Rule::TwoClaims]);
}

#[test]
fn a_store_that_lost_everything_is_a_reason_for_two_claims() {
    let emptied = |from: u64| {
        Tale::of("rerun")
            .disturbed(from, from + 50, Disturbance::ServerEmptied)
            .called(0, A)
            .began(1, A, CLAIM)
            .holds(200, A, 200 + CLAIM)
            .ended(700, A, End::Returned)
            .refused(701, A, "LeaseLost")
            .stored(400, 900, B)
    };
    assert_eq!(emptied(340).breaks(), []);
    assert_eq!(emptied(1_000).breaks(), [Rule::TwoClaims, Rule::WrongError]);
}

#[test]
fn a_lease_lapses_only_for_a_reason() {
    let lapsed = Tale::of("rerun")
        .called(10_000, A)
        .began(10_001, A, 10_720)
        .holds(10_730, A, 10_730)
        .ended(11_000, A, End::Returned)
        .given(11_001, A, Given { lapsed: true, ..fresh(A) });
    assert_eq!(lapsed.clone().breaks(), [Rule::LapsedForNoReason]);
    let reasons = [
        Disturbance::Paused(0),
        Disturbance::Way(0),
        Disturbance::Stalled(0),
        Disturbance::ServerPaused,
        Disturbance::ServerStalled,
    ];
    for reason in reasons {
        assert_eq!(lapsed.clone().disturbed(10_100, 10_700, reason).breaks(), [], "{reason:?}");
    }
    let none = [Disturbance::Blocked(0), Disturbance::Paused(1), Disturbance::Way(1)];
    for other in none {
        let tale = lapsed.clone().disturbed(10_100, 10_700, other);
        assert_eq!(tale.breaks(), [Rule::LapsedForNoReason], "{other:?}");
    }
    let long_ago = lapsed.clone().disturbed(5_000, 6_000, Disturbance::ServerPaused);
    assert_eq!(long_ago.breaks(), [Rule::LapsedForNoReason]);
    let short = lapsed.disturbed(10_100, 10_150, Disturbance::Stalled(0));
    assert_eq!(short.breaks(), [Rule::LapsedForNoReason]);
    // What is claimed ends with the action's deadline, which began a little before its first line.
    let stopped = |at: u64| {
        let tale = Tale::of("cancel").called(10_000, A).began(10_001, A, 10_720);
        let tale = tale.holds(at, A, at).ended(11_150, A, End::Dropped);
        tale.refused(11_151, A, "DeadlineExceeded").breaks()
    };
    assert_eq!(stopped(11_102), []);
    assert_eq!(stopped(11_100), []);
    assert_eq!(stopped(10_900), [Rule::LapsedForNoReason]);
}

#[test]
fn an_owner_is_told_that_it_lapsed_only_for_a_reason() {
    let told = |lapsed| {
        let tale = Tale::of("rerun").ran(10_000, 10_300, A);
        tale.given(10_301, A, Given { lapsed, ..fresh(A) })
    };
    assert_eq!(told(false).breaks(), []);
    assert_eq!(told(true).breaks(), [Rule::LapsedForNoReason]);
    assert_eq!(told(true).disturbed(10_100, 10_200, Disturbance::ServerEmptied).breaks(), []);
    let anothers = told(true).disturbed(10_100, 10_200, Disturbance::Paused(1));
    assert_eq!(anothers.breaks(), [Rule::LapsedForNoReason]);
}

#[test]
fn a_body_begins_with_most_of_its_lease() {
    let with = |left: u64| {
        let begun = Tale::of("rerun").called(10_000, A).began(10_001, A, 10_001 + left);
        begun.ended(10_050, A, End::Returned).fresh(10_051, A)
    };
    assert_eq!(with(LEASE / 3).breaks(), [Rule::BeganLate]);
    assert_eq!(with(LEASE / 3 * 2).breaks(), []);
    for by in [Disturbance::Paused(0), Disturbance::Stalled(0), Disturbance::Blocked(0)] {
        assert_eq!(with(LEASE / 3).disturbed(9_900, 10_000, by).breaks(), [], "{by:?}");
    }
    // What keeps replies from it does not keep it from its first line.
    for by in [Disturbance::Way(0), Disturbance::ServerPaused, Disturbance::Paused(1)] {
        let tale = with(LEASE / 3).disturbed(9_900, 10_000, by);
        assert_eq!(tale.breaks(), [Rule::BeganLate], "{by:?}");
    }
}

#[test]
fn an_owner_that_lapsed_is_told() {
    let overtaken = |given: Given| {
        Tale::of("rerun")
            .disturbed(10, 2_000, Disturbance::Paused(0))
            .called(0, A)
            .began(1, A, CLAIM)
            .ended(2_000, A, End::Returned)
            .given(2_001, A, given)
            .called(900, B)
            .began(901, B, 901 + CLAIM)
            .ended(950, B, End::Failed)
            .given(951, B, Given { error: true, stored: false, ..fresh(B) })
    };
    assert_eq!(overtaken(fresh(A)).breaks(), [Rule::NotTold]);
    assert_eq!(overtaken(Given { stored: false, ..fresh(A) }).breaks(), [Rule::NotTold]);
    assert_eq!(overtaken(Given { lapsed: true, ..fresh(A) }).breaks(), []);
}

#[test]
fn fences_grow_from_owner_to_owner() {
    let fences = |first, second| {
        let fence = |call, number| What::Fence { call, number };
        let two = Tale::of("rerun").stored(0, 100, A).stored(3_000, 3_100, B);
        two.and(50, fence(A, first)).and(3_050, fence(B, second)).breaks()
    };
    assert_eq!(fences(7, 7), [Rule::Fence]);
    assert_eq!(fences(7, 6), [Rule::Fence]);
    assert_eq!(fences(7, 8), []);
}
