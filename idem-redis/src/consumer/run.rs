//! A run: a handler called for a message or a batch that is in hand.

use std::any::Any;
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use super::event::ConsumerEventKind as Kind;
use super::failure::Failure;
use super::fields::Fields;
use super::hand::{Hand, Started, Taken};
use super::handler::{Prepared, Work, Worked, said};
use super::hold::{Hold, Stop};
use super::message_id::MessageId;
use super::renew::judge as judge_renewal;
use super::settle::End;
use super::slots::Slot;
use super::stream::{Leased, PAGE};
use crate::connections::PAUSE_AFTER_FAILURE;

/// A message or a batch that was taken for a run. Dropped, it lets its messages go.
pub(super) struct Unit {
    hand: Arc<Hand>,
    messages: Vec<(Taken, Fields)>,
}

/// Messages in the hand of a run. They are let go with it, whatever happens.
pub(super) struct Run {
    hand: Arc<Hand>,
    hold: Arc<Hold>,
    messages: Vec<Taken>,
}

/// How a run's handler ended.
enum Ended {
    Succeeded,
    Failed(Failure),
    /// It was dropped, or its result was.
    Stopped(Stop),
}

impl Unit {
    pub(super) fn new(hand: &Arc<Hand>, messages: Vec<(Taken, Fields)>) -> Self {
        Self { hand: Arc::clone(hand), messages }
    }

    pub(super) fn taken(&self) -> Vec<Taken> {
        self.messages.iter().map(|(taken, _)| *taken).collect()
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        if !self.messages.is_empty() {
            self.hand.let_go(&self.taken());
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.hand.end(&self.messages, &self.hold);
    }
}

/// Runs the handler, and hands in what is to be settled. `over` says that the consumer waits no longer.
pub(super) async fn conduct(desk: Arc<Desk>, unit: Unit, slot: Slot, over: CancellationToken) {
    let Some((run, messages)) = begin(&desk, unit, &over).await else { return };
    let hold = Arc::clone(&run.hold);
    let Prepared { work, readable, undecodable } = desk.handler.prepare(messages, &hold);
    set_aside(&desk, &run, undecodable);
    let Some(work) = work.filter(|_| !over.is_cancelled()) else { return };
    let began = Instant::now();
    let ended = match work {
        Work::Async(work) => attend(&desk, work, &hold, &over).await,
        Work::Blocking(work) => attend_thread(&desk, work, &run, &over).await,
    };
    drop(slot);
    let took = began.elapsed();
    match ended {
        Ended::Succeeded => desk.settle(run, End::Done { messages: readable, took }),
        Ended::Failed(failure) => fail(&desk, &run, &readable, &failure),
        Ended::Stopped(Stop::Lost) => {}
        Ended::Stopped(Stop::TooLong) => {
            desk.tell(Kind::TooLong { ids: &ids(&readable), took });
            retire(&desk, &run, &readable, &"its handler ran past max_processing".into());
        }
        Ended::Stopped(Stop::Shutdown) => desk.tell(Kind::Cancelled { ids: &ids(&readable) }),
    }
}

/// Begins a run with those messages that are still in hand, if there are any, once the runs of their
/// earlier deliveries have ended.
async fn begin(
    desk: &Desk,
    mut unit: Unit,
    over: &CancellationToken,
) -> Option<(Arc<Run>, Vec<(Taken, Fields)>)> {
    let taken = unit.taken();
    let cancel_on_lost = desk.options.cancel_on_lease_lost;
    let hold = |all| Arc::new(Hold::new(all, cancel_on_lost));
    let Started { messages, hold, earlier } = desk.hand.start(&taken, hold)?;
    let hand = Arc::clone(&desk.hand);
    let run = Arc::new(Run { hand, hold, messages });
    for earlier in earlier {
        earlier.ended().await;
    }
    make_sure(desk, &run, over).await;
    if run.hold.is_lost() {
        return None;
    }
    // From here on they are the run's: all of the unit that are still in hand, in its order.
    let unit = std::mem::take(&mut unit.messages);
    let mut here = run.messages.iter().peekable();
    let messages =
        unit.into_iter().filter(|(taken, _)| here.next_if_eq(&taken).is_some()).collect();
    Some((run, messages))
}

/// Nothing is started that may be another's by now: what was not known to be this consumer's for nearly
/// the idle time is asked about, until that is answered. Without a connection nothing is started.
async fn make_sure(desk: &Desk, run: &Run, over: &CancellationToken) {
    let idle = desk.options.retry_on_idle;
    loop {
        let Some(since) = Instant::now().checked_sub(idle - idle / 10) else { return };
        let doubtful = desk.hand.doubtful(&run.messages, since);
        if doubtful.is_empty() || run.hold.is_lost() || over.is_cancelled() {
            return;
        }
        let (asked, page) = (Instant::now(), &doubtful[..doubtful.len().min(PAGE)]);
        let leased = vec![page.iter().map(|taken| taken.leased).collect()];
        let answers = desk.stream.renew(&leased, desk.stream.times().command).await;
        match answers.into_iter().next() {
            Some(Ok(owned)) => drop(judge_renewal(&desk.hand, &desk.teller, page, &owned, asked)),
            _ => sleep(PAUSE_AFTER_FAILURE).await,
        }
    }
}

/// Sees to an async handler until it ends or is dropped.
async fn attend(
    desk: &Desk,
    work: impl Future<Output = Worked>,
    hold: &Hold,
    over: &CancellationToken,
) -> Ended {
    let work = pin!(AssertUnwindSafe(work).catch_unwind());
    tokio::select! {
        biased;
        why = hold.stopped() => Ended::Stopped(why),
        () = past(desk.options.max_processing) => stop(hold, Stop::TooLong),
        () = over.cancelled() => stop(hold, Stop::Shutdown),
        worked = work => judge(worked),
    }
}

/// Sees to a blocking handler until its thread returns, which nobody can hasten. Its messages are in
/// hand until then, even if the consumer is dropped.
async fn attend_thread(
    desk: &Desk,
    work: Box<dyn FnOnce() -> Worked + Send>,
    run: &Arc<Run>,
    over: &CancellationToken,
) -> Ended {
    let (hold, kept, began) = (&run.hold, Arc::clone(run), Arc::new(Notify::new()));
    let begins = Arc::clone(&began);
    let mut thread = tokio::task::spawn_blocking(move || {
        // There may have been no thread for it for long.
        if kept.hold.why().is_some() || kept.hold.is_lost() {
            return None;
        }
        begins.notify_one();
        let worked = catch_unwind(AssertUnwindSafe(work));
        drop(kept);
        Some(worked)
    });
    let too_long = async {
        began.notified().await;
        past(desk.options.max_processing).await;
    };
    // What has not begun is aborted; the rest goes on.
    let worked = tokio::select! {
        biased;
        worked = &mut thread => worked,
        () = too_long => {
            hold.stop(Stop::TooLong);
            thread.await
        }
        _ = hold.stopped() => {
            thread.abort();
            thread.await
        }
        () = over.cancelled() => {
            hold.stop(Stop::Shutdown);
            thread.abort();
            thread.await
        }
    };
    match (worked, hold.why()) {
        (Ok(Some(_)), Some(why @ (Stop::Lost | Stop::TooLong))) => Ended::Stopped(why),
        // What it did in spite of a shutdown is done.
        (Ok(Some(worked)), _) => judge(worked),
        (Ok(None) | Err(_), why) => Ended::Stopped(why.unwrap_or(Stop::Lost)),
    }
}

async fn past(most: Option<Duration>) {
    match most {
        Some(most) => sleep(most).await,
        None => pending().await,
    }
}

/// Stops a run, unless there has been a reason before.
fn stop(hold: &Hold, why: Stop) -> Ended {
    hold.stop(why);
    Ended::Stopped(hold.why().unwrap_or(why))
}

fn judge(worked: Result<Worked, Box<dyn Any + Send>>) -> Ended {
    match worked {
        Ok(Ok(())) => Ended::Succeeded,
        Ok(Err(failure)) => Ended::Failed(failure),
        Err(panic) => Ended::Failed(format!("its handler panicked: {}", said(&*panic)).into()),
    }
}

/// The handler failed.
fn fail(desk: &Desk, run: &Arc<Run>, messages: &[Taken], failure: &Failure) {
    let error = failure.text();
    for Taken { leased: Leased { id, deliveries }, .. } in messages {
        desk.tell(Kind::Failed { id: *id, deliveries: *deliveries, error });
    }
    retire(desk, run, messages, failure);
}

/// After their last delivery messages go to the dead letters. The others are let go, and taken again
/// when they have rested.
fn retire(desk: &Desk, run: &Arc<Run>, messages: &[Taken], failure: &Failure) {
    if desk.options.dead_letter.is_none() {
        return;
    }
    for message in messages {
        if failure.is_final() || desk.options.is_last(message.leased.deliveries) {
            let (run, error) = (Arc::clone(run), failure.text().to_owned());
            desk.settle(run, End::Dead { message: *message, error });
        }
    }
}

/// Messages that cannot be read go to the dead letters at once. Without these they are left to a
/// version of the service that can read them.
fn set_aside(desk: &Desk, run: &Arc<Run>, undecodable: Vec<(Taken, String)>) {
    for (message, error) in undecodable {
        if desk.options.dead_letter.is_some() {
            let error = format!("it cannot be read: {error}");
            desk.settle(Arc::clone(run), End::Dead { message, error });
        } else {
            desk.tell(Kind::Undecodable { id: message.leased.id, error: &error });
            desk.hand.let_go(&[message]);
        }
    }
}

pub(super) fn ids(messages: &[Taken]) -> Vec<MessageId> {
    messages.iter().map(|message| message.leased.id).collect()
}
