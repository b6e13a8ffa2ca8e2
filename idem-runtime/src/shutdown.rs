//! Shutting down: no new calls, those in flight to their end, the keeper's jobs done.

use std::time::Duration;

use crate::idem::{Core, Idem};
use crate::sync::select;
use crate::sync::time::{Instant, timeout_at};

/// What was left when the grace period of a shutdown ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Keys whose action was still running or waiting. Their leases are not renewed any more and
    /// lapse: they are at risk from then on, so that their tokens are cancelled and `on_lost = cancel`
    /// drops them at their next await. Their outcomes are refused if another call takes the key
    /// meanwhile, and nobody enforces their deadlines.
    pub running: usize,
    /// Outcomes and releases that the store had not taken.
    pub unsettled: usize,
}

impl ShutdownReport {
    /// Whether nothing was left.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.running == 0 && self.unsettled == 0
    }
}

impl Idem {
    /// Takes no new calls from now on, waits up to `grace` for those in flight and for the keeper's
    /// jobs, ends the keeper, and reports what was left.
    ///
    /// Later calls are refused with `ShuttingDown`. Dropped, it has only stopped new calls; it can
    /// be called again.
    pub async fn shutdown(&self, grace: Duration) -> ShutdownReport {
        let core = self.core();
        core.life.close();
        let is_quiet = match Instant::now().checked_add(grace) {
            Some(until) => timeout_at(until, quiet(core)).await.is_ok(),
            // Longer than the clock goes.
            None => {
                quiet(core).await;
                true
            }
        };
        // Once it is quiet, who comes is only there to be refused.
        let (running, unsettled) =
            if is_quiet { (0, 0) } else { (core.flights.count(), core.keeper.backlog().len()) };
        let report = ShutdownReport { running, unsettled };
        core.life.shut();
        for attempt in core.flights.attempts() {
            attempt.left_by_the_keeper();
        }
        core.keeper.nudge();
        if !report.is_clean() {
            tracing::warn!(target: "idem", running, unsettled, "shut down before all was done");
        }
        report
    }
}

/// Resolves when nothing is in flight and no job is left.
async fn quiet(core: &Core) {
    loop {
        let ended = core.flights.ended();
        let done = core.keeper.backlog().one_done();
        let (mut ended, mut done) = (std::pin::pin!(ended), std::pin::pin!(done));
        // Registered before looking, so that nothing that ends after the look is missed.
        ended.as_mut().enable();
        done.as_mut().enable();
        if core.flights.count() == 0 && core.keeper.backlog().len() == 0 {
            return;
        }
        select! {
            () = ended => {}
            () = done => {}
        }
    }
}
