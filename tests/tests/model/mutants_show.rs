//! Each mutant whose break can be seen from outside is seen in a history: the shortest way to what it
//! breaks, gone on with to the end of the run, is a violation of a rule for that property.
//!
//! Some breaks show only if somebody looks: then it is the shortest way on which somebody does.

use idem_tests::properties::Property;
use idem_tests::soak::Dice;
use idem_tests::soak::check::{Rule, Violation};

use crate::message::Fate;
use crate::mutants::Mutant;
use crate::report::say;
use crate::setting::{Fault, Policy, Setting};
use crate::state::{Call, Stage, World};
use crate::steps::{Channel, Step};
use crate::story::{judge, shortest};
use crate::telling::tell;
use crate::walk::Walk;

/// In how many ways a run is gone on with.
const WAYS: u64 = 2_000;

/// Two callers, or three, that come over a long time.
fn setting(mutant: Mutant, policy: Policy, faults: &[Fault]) -> Setting {
    let count = u8::try_from(faults.len()).expect("a few");
    let mut setting = Setting::of("histories", policy).faults(count, faults);
    setting.body = (0, 5);
    setting.calm = 12;
    setting.late_until = 17;
    setting.end = 60;
    setting.mutant = Some(mutant);
    setting
}

fn rerun(mutant: Mutant, faults: &[Fault]) -> Setting {
    setting(mutant, Policy::DEFAULT, faults)
}

/// A way to the break: how it begins, and in what state it ends.
struct Way {
    first: &'static [Step],
    goal: fn(&World) -> bool,
}

/// The shortest of all.
const ANY: Way = Way { first: &[], goal: |_| true };
/// A body runs at the break.
const ONE_RUNS: Way = Way { first: &[], goal: |world| running(world) > 0 };
/// Two do.
const TWO_RUN: Way = Way { first: &[], goal: |world| running(world) > 1 };
/// The body of the first caller has begun, under a remembered reservation: whoever stopped before that
/// may as well have stopped on the verge of it.
const BEGUN: &[Step] = &[
    Step::Arrive(0),
    Step::Send(0, Channel::Call, Fate::Answered),
    Step::Send(0, Channel::Call, Fate::Answered),
    Step::Start(0),
];

fn running(world: &World) -> usize {
    let runs = |call: &Call| call.attempt().is_some_and(|attempt| attempt.stage == Stage::Running);
    world.callers.iter().filter(|caller| runs(&caller.call)).count()
}

/// Fails unless the mutant's break is a violation in a history.
fn shows(setting: &Setting, property: Property, way: &Way) {
    let first = shortest(setting, way.first, property, way.goal);
    let mutant = setting.mutant;
    assert_eq!(mutant.and_then(why_unseen), None, "{mutant:?} is said to be unseen");
    let seen = seen(setting, property, &first);
    let seen =
        seen.unwrap_or_else(|| panic!("no history shows that {mutant:?} breaks {property:?}"));
    say(&format!(
        "model: {mutant:?}, told as a history, is seen by {:?}: {}",
        seen.rule, seen.what
    ));
}

/// A violation that says so of this property, in a run that begins with these steps.
fn seen(setting: &Setting, property: Property, first: &[Step]) -> Option<Violation> {
    (0..WAYS).find_map(|seed| {
        let walk = Walk::throw(setting, first, &mut Dice::of(seed, &[1]));
        let mut violations = judge(setting, &tell(setting, &walk)).into_iter();
        violations.find(|violation| violation.rule.properties().contains(&property))
    })
}

/// Why no history shows what a mutant breaks.
fn why_unseen(mutant: Mutant) -> Option<&'static str> {
    match mutant {
        Mutant::KnowsItselfInOutcome => Some("its property is not seen from outside"),
        Mutant::RememberedBeforeArmed => {
            Some("whoever stopped before its body ran may have stopped on the verge of it")
        }
        Mutant::FirstPollWithoutTimeLeft => Some(
            "a body that begins without a claim after a pause may have been paused between the check and \
             its first line",
        ),
        Mutant::AgainNotWaitedFor => {
            Some("a copy of a begin after *gone* may be under way when its attempt ends")
        }
        _ => None,
    }
}

// Of the store.

#[test]
fn model_histories_show_a_compare_without_the_owner() {
    let setting = rerun(Mutant::ComparesWithoutOwner, &[Fault::Pause]);
    shows(&setting, Property::StaleChangesNothing, &ANY);
}

#[test]
fn model_histories_show_an_unconditional_complete() {
    let setting = rerun(Mutant::CompletesAnything, &[Fault::Pause]);
    shows(&setting, Property::StaleChangesNothing, &ONE_RUNS);
}

#[test]
fn model_histories_show_an_unconditional_release() {
    let setting = rerun(Mutant::ReleasesAnything, &[Fault::Pause]);
    shows(&setting, Property::StaleChangesNothing, &ANY);
}

/// Where crashes are remembered: the next call is told of one that there was not.
#[test]
fn model_histories_show_a_renewal_that_creates() {
    let setting = setting(Mutant::RenewalCreates, Policy::REFUSE, &[Fault::Late]);
    shows(&setting, Property::EndedHoldsNothing, &ANY);
}

#[test]
fn model_histories_show_a_complete_that_stores_where_nothing_is() {
    let setting = rerun(Mutant::StoresWhereNothingIs, &[Fault::Twice]);
    shows(&setting, Property::ExpiredStaysExpired, &ANY);
}

#[test]
fn model_histories_show_a_replace_by_owner_alone() {
    let mut setting = setting(Mutant::ReplacesByOwnerAlone, Policy::REFUSE, &[]);
    setting.operator = true;
    shows(&setting, Property::OutcomeIsFinal, &ANY);
}

// Of the begin.

#[test]
fn model_histories_show_a_takeover_in_two_steps() {
    let setting = setting(Mutant::TakeoverInTwoSteps, Policy::RECONCILE, &[Fault::Crash]);
    shows(&setting, Property::CrashIsNotForgotten, &Way { first: BEGUN, ..ANY });
}

#[test]
fn model_histories_show_a_mismatch_that_cleans_up() {
    let mut setting = rerun(Mutant::MismatchCleansUp, &[]);
    setting.callers = [1, 2].map(|fingerprint| Policy { fingerprint, ..Policy::DEFAULT }).to_vec();
    shows(&setting, Property::StaleChangesNothing, &ANY);
}

#[test]
fn model_histories_show_the_retention_of_the_reader() {
    let mut setting = rerun(Mutant::RetentionOfTheReader, &[]);
    setting.callers = vec![Policy::DEFAULT, Policy::RECONCILE];
    shows(&setting, Property::NoCrashWithoutBody, &ONE_RUNS);
}

#[test]
fn model_histories_show_a_takeover_released_before_it_was_answered() {
    let mut setting =
        setting(Mutant::TakeoverReleasedUnanswered, Policy::RECONCILE, &[Fault::Crash]);
    setting.callers.push(Policy::RECONCILE);
    shows(&setting, Property::CrashIsNotForgotten, &Way { first: BEGUN, ..ANY });
}

// Of the owner's clock.

#[test]
fn model_histories_show_a_deadline_from_the_reply() {
    let mut setting = rerun(Mutant::DeadlineFromReply, &[Fault::ReplyLate, Fault::Pause]);
    setting.body = (4, 5);
    shows(&setting, Property::StartsUnderOwnReservation, &TWO_RUN);
}

#[test]
fn model_histories_show_a_deadline_from_a_repeated_begin() {
    let setting = rerun(Mutant::DeadlineFromRepeat, &[Fault::ReplyLost, Fault::Pause]);
    shows(&setting, Property::OneBeliever, &TWO_RUN);
}

#[test]
fn model_histories_show_a_begin_after_gone_that_moves_the_deadline() {
    let faults = &[Fault::Evict, Fault::ReplyLost, Fault::Pause];
    let mut setting = rerun(Mutant::AgainMovesDeadline, faults);
    setting.body = (6, 6);
    setting.errors = false;
    setting.faults_until = 4;
    setting.calm = 7;
    shows(&setting, Property::OneBeliever, &TWO_RUN);
}

#[test]
fn model_histories_show_renewals_at_a_third() {
    let setting = rerun(Mutant::RenewsAtAThird, &[Fault::Lost, Fault::Lost]);
    shows(&setting, Property::TwoMissesAreAbsorbed, &ANY);
}

// Of the end.

/// The second caller has had the outcome before it ends; a third gets it again after that.
const HEARD: Way = Way { first: &[], goal: |world| world.callers[1].call == Call::Over };
/// The first caller is paused in its body until its window has ended, and renews its reservation: what it
/// returns after that cannot have been stored before, and its release meets one that has not lapsed.
const BACK_TOO_LATE: &[Step] = &[
    Step::Arrive(0),
    Step::Send(0, Channel::Call, Fate::Answered),
    Step::Send(0, Channel::Call, Fate::Answered),
    Step::Start(0),
    Step::Fault(Fault::Pause, 0),
    Step::Pass,
    Step::Pass,
    Step::Pass,
    Step::Pass,
    Step::Pass,
    Step::Pass,
    Step::Pass,
    Step::Pass,
    Step::Resume(0),
    Step::Send(0, Channel::Renewal, Fate::Answered),
];

#[test]
fn model_histories_show_an_owner_that_writes_after_its_window() {
    let mut setting = rerun(Mutant::WritesAfterWindow, &[Fault::ReplyLost, Fault::Pause]);
    setting.callers.push(Policy::DEFAULT);
    setting.body = (0, 0);
    setting.errors = false;
    shows(&setting, Property::ExpiredStaysExpired, &HEARD);
}

#[test]
fn model_histories_show_a_repeat_after_the_window() {
    let faults = &[Fault::Twice, Fault::ReplyLost, Fault::Pause];
    let mut setting = rerun(Mutant::RepeatsAfterWindow, faults);
    setting.callers.push(Policy::DEFAULT);
    setting.body = (0, 0);
    setting.errors = false;
    shows(&setting, Property::ExpiredStaysExpired, &HEARD);
}

#[test]
fn model_histories_show_a_release_after_the_window_that_forgets() {
    let policy = Policy { retention: 9, ..Policy::REFUSE };
    let setting = setting(Mutant::ReleaseForgets, policy, &[Fault::Pause]);
    shows(&setting, Property::CrashIsNotForgotten, &Way { first: BACK_TOO_LATE, ..ANY });
}

// Of those that are not seen.

#[test]
fn model_histories_do_not_show_what_may_have_been_another_reason() {
    let crash = &[Fault::Crash];
    let of_a_begin = [Fault::Evict, Fault::Late];
    let unseen = [
        (rerun(Mutant::KnowsItselfInOutcome, &[Fault::Twice]), Property::AcquiredIsReserved),
        (
            setting(Mutant::RememberedBeforeArmed, Policy::REFUSE, crash),
            Property::NoCrashWithoutBody,
        ),
        (
            rerun(Mutant::FirstPollWithoutTimeLeft, &[Fault::Pause]),
            Property::StartsUnderOwnReservation,
        ),
        (
            setting(Mutant::AgainNotWaitedFor, Policy::REFUSE, &of_a_begin),
            Property::EndedHoldsNothing,
        ),
    ];
    for (setting, property) in unseen {
        let mutant = setting.mutant.expect("a mutant");
        let first = shortest(&setting, &[], property, ANY.goal);
        assert!(why_unseen(mutant).is_some() && seen(&setting, property, &first).is_none());
    }
}

/// The rule that this mutant breaks is seen all the same: where only replies were lost, nothing kept the
/// process from its first line.
#[test]
fn model_histories_show_a_first_poll_without_time_left() {
    let faults = &[Fault::ReplyLost, Fault::ReplyLost];
    let mut setting = rerun(Mutant::FirstPollWithoutTimeLeft, faults);
    setting.store_timeout = 4;
    let late = seen(&setting, Property::StartsUnderOwnReservation, &[]);
    assert_eq!(late.map(|violation| violation.rule), Some(Rule::BeganLate));
}
