//! Starts a run for what was taken as soon as there is a place for it, and ends with all of them.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use super::event::ConsumerEventKind as Kind;
use super::hand::Taken;
use super::run::{Unit, conduct, ids};
use super::stream::PAGE;

/// Starts runs until `stop`, gives back what has not been started by then, and waits for the runs to
/// end. `over` has them end. Dropped, it drops the handlers.
pub(super) async fn start_runs(
    desk: &Arc<Desk>,
    mut queue: mpsc::UnboundedReceiver<Unit>,
    stop: CancellationToken,
    over: CancellationToken,
) {
    let mut runs = JoinSet::new();
    let mut left = None;
    while !stop.is_cancelled() {
        let unit = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(ended) = runs.join_next() => {
                look(ended);
                continue;
            }
            unit = queue.recv() => match unit {
                Some(unit) => unit,
                None => break,
            },
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => left = Some(unit),
            slot = desk.slots.take() => {
                drop(runs.spawn(conduct(Arc::clone(desk), unit, slot, over.clone())));
            }
        }
    }
    give_back(desk, left, queue).await;
    while let Some(ended) = runs.join_next().await {
        look(ended);
    }
}

/// Handlers that panic are caught, but for those that do as they are dropped.
fn look(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(target: "idem", %error, "a handler panicked while it was dropped");
    }
}

/// Gives back what was taken and not started, so that others may take it at once.
async fn give_back(desk: &Desk, left: Option<Unit>, mut queue: mpsc::UnboundedReceiver<Unit>) {
    let mut units: Vec<_> = left.into_iter().collect();
    // Until the intake has ended.
    while let Some(unit) = queue.recv().await {
        units.push(unit);
    }
    let messages: Vec<Taken> = units.iter().flat_map(Unit::taken).collect();
    // Not renewed from here on: the server counts them anew.
    drop(units);
    for page in messages.chunks(PAGE) {
        let rest = |taken: &Taken| desk.options.rest(taken.leased.deliveries - 1);
        let leased: Vec<_> = page.iter().map(|taken| (taken.leased, rest(taken))).collect();
        match desk.stream.give_back(&leased).await {
            Ok(_) => desk.tell(Kind::GivenBack { ids: &ids(page) }),
            Err(error) => {
                desk.tell(Kind::SettleFailed { ids: &ids(page), error: &error });
                // The others go idle as well.
                if !error.is_answer() {
                    return;
                }
            }
        }
    }
}
