//! Random runs of the protocol as it is, told as histories: the check of the soak's histories finds
//! nothing wrong with them.

use std::collections::BTreeSet;

use idem_runtime::{OnCrash, OnDrop, OnLost};
use idem_tests::soak::Dice;

use crate::properties::Situation as S;
use crate::report::say;
use crate::setting::{Fault, Policy, Setting};
use crate::story::judge;
use crate::telling::tell;
use crate::walk::Walk;

/// How many runs of each setting, if `MODEL_RUNS` does not say.
const RUNS: u64 = 1_500;

/// The three ways to be lost and to be dropped.
fn policies() -> [(&'static str, Policy); 3] {
    let of = |on_lost, on_drop| Policy { on_lost, on_drop, ..Policy::DEFAULT };
    [
        ("finish, hold", of(OnLost::Finish, OnDrop::Hold)),
        ("cancel, release", of(OnLost::Cancel, OnDrop::Release)),
        ("ignore, detach", of(OnLost::Ignore, OnDrop::Detach)),
    ]
}

/// Three callers that come over a long time, and three faults of any kind.
fn wild(name: &'static str, policy: Policy) -> Setting {
    let mut setting = Setting::of(name, policy).and(&[Fault::Drop]);
    setting.callers.push(policy);
    setting.faults = 3;
    // An answer of reconcile takes no longer than a body, and is not to be taken for a call that hangs.
    setting.body = (0, if policy.on_crash == OnCrash::Reconcile { 3 } else { 6 });
    setting.calm = 12;
    setting.late_until = 17;
    setting.end = 60;
    setting
}

/// The setting for one run: two kinds of faults only, so that there is more of the same, and bodies that
/// may be brief or that last.
fn narrowed(setting: &Setting, dice: &mut Dice) -> Setting {
    let kinds = [dice.pick(&setting.kinds), dice.pick(&setting.kinds)];
    let mut setting = setting.clone().faults(setting.faults, &kinds);
    setting.body.0 = dice.pick(&[0, setting.body.1 / 2, setting.body.1]);
    setting
}

/// Fails if a run breaks a property, or its history a rule, or if nothing came by these situations.
fn no_false_alarm(settings: &[Setting], situations: &[S]) {
    let runs = std::env::var("MODEL_RUNS").map_or(RUNS, |runs| runs.parse().expect("a number"));
    let (mut reached, mut lines) = (BTreeSet::new(), 0);
    for (nth, setting) in settings.iter().enumerate() {
        for seed in 0..runs {
            let mut dice = Dice::of(seed, &[nth as u64]);
            let walk = Walk::throw(&narrowed(setting, &mut dice), &[], &mut dice);
            assert_eq!(walk.broken, [], "{}, seed {seed}", setting.name);
            let history = tell(setting, &walk);
            let violations = judge(setting, &history);
            let what = &walk.describe();
            assert!(violations.is_empty(), "{}, seed {seed}: {violations:?}\n{what}", setting.name);
            reached.extend(walk.strides.into_iter().flat_map(|stride| stride.reached));
            lines += history.len();
        }
    }
    for situation in situations {
        assert!(reached.contains(situation), "no run came by {situation:?}");
    }
    let runs = runs * settings.len() as u64;
    say(&format!("model: {runs} runs as histories of {lines} lines; no violation"));
}

/// What runs by the three ways come by.
const ALL: [S; 11] = [
    S::Stored,
    S::StoredLapsed,
    S::Replayed,
    S::Freed,
    S::Deferred,
    S::NoAnswer,
    S::Dropped,
    S::Forfeited,
    S::LeaseLost,
    S::Ignored,
    S::Stopped,
];

#[test]
fn model_histories_rerun() {
    let settings = policies().map(|(name, policy)| wild(name, policy));
    no_false_alarm(&settings, &ALL);
}

#[test]
fn model_histories_refuse() {
    let on_crash = OnCrash::Refuse;
    let settings = policies().map(|(name, policy)| wild(name, Policy { on_crash, ..policy }));
    no_false_alarm(&settings, &[S::Stored, S::Replayed, S::Unknown]);
}

#[test]
fn model_histories_reconcile() {
    let on_crash = OnCrash::Reconcile;
    let settings = policies().map(|(name, policy)| wild(name, Policy { on_crash, ..policy }));
    no_false_alarm(&settings, &[S::Stored, S::Replayed, S::Unknown, S::TookOver]);
}

/// Owners stand still for longer than their window.
#[test]
fn model_histories_of_late_owners() {
    let policies = [Policy::DEFAULT, Policy { retention: 9, ..Policy::REFUSE }, Policy::RECONCILE];
    let settings = policies.map(|policy| {
        let mut setting = wild("late owners", policy).faults(2, &[Fault::ReplyLost, Fault::Pause]);
        setting.body = (0, 1);
        setting.calm = 16;
        setting
    });
    no_false_alarm(&settings, &[S::TooLate, S::StoredLapsed, S::Unknown]);
}

/// The store loses records, or all of them, or is away.
#[test]
fn model_histories_of_a_store_that_forgets() {
    let settings = [Policy::DEFAULT, Policy::REFUSE, Policy::RECONCILE].map(|policy| {
        let faults = [Fault::Evict, Fault::Outage, Fault::Wipe];
        let mut setting = wild("a store that forgets", policy).and(&faults);
        setting.body = (0, 3);
        setting
    });
    no_false_alarm(&settings, &[S::Stored, S::StoredLapsed, S::Gone, S::ReservedAgain]);
}

/// Callers call again after a crash, are refused at once, or have other arguments.
#[test]
fn model_histories_of_other_callers() {
    let again = wild("calls again", Policy { calls: 2, ..Policy::RECONCILE });
    let refused = wild("refused at once", Policy { waits: false, ..Policy::REFUSE });
    let mut others = wild("other arguments", Policy::DEFAULT);
    for (caller, fingerprint) in [1, 2, 1].into_iter().enumerate() {
        others.callers[caller].fingerprint = fingerprint;
    }
    let mut fine = wild("eight ticks a lease", Policy::DEFAULT);
    fine.lease = 8;
    fine.ttl = 8;
    fine.store_timeout = 3;
    fine.end = 90;
    no_false_alarm(&[again, refused, others, fine], &[S::Mismatch, S::InProgress, S::TookOver]);
}
