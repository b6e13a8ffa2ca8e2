//! The check of the soak's histories, put to the test by the model: runs of the protocol as it is are
//! histories without a violation, and what a mutant breaks is a violation of a rule that says so.

use std::collections::BTreeMap;

use idem_tests::soak::Dice;
use idem_tests::soak::check::{Violation, check};
use idem_tests::soak::story::Story;

use crate::setting::Setting;
use crate::telling::{operation, tell};
use crate::walk::Walk;

/// What is wrong with the history of a run.
fn judge(setting: &Setting, walk: &Walk) -> Vec<Violation> {
    check(&Story::of_calls_to(&[operation(setting)], &tell(setting, walk)))
}

use idem_runtime::{OnCrash, OnDrop, OnLost};

use crate::setting::{Fault, MESSAGES, Policy};

const CANCEL: Policy =
    Policy { on_lost: OnLost::Cancel, on_drop: OnDrop::Release, ..Policy::DEFAULT };
const IGNORE: Policy =
    Policy { on_lost: OnLost::Ignore, on_drop: OnDrop::Detach, ..Policy::DEFAULT };

fn wild(name: &'static str, policy: Policy) -> Setting {
    let mut setting = Setting::of(name, policy).and(&[Fault::Drop]);
    setting.callers.push(policy);
    setting.faults = 3;
    setting.body = (0, 6);
    setting.calm = 12;
    setting.late_until = 17;
    setting.end = 60;
    setting
}

#[test]
fn explore_all() {
    let n = std::env::var("WALKS").ok().map_or(300, |n| n.parse().unwrap());
    let with = |policy: Policy, on_crash| Policy { on_crash, ..policy };
    let mut settings = Vec::new();
    for (policy, name) in [(Policy::DEFAULT, "hold"), (CANCEL, "cancel"), (IGNORE, "ignore")] {
        for on_crash in [OnCrash::Rerun, OnCrash::Refuse, OnCrash::Reconcile] {
            settings.push(wild(name, with(policy, on_crash)));
            let mut lossy = wild("lossy", with(policy, on_crash)).and(&[
                Fault::Evict,
                Fault::Wipe,
                Fault::Outage,
            ]);
            lossy.body = (0, 3);
            settings.push(lossy);
        }
    }
    for setting in settings {
        let mut counts = BTreeMap::new();
        let mut shown = BTreeMap::new();
        for seed in 0..n {
            let mut dice = Dice::of(seed, &[1]);
            let walk = Walk::throw(&setting, &[], &mut dice);
            assert_eq!(walk.broken, []);
            for violation in judge(&setting, &walk) {
                *counts.entry(violation.rule).or_insert(0) += 1;
                shown.entry(violation.rule).or_insert_with(|| {
                    let mut text = format!("seed {seed} {}\n", violation.what);
                    for s in &walk.strides {
                        if s.step != crate::steps::Step::Pass {
                            text +=
                                &format!("   {} {:?} {:?}\n", s.before.now, s.step, s.after.store);
                        }
                    }
                    for line in tell(&setting, &walk) {
                        text += &format!(
                            "{:>9.4} {:?}\n",
                            (line.at - 1_000_000_000) as f64 / 1_500_000.0,
                            line.what
                        );
                    }
                    text
                });
            }
        }
        println!("{} {:?}: {counts:?}", setting.name, setting.callers[0].on_crash);
        for (rule, text) in shown {
            println!("{rule:?}: {text}");
        }
    }
    let _ = MESSAGES;
}
