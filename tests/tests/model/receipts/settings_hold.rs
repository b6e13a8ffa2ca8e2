//! What the page promises, explored within bounds.

use super::properties::Situation as S;
use super::setting::{Caller, Setting};
use super::story::explore;
use crate::setting::Fault;

const MESSAGES: [Fault; 4] = [Fault::Lost, Fault::ReplyLost, Fault::Late, Fault::Twice];

/// Callers that call so often.
pub(crate) fn callers(calls: &[u8]) -> Vec<Caller> {
    calls.iter().map(|calls| Caller { hold: 2, calls: *calls }).collect()
}

#[test]
fn model_receipts_kills() {
    let mut setting = Setting::of("receipts, kills").faults(2, &[Fault::Crash]);
    setting.body = (0, 1);
    setting.callers = vec![Caller { hold: 2, calls: 1 }, Caller { hold: 1, calls: 1 }];
    explore(setting, 28_511, &[S::Issued, S::Replayed, S::MaybeAlive, S::Reclaimed, S::Succeeded]);
}

#[test]
fn model_receipts_pauses() {
    let mut setting = Setting::of("receipts, pauses").faults(1, &[Fault::Pause]);
    setting.calm = 6;
    setting.late_until = 6;
    let marked = [S::Marked, S::AliveAfterAll, S::FoundNext, S::SucceededLate, S::Told];
    explore(setting, 82_491, &marked);
}

#[test]
fn model_receipts_messages() {
    let setting = Setting::of("receipts, messages").faults(1, &MESSAGES);
    explore(setting, 54_689, &[S::Issued, S::Replayed, S::Doubt, S::GivenBack, S::Succeeded]);
}

#[test]
fn model_receipts_redelivery() {
    let mut setting =
        Setting::of("receipts, handed out twice").faults(1, &[Fault::Crash, Fault::Pause]);
    setting.workers = 2;
    setting.deliveries = 2;
    setting.calm = 4;
    setting.late_until = 6;
    setting.callers = callers(&[2]);
    explore(setting, 93_845, &[S::Issued, S::NotStarted, S::Succeeded]);
}

#[test]
fn model_receipts_cancels() {
    let mut setting = Setting::of("receipts, cancelled").faults(1, &[Fault::Pause]);
    setting.cancels = 1;
    setting.callers = callers(&[2]);
    explore(setting, 159_345, &[S::Issued, S::Cancelled, S::CancelRefused, S::Told, S::Forfeited]);
}

#[test]
fn model_receipts_refused() {
    let mut setting =
        Setting::of("receipts, refused by the queue").faults(1, &[Fault::Crash, Fault::Pause]);
    setting.refusals = true;
    setting.calm = 3;
    setting.late_until = 4;
    explore(setting, 85_102, &[S::Issued, S::Failed, S::RefusedTooLate]);
}

/// Slow enough for a dispatch to be renewed, and to be gone when it is.
#[test]
fn model_receipts_slow_queue() {
    let mut setting = Setting::of("receipts, a slow queue").faults(1, &[Fault::Pause]);
    setting.enqueue = 1;
    setting.body = (0, 0);
    setting.calm = 3;
    setting.late_until = 4;
    explore(setting, 208_417, &[S::Issued, S::Gone, S::ReadBeforeAgain, S::GivenAnothers]);
}

#[test]
fn model_receipts_expire() {
    let mut setting = Setting::of("receipts, short ttl").faults(1, &[Fault::Crash, Fault::Pause]);
    setting.ttl = 2;
    setting.late_until = 6;
    explore(setting, 78_978, &[S::Issued, S::Skipped, S::ReceiptBegunAnew]);
}

#[test]
fn model_receipts_queue_timeout() {
    let mut setting =
        Setting::of("receipts, a run waits too long").faults(1, &[Fault::Crash, Fault::Pause]);
    setting.queue_timeout = 2;
    explore(setting, 79_454, &[S::Marked, S::AliveAfterAll, S::Reclaimed]);
}

#[test]
fn model_receipts_retries() {
    let mut setting = Setting::of("receipts, tried again").faults(1, &[Fault::Crash, Fault::Pause]);
    setting.retries = 1;
    setting.body = (0, 1);
    setting.workers = 2;
    setting.callers = callers(&[2]);
    explore(setting, 92_947, &[S::ToBeRetried, S::Succeeded]);
}

#[test]
fn model_receipts_three_callers() {
    let mut setting = Setting::of("receipts, three callers").faults(1, &[Fault::Crash]);
    setting.callers = callers(&[1, 1, 1]);
    explore(setting, 127_350, &[S::Issued, S::FoundNext, S::Reclaimed]);
}
