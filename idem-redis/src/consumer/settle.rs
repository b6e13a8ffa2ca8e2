//! Settling: what a run was done with is acknowledged, what is given up goes to the dead letters.
//!
//! Messages stay in hand until the server has answered, so that they are not delivered again for want
//! of a connection.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use super::event::ConsumerEventKind as Kind;
use super::hand::{Settling, Taken};
use super::replies::Owned;
use super::run::{Run, ids};
use super::stream::{PAGE, Pending};
use crate::connections::PAUSE_AFTER_FAILURE;

/// The most of an error that is kept with a dead letter.
const MOST_OF_AN_ERROR: usize = 1_000;

/// What is to be settled. It holds its run, and so the messages in hand.
pub(super) enum Job {
    /// The handler succeeded.
    Acknowledge { run: Arc<Run>, messages: Vec<Taken>, took: Duration },
    /// A message is not tried again.
    Bury { run: Arc<Run>, message: Taken, error: String },
}

/// Settles what comes until `finish`, and what had come by then; tries again until `give_up`.
pub(super) async fn settle(
    desk: &Desk,
    mut jobs: mpsc::UnboundedReceiver<Job>,
    finish: CancellationToken,
    give_up: CancellationToken,
) {
    let mut batch = Vec::new();
    loop {
        let count = tokio::select! {
            biased;
            count = jobs.recv_many(&mut batch, PAGE) => count,
            () = finish.cancelled(), if !jobs.is_closed() => {
                jobs.close();
                continue;
            }
        };
        if count == 0 {
            return;
        }
        let mut is_repeated = false;
        while attempt(desk, &mut batch, is_repeated).await {
            tokio::select! {
                () = sleep(PAUSE_AFTER_FAILURE) => is_repeated = true,
                () = give_up.cancelled() => batch.clear(),
            }
        }
    }
}

/// Tries to settle all of these; those stay that were not answered. Whether there are any.
async fn attempt(desk: &Desk, batch: &mut Vec<Job>, is_repeated: bool) -> bool {
    let mut done = Vec::new();
    let mut unanswered = Vec::new();
    for job in batch.drain(..) {
        match job {
            Job::Acknowledge { run, messages, took } => {
                done.push(Done { run, messages, took, to_send: Vec::new() });
            }
            Job::Bury { run, message, error } => {
                if let Err(job) = bury(desk, run, message, error, is_repeated).await {
                    unanswered.push(job);
                }
            }
        }
    }
    unanswered.extend(acknowledge(desk, done, is_repeated).await);
    *batch = unanswered;
    !batch.is_empty()
}

/// A run whose messages are to be acknowledged, and those of them that need it.
struct Done {
    run: Arc<Run>,
    messages: Vec<Taken>,
    took: Duration,
    to_send: Vec<Taken>,
}

/// Acknowledges runs; gives those back that were not answered.
async fn acknowledge(desk: &Desk, mut done: Vec<Done>, is_repeated: bool) -> Vec<Job> {
    // Of a run that has lost a message nothing is acknowledged.
    done.retain_mut(|done| {
        let Settling { to_send, is_lost } = desk.hand.settle(&done.messages);
        done.to_send = to_send;
        !is_lost
    });
    if done.is_empty() {
        return Vec::new();
    }
    let leased = |done: &Done| done.to_send.iter().map(|message| message.leased).collect();
    let runs: Vec<Vec<_>> = done.iter().map(leased).collect();
    match desk.stream.acknowledge(&runs, desk.options.delete_on_ack).await {
        Ok(found) => {
            for (done, owned) in done.iter().zip(found) {
                judge(desk, done, &owned, is_repeated);
            }
            Vec::new()
        }
        Err(error) => {
            let all: Vec<_> = done.iter().flat_map(|done| ids(&done.messages)).collect();
            desk.tell(Kind::SettleFailed { ids: &all, error: &error });
            if error.is_answer() {
                return Vec::new();
            }
            let again = |Done { run, messages, took, .. }| Job::Acknowledge { run, messages, took };
            done.into_iter().map(again).collect()
        }
    }
}

/// What the server found of one run. Pending for nobody is an acknowledgement that was sent before.
fn judge(desk: &Desk, done: &Done, owned: &[Owned], is_repeated: bool) {
    let is_lost = |owned: Owned| match owned {
        Owned::Mine | Owned::Trimmed => false,
        Owned::Gone => !is_repeated,
        Owned::Taken => true,
    };
    let found = done.to_send.iter().copied().zip(owned.iter().copied());
    // As lost, even where it is pending for nobody: this run's acknowledgement was not the one.
    let lost: Vec<_> =
        found.filter(|(_, owned)| is_lost(*owned)).map(|(message, _)| (message, false)).collect();
    if lost.is_empty() {
        desk.tell(Kind::Done { ids: &ids(&done.messages), took: done.took });
    } else {
        desk.tell_losses(&desk.hand.lose(&lost));
    }
}

/// Moves a message to the dead letters; gives the job back if that was not answered.
async fn bury(
    desk: &Desk,
    run: Arc<Run>,
    message: Taken,
    error: String,
    is_repeated: bool,
) -> Result<(), Job> {
    let Some(dead) = desk.options.dead_letter.as_deref() else { return Ok(()) };
    let consumer = desk.stream.consumer.as_bytes().to_vec();
    let seen = Pending { leased: message.leased, consumer, idle: Duration::ZERO };
    let Settling { to_send, is_lost } = desk.hand.settle(&[message]);
    if is_lost {
        return Ok(());
    }
    if to_send.is_empty() {
        // The attempt before has arrived, or it has been deleted from the stream, which was told.
        if is_repeated {
            tell_dead(desk, &seen, &error);
        }
        return Ok(());
    }
    let buried = entomb(desk, &seen, dead, &error).await;
    match buried {
        Ok(Owned::Mine) => {}
        // By the attempt before, which was not answered.
        Ok(Owned::Gone) if is_repeated => tell_dead(desk, &seen, &error),
        Ok(Owned::Trimmed) => desk.tell(Kind::Trimmed { id: message.leased.id }),
        Ok(Owned::Gone | Owned::Taken) => {
            desk.tell_losses(&desk.hand.lose(&[(message, false)]));
        }
        Err(failed) if !failed.is_answer() => {
            return Err(Job::Bury { run, message, error });
        }
        Err(_) => {}
    }
    Ok(())
}

/// Moves a message to the dead letters that is as it was seen, and tells of it.
pub(super) async fn entomb(
    desk: &Desk,
    seen: &Pending,
    dead: &str,
    error: &str,
) -> Result<Owned, idem_runtime::BackendError> {
    let error: String = error.chars().take(MOST_OF_AN_ERROR).collect();
    let buried = desk.stream.bury(seen, dead, desk.options.delete_on_ack, &error).await;
    match &buried {
        Ok(Owned::Mine) => tell_dead(desk, seen, &error),
        Ok(_) => {}
        Err(failed) => {
            desk.tell(Kind::SettleFailed { ids: &[seen.leased.id], error: failed });
        }
    }
    buried
}

fn tell_dead(desk: &Desk, seen: &Pending, error: &str) {
    let deliveries = seen.leased.deliveries;
    desk.tell(Kind::Dead { id: seen.leased.id, deliveries, error });
}
