//! A receipt whose run is over gives way to a new one, in steps that are each harmless to repeat: the
//! run is marked as failed where it has not ended by itself, the receipt is removed as long as it still
//! names that run, and the call begins once more.
//!
//! Of two callers that see the same dead run, however they interleave, one begins: the other's steps
//! find what the first has done, and its begin finds the new receipt.

use super::liveness::Verdict;
use super::run_id::RunId;
use super::run_record::{RunRecord, RunState, Seen};
use super::store::{Replaced, RunStore};
use crate::backend::BackendError;
use crate::protocol::transition::DiscardReply;
use crate::record_key::RecordKey;

/// Why a run failed that was never picked up.
const QUEUE_TIMEOUT: &str = "queue timeout: no worker has started it";
/// Why a run failed whose worker vanished.
const LEASE_EXPIRED: &str = "lease expired: its worker has not been heard of";

/// Why a run failed of which its queue says so.
const GIVEN_UP: &str = "its queue has given it up";

/// Who says that a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judge {
    /// Its record: it has to say so still.
    Record,
    /// Somebody who knows better, except of a worker that holds its lease.
    Other,
}

impl Judge {
    pub(super) const fn of(verdict: Verdict) -> Self {
        if matches!(verdict, Verdict::GivenUp) { Self::Other } else { Self::Record }
    }
}

/// What became of the receipt of a run that was judged to be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reclaimed {
    /// The place is free, or another run's by now: whether this call removed the receipt.
    GoOn { discarded: bool },
    /// The run is not over after all, or there is doubt: its receipt stands.
    Keep,
}

impl RunStore<'_> {
    pub(super) async fn reclaim(self, receipt: &RecordKey, run: RunId, judge: Judge) -> Reclaimed {
        if !self.see_to_end(run, judge).await.unwrap_or(false) {
            return Reclaimed::Keep;
        }
        match self.discard(receipt, run).await {
            Ok(reply) => Reclaimed::GoOn { discarded: reply == DiscardReply::Discarded },
            Err(_) => Reclaimed::Keep,
        }
    }

    /// Marks a run as failed that has not ended by itself, so that a worker which comes back from a
    /// pause is not run over but told. Says whether the run is over then.
    async fn see_to_end(self, run: RunId, judge: Judge) -> Result<bool, BackendError> {
        let (seen, record, reason, if_lapsed) = match self.read(run).await? {
            Seen::Gone => return Ok(true),
            Seen::Unreadable | Seen::Held { lapsed: None, .. } => return Ok(false),
            Seen::Stands { run, .. } if run.state.is_end() => return Ok(is_lost(&run.state)),
            Seen::Stands { head, attempt, run, since } => {
                let in_time = since < run.may_wait();
                match judge {
                    Judge::Record if in_time => return Ok(false),
                    Judge::Record => ((head, attempt), run, QUEUE_TIMEOUT, None),
                    Judge::Other => ((head, attempt), run, GIVEN_UP, None),
                }
            }
            Seen::Held { head, attempt, run, lapsed: Some(_) } => {
                let times = run.dispatch.times();
                // It is the store that looks: one that has renewed meanwhile is alive.
                match judge {
                    Judge::Record => {
                        let most = Some(times.left_after_hold());
                        ((head, attempt), run, LEASE_EXPIRED, most)
                    }
                    Judge::Other => ((head, attempt), run, GIVEN_UP, Some(times.retention())),
                }
            }
        };
        let failed = RunRecord::ended(record.dispatch, RunState::Failed(reason.to_owned()));
        Ok(match self.replace(run, seen, &failed, if_lapsed).await? {
            Replaced::Yes | Replaced::No(None) => true,
            // Somebody was faster.
            Replaced::No(Some(state)) => is_lost(&state),
            Replaced::Unreadable => false,
        })
    }
}

/// Whether a run has ended without a result.
const fn is_lost(state: &RunState) -> bool {
    state.is_end() && !matches!(state, RunState::Succeeded(_))
}
