//! Every policy, explored within bounds.

use idem_runtime::{OnCrash, OnDrop, OnLost};

use crate::properties::Situation as S;

use crate::setting::{Fault, MESSAGES, Policy, Setting};
use crate::story::explore;

/// How long bodies take that are to be stopped, or are to run on after their loss.
const LONG: (u8, u8) = (3, 6);
/// `on_lost = cancel` and `on_drop = release`.
const CANCEL: Policy =
    Policy { on_lost: OnLost::Cancel, on_drop: OnDrop::Release, ..Policy::DEFAULT };
/// `on_lost = ignore` and `on_drop = detach`.
const IGNORE: Policy =
    Policy { on_lost: OnLost::Ignore, on_drop: OnDrop::Detach, ..Policy::DEFAULT };

// One fault of any kind, for each policy.

#[test]
fn model_rerun() {
    let setting = Setting::of("rerun, finish, hold", Policy::DEFAULT).and(&[Fault::Drop]);
    let all = [S::Stored, S::Replayed, S::Freed, S::Dropped, S::Deferred, S::LeaseLost];
    explore(setting, 131_659, &all);
}

#[test]
fn model_rerun_cancel_release() {
    let mut setting = Setting::of("rerun, cancel, release", CANCEL).and(&[Fault::Drop]);
    setting.body = LONG;
    explore(setting, 127_067, &[S::Stored, S::Replayed, S::Stopped, S::Dropped, S::Forfeited]);
}

#[test]
fn model_rerun_ignore_detach() {
    let mut setting = Setting::of("rerun, ignore, detach", IGNORE).and(&[Fault::Drop]);
    setting.body = LONG;
    explore(setting, 127_851, &[S::Stored, S::StoredLapsed, S::Lost, S::Ignored, S::Dropped]);
}

#[test]
fn model_refuse() {
    let setting = Setting::of("refuse, finish, hold", Policy::REFUSE).and(&[Fault::Drop]);
    explore(setting, 127_236, &[S::Stored, S::Replayed, S::Unknown, S::NoAnswer]);
}

#[test]
fn model_refuse_cancel_release() {
    let policy = Policy { on_crash: OnCrash::Refuse, ..CANCEL };
    let mut setting = Setting::of("refuse, cancel, release", policy).and(&[Fault::Drop]);
    setting.body = LONG;
    explore(setting, 124_748, &[S::Stored, S::Unknown, S::Stopped, S::Dropped]);
}

#[test]
fn model_reconcile() {
    let setting = Setting::of("reconcile, finish, hold", Policy::RECONCILE).and(&[Fault::Drop]);
    explore(setting, 147_910, &[S::Stored, S::Replayed, S::Unknown, S::TookOver, S::Lost]);
}

#[test]
fn model_reconcile_cancel_release() {
    let policy = Policy { on_crash: OnCrash::Reconcile, ..CANCEL };
    let mut setting = Setting::of("reconcile, cancel, release", policy).and(&[Fault::Drop]);
    setting.body = LONG;
    explore(setting, 156_534, &[S::Stored, S::Stopped, S::Unknown, S::TookOver]);
}

#[test]
fn model_reconcile_ignore_detach() {
    let policy = Policy { on_crash: OnCrash::Reconcile, ..IGNORE };
    let mut setting = Setting::of("reconcile, ignore, detach", policy).and(&[Fault::Drop]);
    setting.body = LONG;
    explore(setting, 158_869, &[S::Stored, S::Lost, S::Ignored, S::TookOver]);
}

// More than one fault, or of another kind.

#[test]
fn model_two_faults() {
    let mut setting = Setting::of("rerun, two faults", Policy::DEFAULT);
    setting.faults = 2;
    setting.body = (0, 1);
    setting.calm = 4;
    explore(setting, 315_238, &[S::Stored, S::StoredLapsed, S::Replayed, S::Gone]);
}

#[test]
fn model_operator() {
    let mut setting = Setting::of("refuse, an operator", Policy::REFUSE)
        .faults(1, &[Fault::Crash, Fault::Pause, Fault::Late, Fault::ReplyLate]);
    setting.operator = true;
    setting.errors = false;
    setting.calm = 5;
    explore(setting, 129_789, &[S::Stored, S::Replayed, S::Unknown, S::Decided]);
}

#[test]
fn model_expiry_at_any_moment() {
    let mut setting = Setting::of("rerun, expiry at any moment", Policy::DEFAULT)
        .faults(2, &[Fault::Evict, Fault::Late, Fault::ReplyLost]);
    setting.body = (0, 1);
    setting.calm = 4;
    explore(setting, 237_785, &[S::Stored, S::StoredLapsed, S::Gone, S::ReservedAgain, S::Lost]);
}

#[test]
fn model_restarts_of_the_store() {
    let mut setting =
        Setting::of("rerun, the store restarts with or without data", Policy::DEFAULT)
            .faults(1, &[Fault::Outage, Fault::Wipe]);
    setting.errors = false;
    explore(setting, 130_546, &[S::Stored, S::StoredLapsed, S::Gone, S::ReservedAgain, S::TooLate]);
}

#[test]
fn model_restarts_of_a_caller() {
    let policy = Policy { calls: 2, ..Policy::RECONCILE };
    let mut setting = Setting::of("reconcile, callers crash and call again", policy)
        .faults(2, &[Fault::Crash, Fault::Late]);
    setting.body = (0, 1);
    setting.errors = false;
    setting.calm = 4;
    explore(setting, 282_405, &[S::Stored, S::Replayed, S::TookOver]);
}

/// Late enough for faults to meet a takeover.
#[test]
fn model_takeovers() {
    let mut setting = Setting::of("reconcile, faults at a takeover", Policy::RECONCILE)
        .faults(2, &MESSAGES)
        .and(&[Fault::Crash]);
    setting.body = (1, 1);
    setting.errors = false;
    setting.calm = 7;
    explore(setting, 124_455, &[S::Stored, S::TookOver, S::Unknown]);
}

#[test]
fn model_three_callers() {
    let mut setting = Setting::of("rerun, three callers", Policy::DEFAULT)
        .faults(1, &MESSAGES)
        .and(&[Fault::Crash, Fault::Pause]);
    setting.callers = vec![Policy::DEFAULT; 3];
    setting.body = (0, 1);
    setting.calm = 5;
    setting.errors = false;
    explore(setting, 138_349, &[S::Stored, S::Replayed, S::Forfeited]);
}

/// A tick is half of a renewal's interval, so that renewals are answered later than they were sent.
#[test]
fn model_fine_ticks() {
    let mut setting = Setting::of("rerun, eight ticks a lease", Policy::DEFAULT);
    setting.lease = 8;
    setting.ttl = 8;
    setting.store_timeout = 3;
    setting.body = (2, 5);
    setting.calm = 8;
    setting.late_until = 14;
    setting.end = 40;
    explore(setting, 228_828, &[S::Stored, S::Replayed]);
}

#[test]
fn model_mixed_versions() {
    let mut setting =
        Setting::of("mixed policies and arguments", Policy::DEFAULT).and(&[Fault::Drop]);
    setting.callers = vec![
        Policy { fingerprint: 1, ..Policy::DEFAULT },
        Policy { waits: false, ..Policy::RECONCILE },
        Policy { fingerprint: 2, ..Policy::REFUSE },
    ];
    setting.body = (0, 1);
    setting.calm = 3;
    setting.errors = false;
    explore(setting, 58_620, &[S::Stored, S::Replayed, S::Mismatch, S::Unknown, S::InProgress]);
}

/// Promise 6 stops short of two commands of one owner that are under way when its window ends: here
/// no window does.
#[test]
fn model_two_held_back() {
    let mut setting = Setting::of("rerun, two commands of an owner held back", Policy::DEFAULT)
        .faults(2, &[Fault::Late, Fault::Twice]);
    setting.held_back = 2;
    setting.ttl = 30;
    setting.errors = false;
    setting.calm = 5;
    explore(setting, 46_989, &[S::Stored, S::Replayed]);
}

// What takes a long body, or a long pause.

/// Every lost renewal but the third in a row is absorbed.
#[test]
fn model_renewals_are_missed() {
    let mut setting =
        Setting::of("rerun, renewals are lost", Policy::DEFAULT).faults(2, &[Fault::Lost]);
    setting.body = (5, 6);
    setting.errors = false;
    explore(setting, 8_934, &[S::Stored, S::Replayed]);
}

#[test]
fn model_renewals_are_answered_late() {
    let mut setting = Setting::of("rerun, renewals are answered late", Policy::DEFAULT)
        .faults(2, &[Fault::ReplyLate, Fault::Pause]);
    setting.lease = 8;
    setting.ttl = 8;
    setting.body = (10, 10);
    setting.errors = false;
    setting.faults_until = 4;
    setting.calm = 12;
    setting.late_until = 13;
    setting.end = 44;
    explore(setting, 275_052, &[S::Stored, S::StoredLapsed, S::LeaseLost, S::Replayed]);
}

#[test]
fn model_begun_again_after_gone() {
    let mut setting = Setting::of("rerun, begun again after gone", Policy::DEFAULT)
        .faults(3, &[Fault::Evict, Fault::ReplyLost, Fault::Pause]);
    setting.body = (6, 6);
    setting.errors = false;
    setting.faults_until = 4;
    setting.calm = 7;
    explore(setting, 687_097, &[S::Stored, S::StoredLapsed, S::ReservedAgain, S::LeaseLost]);
}

#[test]
fn model_back_after_the_window() {
    let mut setting = Setting::of("rerun, back after its window", Policy::DEFAULT)
        .faults(2, &[Fault::ReplyLost, Fault::Pause]);
    setting.body = (0, 1);
    setting.errors = false;
    setting.faults_until = 4;
    setting.calm = 8;
    explore(setting, 186_559, &[S::Stored, S::TooLate, S::Replayed]);
}
