//! Each mutant, in a setting that has what it takes to catch it, and no more: so the way to what it
//! breaks is found soon.

use idem_tests::properties::Property;

use crate::mutants::Mutant;
use crate::setting::{Fault, Policy, Setting};
use crate::story::kill;

/// Two callers by `policy` whose bodies last for a lease and more.
fn setting(mutant: Mutant, policy: Policy, faults: &[Fault]) -> Setting {
    let count = u8::try_from(faults.len()).expect("a few");
    let mut setting = Setting::of("two callers", policy).faults(count, faults);
    setting.body = (0, 5);
    setting.mutant = Some(mutant);
    setting
}

fn rerun(mutant: Mutant, faults: &[Fault]) -> Setting {
    setting(mutant, Policy::DEFAULT, faults)
}

// Of the store.

#[test]
fn model_kills_a_compare_without_the_owner() {
    let setting = rerun(Mutant::ComparesWithoutOwner, &[Fault::Pause]);
    kill(&setting, Property::StaleChangesNothing);
}

#[test]
fn model_kills_an_unconditional_complete() {
    kill(&rerun(Mutant::CompletesAnything, &[Fault::Pause]), Property::StaleChangesNothing);
}

#[test]
fn model_kills_an_unconditional_release() {
    kill(&rerun(Mutant::ReleasesAnything, &[Fault::Pause]), Property::StaleChangesNothing);
}

#[test]
fn model_kills_a_renewal_that_creates() {
    kill(&rerun(Mutant::RenewalCreates, &[Fault::Late]), Property::EndedHoldsNothing);
}

#[test]
fn model_kills_a_complete_that_stores_where_nothing_is() {
    kill(&rerun(Mutant::StoresWhereNothingIs, &[Fault::Twice]), Property::ExpiredStaysExpired);
}

#[test]
fn model_kills_a_begin_that_knows_itself_in_an_outcome() {
    kill(&rerun(Mutant::KnowsItselfInOutcome, &[Fault::Twice]), Property::AcquiredIsReserved);
}

#[test]
fn model_kills_a_replace_by_owner_alone() {
    let mut setting = setting(Mutant::ReplacesByOwnerAlone, Policy::REFUSE, &[]);
    setting.operator = true;
    kill(&setting, Property::OutcomeIsFinal);
}

// Of the begin.

#[test]
fn model_kills_a_takeover_in_two_steps() {
    let setting = setting(Mutant::TakeoverInTwoSteps, Policy::RECONCILE, &[Fault::Crash]);
    kill(&setting, Property::CrashIsNotForgotten);
}

#[test]
fn model_kills_a_mismatch_that_cleans_up() {
    let mut setting = rerun(Mutant::MismatchCleansUp, &[]);
    setting.callers = [1, 2].map(|fingerprint| Policy { fingerprint, ..Policy::DEFAULT }).to_vec();
    kill(&setting, Property::StaleChangesNothing);
}

#[test]
fn model_kills_the_retention_of_the_reader() {
    let mut setting = rerun(Mutant::RetentionOfTheReader, &[]);
    setting.callers = vec![Policy::DEFAULT, Policy::RECONCILE];
    kill(&setting, Property::NoCrashWithoutBody);
}

#[test]
fn model_kills_a_crash_remembered_before_the_body_ran() {
    let setting = setting(Mutant::RememberedBeforeArmed, Policy::REFUSE, &[Fault::Crash]);
    kill(&setting, Property::NoCrashWithoutBody);
}

#[test]
fn model_kills_a_first_poll_without_time_left() {
    let setting = rerun(Mutant::FirstPollWithoutTimeLeft, &[Fault::Pause]);
    kill(&setting, Property::StartsUnderOwnReservation);
}

#[test]
fn model_kills_a_takeover_released_before_it_was_answered() {
    let crash = &[Fault::Crash];
    let mut setting = setting(Mutant::TakeoverReleasedUnanswered, Policy::RECONCILE, crash);
    setting.name = "three callers";
    setting.callers.push(Policy::RECONCILE);
    setting.body = (0, 0);
    kill(&setting, Property::CrashIsNotForgotten);
}

// Of the owner's clock.

#[test]
fn model_kills_a_deadline_from_the_reply() {
    let faults = &[Fault::ReplyLate, Fault::Pause];
    let mut setting = rerun(Mutant::DeadlineFromReply, faults);
    setting.body = (4, 5);
    kill(&setting, Property::StartsUnderOwnReservation);
}

#[test]
fn model_kills_a_deadline_from_a_repeated_begin() {
    let faults = &[Fault::ReplyLost, Fault::Pause];
    kill(&rerun(Mutant::DeadlineFromRepeat, faults), Property::OneBeliever);
}

#[test]
fn model_kills_a_begin_after_gone_that_moves_the_deadline() {
    let faults = &[Fault::Evict, Fault::ReplyLost, Fault::Pause];
    let mut setting = rerun(Mutant::AgainMovesDeadline, faults);
    setting.body = (6, 6);
    setting.errors = false;
    setting.faults_until = 4;
    setting.calm = 7;
    kill(&setting, Property::OneBeliever);
}

#[test]
fn model_kills_renewals_at_a_third() {
    let faults = &[Fault::Lost, Fault::Lost];
    kill(&rerun(Mutant::RenewsAtAThird, faults), Property::TwoMissesAreAbsorbed);
}

// Of the end.

#[test]
fn model_kills_a_begin_after_gone_that_is_not_waited_for() {
    let faults = &[Fault::Evict, Fault::Late];
    kill(&rerun(Mutant::AgainNotWaitedFor, faults), Property::EndedHoldsNothing);
}

#[test]
fn model_kills_an_owner_that_writes_after_its_window() {
    let faults = &[Fault::ReplyLost, Fault::Pause];
    kill(&rerun(Mutant::WritesAfterWindow, faults), Property::ExpiredStaysExpired);
}

/// An owner that is paused between two tries sends once more after its window. If a begin of its own
/// that was held back arrives just then, an outcome that has expired is stored again.
#[test]
fn model_kills_a_repeat_after_the_window() {
    let mut setting = Setting::of("rerun, a pause between two tries", Policy::DEFAULT)
        .faults(3, &[Fault::Twice, Fault::ReplyLost, Fault::Pause]);
    setting.mutant = Some(Mutant::RepeatsAfterWindow);
    setting.body = (0, 0);
    setting.errors = false;
    setting.calm = 8;
    kill(&setting, Property::ExpiredStaysExpired);
}

/// Its body has run and its outcome is not on record: under `refuse` and `reconcile` the call after its
/// release runs the body a second time.
#[test]
fn model_kills_a_release_after_the_window_that_forgets() {
    let policy = Policy { retention: 9, ..Policy::REFUSE };
    let mut setting =
        Setting::of("refuse, a ttl shorter than the retention", policy).faults(1, &[Fault::Pause]);
    setting.mutant = Some(Mutant::ReleaseForgets);
    setting.calm = 12;
    kill(&setting, Property::CrashIsNotForgotten);
}
