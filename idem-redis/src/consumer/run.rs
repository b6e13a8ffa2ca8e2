//! A run: a handler called for a message or a batch that is in hand.

use std::any::Any;
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use super::event::ConsumerEventKind as Kind;
use super::fields::Fields;
use super::hand::{Hand, Started, Taken};
use super::handler::{Prepared, Work, Worked};
use super::hold::{Hold, Stop};
use super::message_id::MessageId;
use super::settle::Job;
use super::slots::Slot;
use super::stream::{Delivery, Leased};

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
    Failed(String),
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
    let Some((run, deliveries)) = begin(&desk, unit).await else { return };
    let hold = Arc::clone(&run.hold);
    let Prepared { work, undecodable } = desk.handler.prepare(deliveries, &hold);
    let readable = without(&run.messages, &undecodable);
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
        Ended::Succeeded => desk.settle(Job::Acknowledge { run, messages: readable, took }),
        Ended::Failed(error) => fail(&desk, &run, &readable, &error),
        Ended::Stopped(Stop::Lost) => {}
        Ended::Stopped(Stop::TooLong) => {
            desk.tell(Kind::TooLong { ids: &ids(&readable), took });
            retire(&desk, &run, &readable, "its handler ran past max_processing");
        }
        Ended::Stopped(Stop::Shutdown) => desk.tell(Kind::Cancelled { ids: &ids(&readable) }),
    }
}

/// Begins a run with those messages that are still in hand, if there are any, once the runs of their
/// earlier deliveries have ended.
async fn begin(desk: &Desk, mut unit: Unit) -> Option<(Arc<Run>, Vec<Delivery>)> {
    let taken = unit.taken();
    let cancel_on_lost = desk.options.cancel_on_lease_lost;
    let hold = |all| Arc::new(Hold::new(all, cancel_on_lost));
    let Started { messages, hold, earlier } = desk.hand.start(&taken, hold)?;
    let hand = Arc::clone(&desk.hand);
    let run = Arc::new(Run { hand, hold, messages });
    for earlier in earlier {
        earlier.ended().await;
    }
    if run.hold.is_lost() {
        return None;
    }
    // From here on they are the run's.
    let unit = std::mem::take(&mut unit.messages);
    let here = unit.into_iter().filter(|(taken, _)| run.messages.contains(taken));
    let deliveries = here.map(|(taken, fields)| Delivery { leased: taken.leased, fields });
    let deliveries = deliveries.collect();
    Some((run, deliveries))
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
    let (hold, kept) = (&run.hold, Arc::clone(run));
    let mut thread = tokio::task::spawn_blocking(move || {
        let worked = catch_unwind(AssertUnwindSafe(work));
        drop(kept);
        worked
    });
    let worked = tokio::select! {
        biased;
        worked = &mut thread => worked,
        () = past(desk.options.max_processing) => {
            hold.stop(Stop::TooLong);
            thread.await
        }
        () = over.cancelled() => {
            hold.stop(Stop::Shutdown);
            thread.await
        }
    };
    match hold.why() {
        Some(why @ (Stop::Lost | Stop::TooLong)) => Ended::Stopped(why),
        // What it did in spite of a shutdown is done.
        Some(Stop::Shutdown) | None => match worked {
            Ok(worked) => judge(worked),
            Err(_) => Ended::Stopped(Stop::Shutdown),
        },
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
        Ok(Err(error)) => Ended::Failed(error),
        Err(panic) => {
            let said = panic.downcast_ref::<&str>().map(ToString::to_string);
            let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
            Ended::Failed(format!("its handler panicked: {}", said.unwrap_or_default()))
        }
    }
}

/// The handler failed.
fn fail(desk: &Desk, run: &Arc<Run>, messages: &[Taken], error: &str) {
    for Taken { leased: Leased { id, deliveries }, .. } in messages {
        desk.tell(Kind::Failed { id: *id, deliveries: *deliveries, error });
    }
    retire(desk, run, messages, error);
}

/// After their last delivery messages go to the dead letters. The others are let go, and taken again
/// when they have rested.
fn retire(desk: &Desk, run: &Arc<Run>, messages: &[Taken], error: &str) {
    for message in messages {
        if desk.options.is_last(message.leased.deliveries) {
            let (run, error) = (Arc::clone(run), error.to_owned());
            desk.settle(Job::Bury { run, message: *message, error });
        }
    }
}

/// Messages that cannot be read go to the dead letters at once. Without these they are left to a
/// version of the service that can read them.
fn set_aside(desk: &Desk, run: &Arc<Run>, undecodable: Vec<(Leased, String)>) {
    for (leased, error) in undecodable {
        let message = run.messages.iter().find(|message| message.leased == leased);
        match message.copied() {
            Some(message) if desk.options.dead_letter.is_some() => {
                let error = format!("it cannot be read: {error}");
                desk.settle(Job::Bury { run: Arc::clone(run), message, error });
            }
            Some(message) => {
                desk.tell(Kind::Undecodable { id: leased.id, error: &error });
                desk.hand.let_go(&[message]);
            }
            None => {}
        }
    }
}

fn without(messages: &[Taken], undecodable: &[(Leased, String)]) -> Vec<Taken> {
    let is_readable =
        |message: &&Taken| undecodable.iter().all(|(leased, _)| *leased != message.leased);
    messages.iter().filter(is_readable).copied().collect()
}

pub(super) fn ids(messages: &[Taken]) -> Vec<MessageId> {
    messages.iter().map(|message| message.leased.id).collect()
}
