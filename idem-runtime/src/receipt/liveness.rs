//! Whether a run can still succeed: what decides whether its receipt is given again.

use std::future::Future;
use std::time::Duration;

use super::run_id::RunId;
use super::run_record::{RunRecord, RunState, Seen};
use super::store::RunStore;
use crate::idem::Idem;

/// Whether a run can still succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// It is accepted, queued, waiting to be tried again, or running.
    Live,
    /// It has.
    Succeeded,
    /// Its worker's lease has lapsed, and the hold since then is not over: it may still come back.
    MaybeAlive,
    /// There is doubt: the store did not answer, or its answer cannot be read.
    Indeterminate,
    /// It cannot any more: it failed, was cancelled or skipped, was picked up by nobody in time, or its
    /// worker has not been heard of for longer than the hold.
    Ended,
    /// Nothing is known of it.
    Gone,
    /// Somebody who knows better than its record has given it up: its queue, say, which has lost it or
    /// dropped it.
    GivenUp,
}

impl Verdict {
    /// Whether the same call gets a new run: only where there is no doubt.
    #[must_use]
    pub const fn gives_a_new_run(self) -> bool {
        matches!(self, Self::Ended | Self::Gone | Self::GivenUp)
    }

    /// The verdict's name, as it stands in logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Succeeded => "succeeded",
            Self::MaybeAlive => "maybe_alive",
            Self::Indeterminate => "indeterminate",
            Self::Ended => "ended",
            Self::Gone => "gone",
            Self::GivenUp => "given_up",
        }
    }
}

/// Who knows whether a run can still succeed. Asked only by a call that finds a receipt.
///
/// [`Idem`] is one: it reads the run's record. A queue that knows better, say how long a message may
/// still wait, can be asked instead ([`Dispatch::liveness`](super::Dispatch::liveness)), and may ask
/// an `Idem` in its turn.
pub trait Liveness: Send + Sync {
    /// The verdict on a run. What is not known for certain is [`Verdict::Indeterminate`].
    ///
    /// Before another run is started, the record is looked at once more: it has to say [`Verdict::Ended`]
    /// or [`Verdict::Gone`] itself, unless the verdict is [`Verdict::GivenUp`]. That one marks a run as
    /// failed which waits for a worker, or whose lease has lapsed; never one that a worker holds, nor one
    /// that has a result: the call then gets the old receipt all the same.
    ///
    /// It is awaited without a bound, and dropped with the dispatch.
    fn verdict(&self, run: RunId) -> impl Future<Output = Verdict> + Send;
}

/// By the run's own record.
impl Liveness for Idem {
    async fn verdict(&self, run: RunId) -> Verdict {
        match RunStore::of(self.core()).read(run).await {
            Ok(seen) => seen.verdict(),
            Err(_) => Verdict::Indeterminate,
        }
    }
}

impl Seen {
    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Self::Gone => Verdict::Gone,
            Self::Unreadable => Verdict::Indeterminate,
            Self::Held { lapsed: None, .. } => Verdict::Live,
            Self::Held { lapsed: Some(since), run, .. } if holds(run, *since) => {
                Verdict::MaybeAlive
            }
            Self::Held { .. } => Verdict::Ended,
            Self::Stands { run, since, .. } => match run.state {
                RunState::Succeeded(_) => Verdict::Succeeded,
                RunState::Failed(_) | RunState::Cancelled | RunState::Skipped => Verdict::Ended,
                _ if *since < run.may_wait() => Verdict::Live,
                _ => Verdict::Ended,
            },
        }
    }
}

/// Whether a run whose lease lapsed so long ago may still come back.
fn holds(run: &RunRecord, since: Duration) -> bool {
    since < run.dispatch.times().hold
}
