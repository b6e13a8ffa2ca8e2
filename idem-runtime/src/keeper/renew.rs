//! Renewing leases in batches.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::ask::no_answer;
use crate::attempt::{AfterReply, Attempt, DueRenewal};
use crate::backend::{BackendError, Renewal};
use crate::idem::Core;
use crate::protocol::Moment;
use crate::protocol::transition::RenewReply;
use crate::run::stopped_at_deadline;
use crate::settle::may_begin_again;
use crate::sync::spawn;
use crate::sync::time::{Instant, sleep_until, timeout_at};

/// How many leases one batch renews at most: a store should answer one well within the bound.
const LARGEST_BATCH: usize = 1_000;

/// The renewals of one tick that go together.
struct Batch {
    attempts: Vec<(Arc<Attempt>, Moment, Duration)>,
    renewals: Vec<Renewal>,
    bound: Duration,
}

/// Sends the renewals of one tick: those in the same part of the store and with the same time to
/// answer go together.
pub(super) fn start(core: &Arc<Core>, due: Vec<(Arc<Attempt>, DueRenewal)>) {
    let mut batches: HashMap<(u64, Duration), Batch> = HashMap::new();
    for (attempt, DueRenewal { renewal, sent, late, bound }) in due {
        let empty = || Batch { attempts: Vec::new(), renewals: Vec::new(), bound };
        let group = core.keeper.group(&renewal.key);
        let batch = batches.entry((group, bound)).or_insert_with(empty);
        batch.attempts.push((attempt, sent, late));
        batch.renewals.push(renewal);
        if batch.renewals.len() == LARGEST_BATCH {
            let full = std::mem::replace(batch, empty());
            spawn(send(Arc::clone(core), full));
        }
    }
    for batch in batches.into_values().filter(|batch| !batch.renewals.is_empty()) {
        spawn(send(Arc::clone(core), batch));
    }
}

async fn send(core: Arc<Core>, mut batch: Batch) {
    let until = core.clock.instant(core.clock.now().after(batch.bound));
    let replies = match timeout_at(until, answers(&core, &batch.renewals)).await {
        Ok(replies) => replies,
        // They may have taken effect all the same; the next interval finds out.
        Err(_) => batch.renewals.iter().map(|_| Err(no_answer())).collect(),
    };
    let sent = std::mem::take(&mut batch.attempts);
    let unanswered = std::iter::repeat_with(|| Err(no_answer()));
    for (renewed, reply) in sent.into_iter().zip(replies.into_iter().chain(unanswered)) {
        answered(&core, renewed, &reply);
    }
}

fn answered(
    core: &Arc<Core>,
    (attempt, sent, late): (Arc<Attempt>, Moment, Duration),
    reply: &Result<RenewReply, BackendError>,
) {
    let after = attempt.renewal_answered(reply, (sent, late), core.clock.now());
    if after == AfterReply::ReserveAgain {
        spawn(reserve_again(Arc::clone(core), attempt));
    } else if let Some(deadline) = attempt.deadline_of_its_own() {
        spawn(watch_deadline(core.clock.instant(deadline), Arc::downgrade(&attempt)));
    }
}

/// A batch that is dropped without answers, by a backend that panicked say, is unanswered: its
/// leases are renewed at the next interval.
impl Drop for Batch {
    fn drop(&mut self) {
        for (attempt, sent, late) in std::mem::take(&mut self.attempts) {
            let now = attempt.core().clock.now();
            attempt.renewal_answered(&Err(no_answer()), (sent, late), now);
        }
    }
}

/// Stops an action at its deadline whose key is another's.
async fn watch_deadline(deadline: Instant, attempt: Weak<Attempt>) {
    sleep_until(deadline).await;
    if let Some(attempt) = attempt.upgrade()
        && attempt.look(attempt.core().clock.now()).too_long
    {
        stopped_at_deadline(&attempt);
    }
}

async fn answers(core: &Core, renewals: &[Renewal]) -> Vec<Result<RenewReply, BackendError>> {
    core.keeper.store().await.renew(renewals).await
}

/// The store has no record of a lease whose action runs: begins again with the same owner, until
/// that is answered. The end of the attempt waits for the answer; it is only given up when the
/// attempt's window has ended, after which nothing but a release is sent.
async fn reserve_again(core: Arc<Core>, attempt: Arc<Attempt>) {
    let reservation = attempt.reservation();
    let _answered = ReservesAgain(&attempt);
    loop {
        let now = core.clock.now();
        // Only as long as the action runs, and may still be told of it.
        if !attempt.runs_on() || !attempt.with_tenure(|tenure| tenure.window_is_open(now)) {
            return;
        }
        let bound = attempt.with_tenure(|tenure| tenure.attempt_bound());
        let until = now.after(bound);
        let begin = async {
            let store = core.keeper.store().await;
            if !may_begin_again(&**store, &attempt, until).await? {
                return Ok(None);
            }
            store.begin(attempt.key(), &reservation, attempt.terms().lease).await.map(Some)
        };
        match timeout_at(core.clock.instant(until), begin).await {
            // The completion finds out by itself.
            Ok(Ok(None)) => return,
            Ok(Ok(Some(reply))) => {
                attempt.reserved_again(&reply, core.clock.now());
                if let Some(deadline) = attempt.deadline_of_its_own() {
                    watch_deadline(core.clock.instant(deadline), Arc::downgrade(&attempt)).await;
                }
                return;
            }
            Ok(Err(_)) | Err(_) => sleep_until(core.clock.instant(until)).await,
        }
    }
}

/// Lets the end of the attempt go on when this is dropped, however that comes about.
struct ReservesAgain<'a>(&'a Attempt);

impl Drop for ReservesAgain<'_> {
    fn drop(&mut self) {
        self.0.not_reserved_again();
    }
}
