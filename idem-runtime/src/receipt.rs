//! Receipts: the immediate answer of an operation that runs in the background.
//!
//! A receipt is the stored outcome of its dispatch, and names a run. The run has a record of its own,
//! which stands on the protocol's operations like any other: there is no second mechanism. Only a
//! dispatch that finds a receipt looks at its run, and only then.

use std::fmt;
use std::time::SystemTime;

use crate::bounds::Storable;
use crate::error::Error;
use crate::observe::at_ms;

mod attach;
mod body;
mod dispatch;
mod end;
mod give_back;
mod issue;
mod liveness;
mod receipt_record;
mod reclaim;
mod run;
mod run_id;
mod run_record;
mod store;
mod worker;

pub use attach::{Attach, Ran};
pub use dispatch::Dispatch;
pub use liveness::{Liveness, Verdict};
pub use run::{Run, RunStatus};
pub use run_id::{InvalidRunId, RunId};
pub(crate) use store::run_is_over;

use receipt_record::ReceiptRecord;

/// What a dispatch gives at once: the run it started, or the one that stands for the same call.
#[derive(Clone)]
pub struct Receipt {
    run: Run,
    record: ReceiptRecord,
    replay: bool,
}

impl Receipt {
    const fn new(run: Run, record: ReceiptRecord, replay: bool) -> Self {
        Self { run, record, replay }
    }

    /// The run's id.
    #[must_use]
    pub const fn id(&self) -> RunId {
        self.run.id()
    }

    /// Whether an earlier call's receipt was given again.
    ///
    /// Positive evidence only: where it is `false`, an earlier dispatch may have been given this run as
    /// well (its answer was lost, say) or have had a run before it.
    #[must_use]
    pub const fn is_replay(&self) -> bool {
        self.replay
    }

    /// When the run was dispatched, by that process's wall clock, to the millisecond.
    #[must_use]
    pub fn dispatched_at(&self) -> SystemTime {
        at_ms(self.record.at_ms)
    }

    /// Whether the run went to a queue; otherwise the process that dispatched it runs it.
    #[must_use]
    pub const fn is_queued(&self) -> bool {
        self.record.queued
    }

    /// The run, to be handed on.
    #[must_use]
    pub const fn run(&self) -> &Run {
        &self.run
    }

    /// See [`Run::status`].
    ///
    /// # Errors
    /// As there.
    pub async fn status(&self) -> Result<RunStatus, Error> {
        self.run.status().await
    }

    /// See [`Run::result`].
    ///
    /// # Errors
    /// As there.
    pub async fn result<T: Storable>(&self) -> Result<T, Error> {
        self.run.result().await
    }

    /// See [`Run::cancel`].
    ///
    /// # Errors
    /// As there.
    pub async fn cancel(&self) -> Result<RunStatus, Error> {
        self.run.cancel().await
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, record, replay } = self;
        f.debug_struct("Receipt")
            .field("id", &run.id())
            .field("queued", &record.queued)
            .field("replay", replay)
            .finish_non_exhaustive()
    }
}
