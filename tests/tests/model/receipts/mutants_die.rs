//! Each mutant, in a setting that has what it takes to catch it, and no more: so the way to what it
//! breaks is found soon.

use super::mutants::Mutant;
use super::setting::{Caller, Setting};
use super::settings_hold::callers;
use super::story::kill;
use crate::setting::Fault;

/// Two callers and a worker.
fn setting(mutant: Mutant, faults: &[Fault]) -> Setting {
    let count = u8::try_from(faults.len()).expect("a few");
    let mut setting = Setting::of("two callers and a worker").faults(count, faults);
    setting.mutant = Some(mutant);
    setting
}

/// A caller that calls twice, and a worker.
fn one_caller(mutant: Mutant, faults: &[Fault]) -> Setting {
    Setting { name: "a caller and a worker", callers: callers(&[2]), ..setting(mutant, faults) }
}

// Of who finds a receipt.

#[test]
fn model_receipts_kills_a_receipt_given_without_a_look() {
    kill(&one_caller(Mutant::GivesUnread, &[]), "no receipt of a dead run is given again");
}

#[test]
fn model_receipts_kills_a_queue_timeout_that_only_discards() {
    let mut setting = one_caller(Mutant::QueueTimeoutDiscards, &[]);
    setting.queue_timeout = 2;
    kill(&setting, "a receipt is removed only of a run that is over");
}

#[test]
fn model_receipts_kills_a_verdict_without_the_replace() {
    let setting = one_caller(Mutant::VerdictWithoutReplace, &[Fault::Crash]);
    kill(&setting, "a receipt is removed only of a run that is over");
}

/// Its worker comes back between the read and the replace, and lapses once more.
#[test]
fn model_receipts_kills_a_hold_not_checked_in_the_replace() {
    let faults = &[Fault::Pause, Fault::Pause, Fault::Pause];
    let mut setting = one_caller(Mutant::HoldNotInReplace, faults);
    setting.body = (9, 9);
    setting.calm = 9;
    setting.late_until = 2;
    kill(&setting, "a success inside the hold counts");
}

#[test]
fn model_receipts_kills_a_hold_of_the_readers_own() {
    let mut setting = setting(Mutant::HoldOfTheReader, &[Fault::Crash]);
    setting.callers = vec![Caller { hold: 2, calls: 1 }, Caller { hold: 0, calls: 1 }];
    kill(&setting, "a success inside the hold counts");
}

#[test]
fn model_receipts_kills_a_reclaim_of_a_run_that_may_be_alive() {
    let setting = one_caller(Mutant::ReclaimsMaybeAlive, &[Fault::Crash]);
    kill(&setting, "a success inside the hold counts");
}

#[test]
fn model_receipts_kills_a_discard_whatever_run_is_named() {
    let mut setting = setting(Mutant::DiscardsWhatever, &[]);
    setting.callers = callers(&[2, 1]);
    kill(&setting, "a receipt is removed only of a run that is over");
}

#[test]
fn model_receipts_kills_a_delete_in_the_place_of_the_discard() {
    let mut setting = setting(Mutant::DeletesWhatever, &[]);
    setting.callers = callers(&[2, 1]);
    kill(&setting, "one new run for a dead one");
}

// Of who dispatches.

#[test]
fn model_receipts_kills_a_refused_dispatch_that_only_releases() {
    let mut setting = one_caller(Mutant::RefusedOnlyReleases, &[]);
    setting.refusals = true;
    kill(&setting, "a refused run never starts");
}

#[test]
fn model_receipts_kills_a_dispatch_that_begins_again_unread() {
    let setting = setting(Mutant::BeginsAgainUnread, &[Fault::Pause]);
    kill(&setting, "no receipt is stored of a run known to be over");
}

#[test]
fn model_receipts_kills_a_keeper_that_begins_again_unread() {
    let mut setting = setting(Mutant::KeeperBeginsAgainUnread, &[]);
    setting.enqueue = 1;
    kill(&setting, "no receipt is stored of a run known to be over");
}

// Of the worker.

#[test]
fn model_receipts_kills_a_worker_that_takes_a_lapsed_run() {
    let mut setting = one_caller(Mutant::TakesLapsed, &[Fault::Pause]);
    setting.workers = 2;
    setting.deliveries = 2;
    kill(&setting, "a body starts under its own reservation");
}

#[test]
fn model_receipts_kills_a_worker_that_polls_before_it_sees_to_the_receipt() {
    let setting = setting(Mutant::PollsBeforeReceipt, &[Fault::Crash]);
    kill(&setting, "a new run only once no other can succeed");
}

#[test]
fn model_receipts_kills_a_worker_that_does_not_renew_after_it() {
    let mut setting = one_caller(Mutant::NoRenewalAfterReceipt, &[]);
    setting.cancels = 1;
    kill(&setting, "a body starts under its own reservation");
}

#[test]
fn model_receipts_kills_a_skipped_run_that_is_not_stored() {
    let setting = setting(Mutant::SkippedNotStored, &[Fault::Crash]);
    kill(&setting, "a run that is handed out is seen to");
}

#[test]
fn model_receipts_kills_a_worker_that_begins_again_after_gone() {
    let mut setting = one_caller(Mutant::WorkerBeginsAgain, &[Fault::Pause]);
    setting.callers = callers(&[1]);
    setting.cancels = 1;
    setting.ttl = 2;
    setting.calm = 6;
    setting.body = (1, 6);
    kill(&setting, "a run has one end");
}

// Of who cancels.

#[test]
fn model_receipts_kills_a_cancel_over_an_end() {
    let mut setting = one_caller(Mutant::CancelsAnEnd, &[]);
    setting.cancels = 1;
    kill(&setting, "a run has one end");
}
