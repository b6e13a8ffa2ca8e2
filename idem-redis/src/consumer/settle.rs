//! Settling: what a run was done with is acknowledged, what is given up goes to the dead letters.
//!
//! Messages stay in hand until the server has answered, so that they are not delivered again for want
//! of a connection.

use std::sync::Arc;
use std::time::Duration;

use idem_runtime::BackendError;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use super::event::ConsumerEventKind as Kind;
use super::hand::{Settling, Taken};
use super::replies::Owned;
use super::run::{Run, ids};
use super::slots::Unsettled;
use super::stream::{PAGE, Pending};
use crate::connections::PAUSE_AFTER_FAILURE;

/// The most of an error that is kept with a dead letter.
const MOST_OF_AN_ERROR: usize = 1_000;

/// What is to be settled. It holds its run, and so the messages in hand.
pub(super) struct Job {
    pub(super) run: Arc<Run>,
    pub(super) end: End,
    /// No more is taken while much waits to be settled.
    pub(super) unsettled: Unsettled,
}

/// How messages end.
pub(super) enum End {
    /// The handler succeeded.
    Done { messages: Vec<Taken>, took: Duration },
    /// A message is not tried again.
    Dead { message: Taken, error: String },
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
        // What is handed in after the end of all patience is tried once.
        let late = async {
            give_up.cancelled().await;
            sleep(desk.stream.times().command).await;
        };
        tokio::pin!(late);
        loop {
            let again = tokio::select! {
                again = attempt(desk, &mut batch, is_repeated) => again,
                () = &mut late => false,
            };
            if !again || give_up.is_cancelled() {
                break;
            }
            sleep(PAUSE_AFTER_FAILURE).await;
            is_repeated = true;
        }
        batch.clear();
    }
}

/// Tries to settle all of these; those stay that were not answered. Whether there are any.
async fn attempt(desk: &Desk, batch: &mut Vec<Job>, is_repeated: bool) -> bool {
    let (mut done, mut dead) = (Vec::new(), Vec::new());
    for Job { run, end, unsettled } in batch.drain(..) {
        match end {
            End::Done { messages, took } => {
                done.push(Done { run, messages, took, to_send: Vec::new(), unsettled });
            }
            End::Dead { message, error } => dead.push(Dead { run, message, error, unsettled }),
        }
    }
    batch.extend(acknowledge(desk, done, is_repeated).await);
    batch.extend(bury(desk, dead, is_repeated).await);
    !batch.is_empty()
}

/// A message that goes to the dead letters.
struct Dead {
    run: Arc<Run>,
    message: Taken,
    error: String,
    unsettled: Unsettled,
}

/// A run whose messages are to be acknowledged, and those of them that need it.
struct Done {
    run: Arc<Run>,
    messages: Vec<Taken>,
    took: Duration,
    to_send: Vec<Taken>,
    unsettled: Unsettled,
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
            let again = |Done { run, messages, took, unsettled, .. }| Job {
                run,
                end: End::Done { messages, took },
                unsettled,
            };
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

/// Moves messages to the dead letters; gives those back that were not answered.
async fn bury(desk: &Desk, dead: Vec<Dead>, is_repeated: bool) -> Vec<Job> {
    let (mut sent, mut seen) = (Vec::new(), Vec::new());
    for dead in dead {
        let (leased, consumer) = (dead.message.leased, desk.stream.consumer.as_bytes().to_vec());
        let of = Pending { leased, consumer, idle: Duration::ZERO };
        let Settling { to_send, is_lost } = desk.hand.settle(&[dead.message]);
        if !to_send.is_empty() {
            seen.push((of, dead.error.clone()));
            sent.push(dead);
        } else if is_repeated && !is_lost {
            // The attempt before has arrived.
            tell_dead(desk, &of, &dead.error);
        }
    }
    let buried = entomb(desk, &seen).await;
    let mut unanswered = Vec::new();
    for ((dead, (of, error)), buried) in sent.into_iter().zip(&seen).zip(buried) {
        match buried {
            Ok(Owned::Mine | Owned::Trimmed) | Err(true) => {}
            Ok(Owned::Gone) if is_repeated => tell_dead(desk, of, error),
            Ok(Owned::Gone | Owned::Taken) => {
                desk.tell_losses(&desk.hand.lose(&[(dead.message, false)]));
            }
            Err(false) => {
                let Dead { run, message, error, unsettled } = dead;
                unanswered.push(Job { run, end: End::Dead { message, error }, unsettled });
            }
        }
    }
    unanswered
}

/// Moves messages to the dead letters that are as they were seen, each with its error, and tells of it.
/// In place of what was found, whether the server refused or did not answer.
pub(super) async fn entomb(desk: &Desk, seen: &[(Pending, String)]) -> Vec<Result<Owned, bool>> {
    let Some(dead) = desk.options.dead_letter.as_deref().filter(|_| !seen.is_empty()) else {
        return Vec::new();
    };
    let short = |(seen, error): &(Pending, String)| {
        (seen.clone(), error.chars().take(MOST_OF_AN_ERROR).collect())
    };
    let seen: Vec<(Pending, String)> = seen.iter().map(short).collect();
    let buried = desk.stream.bury(&seen, dead, desk.options.delete_on_ack).await;
    let tell = |((seen, error), buried): (&(Pending, String), Result<Owned, BackendError>)| {
        match &buried {
            Ok(Owned::Mine) => tell_dead(desk, seen, error),
            Ok(Owned::Trimmed) => desk.tell(Kind::Trimmed { id: seen.leased.id }),
            Ok(_) => {}
            Err(failed) => {
                desk.tell(Kind::SettleFailed { ids: &[seen.leased.id], error: failed });
            }
        }
        buried.map_err(|failed| failed.is_answer())
    };
    seen.iter().zip(buried).map(tell).collect()
}

fn tell_dead(desk: &Desk, seen: &Pending, error: &str) {
    let deliveries = seen.leased.deliveries;
    desk.tell(Kind::Dead { id: seen.leased.id, deliveries, error });
}
