//! A run, looked at and cancelled by its id.

use std::fmt;
use std::time::Duration;

use super::run_id::RunId;
use super::run_record::{RunRecord, RunState, Seen, Value};
use super::store::{Replaced, RunStore};
use crate::bounds::Storable;
use crate::codec::{Codec, MessagePack};
use crate::error::{Error, ErrorKind};
use crate::idem::Idem;
use crate::record_key::RecordKey;

/// How often a cancel that finds another state reads again: a run moves only a few times.
const CANCEL_TRIES: u32 = 8;

/// A handle to a run, in whatever process it runs: [`Idem::run`] gives one for an id. Cheap to clone.
#[derive(Clone)]
pub struct Run {
    idem: Idem,
    id: RunId,
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunStatus {
    /// The process that dispatched it is about to start it.
    Accepted,
    /// It waits for a worker.
    Queued,
    /// A worker gave it back; it waits for the next.
    #[non_exhaustive]
    WaitingForRetry {
        /// What the worker said.
        reason: String,
    },
    /// A worker runs it.
    #[non_exhaustive]
    Running {
        /// 1, or more after attempts that were given back.
        attempt: u32,
    },
    /// Its worker has not been heard of for longer than its lease.
    #[non_exhaustive]
    Lapsed {
        /// How long ago its lease ended.
        since: Duration,
    },
    /// It has a result.
    Succeeded,
    /// It ended with an error, or nobody picked it up, or its worker vanished.
    #[non_exhaustive]
    Failed {
        /// Why.
        reason: String,
    },
    /// It was cancelled before it ended.
    Cancelled,
    /// Another run had its receipt's place: it did not start.
    Skipped,
    /// Nothing is known of it.
    Gone,
    /// Its record cannot be read: another version wrote it, or it is damaged.
    Unreadable,
}

impl RunStatus {
    /// Whether nothing is to come of the run any more: it has its result, or never will.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed { .. } | Self::Cancelled | Self::Skipped | Self::Gone
        )
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("accepted"),
            Self::Queued => f.write_str("queued"),
            Self::WaitingForRetry { reason } => write!(f, "waiting to be tried again: {reason}"),
            Self::Running { attempt } => write!(f, "running, attempt {attempt}"),
            Self::Lapsed { since } => {
                write!(f, "not heard of since its lease ended {since:.0?} ago")
            }
            Self::Succeeded => f.write_str("succeeded"),
            Self::Failed { reason } => write!(f, "failed: {reason}"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Skipped => f.write_str("skipped: another run had its place"),
            Self::Gone => f.write_str("nothing is known of it"),
            Self::Unreadable => f.write_str("its record cannot be read"),
        }
    }
}

impl Seen {
    pub(super) fn status(&self) -> RunStatus {
        match self {
            Self::Gone => RunStatus::Gone,
            Self::Unreadable => RunStatus::Unreadable,
            Self::Held { lapsed: Some(since), .. } => RunStatus::Lapsed { since: *since },
            Self::Held { attempt, .. } => RunStatus::Running { attempt: *attempt },
            Self::Stands { run, .. } => run.state.status(),
        }
    }

    pub(super) fn run(&self) -> Option<&RunRecord> {
        match self {
            Self::Gone | Self::Unreadable => None,
            Self::Stands { run, .. } | Self::Held { run, .. } => Some(run),
        }
    }
}

impl RunState {
    fn status(&self) -> RunStatus {
        match self {
            Self::Accepted => RunStatus::Accepted,
            Self::Queued => RunStatus::Queued,
            Self::Waiting(reason) => RunStatus::WaitingForRetry { reason: reason.clone() },
            // A completed record never says so; a reservation does, which knows its attempt.
            Self::Running => RunStatus::Running { attempt: 1 },
            Self::Succeeded(_) => RunStatus::Succeeded,
            Self::Failed(reason) => RunStatus::Failed { reason: reason.clone() },
            Self::Cancelled => RunStatus::Cancelled,
            Self::Skipped => RunStatus::Skipped,
        }
    }
}

impl Idem {
    /// A handle to the run with this id. Asks the store nothing yet.
    #[must_use]
    pub fn run(&self, id: RunId) -> Run {
        Run { idem: self.clone(), id }
    }
}

impl Run {
    /// The run's id.
    #[must_use]
    pub const fn id(&self) -> RunId {
        self.id
    }

    /// How the run stands. Costs one read.
    ///
    /// # Errors
    /// `Backend`, if the store does not answer in its time or answers with an error.
    pub async fn status(&self) -> Result<RunStatus, Error> {
        Ok(self.read().await?.status())
    }

    /// What the run returned. Costs one read.
    ///
    /// # Errors
    /// `InProgress` while it has not ended, also when its worker has not been heard of for long:
    /// whether it can still succeed is what the next dispatch decides. `RunFailed` if it ended without a
    /// result, or nothing is known of it. `NotKept` if its value was too large or could not be stored,
    /// `Unreadable` if it cannot be read as a `T`, `Backend` as for [`status`](Self::status).
    pub async fn result<T: Storable>(&self) -> Result<T, Error> {
        let seen = self.read().await?;
        let error = |kind, why: String| Err(self.about(kind, &seen).detail(why));
        let Some(RunRecord { state: RunState::Succeeded(value), .. }) = seen.run() else {
            let status = seen.status();
            return match status {
                RunStatus::Unreadable => error(ErrorKind::Unreadable, status.to_string()),
                _ if status.has_ended() => error(ErrorKind::RunFailed, status.to_string()),
                _ => error(ErrorKind::InProgress, format!("the run is {status}")),
            };
        };
        match value {
            Value::NotKept(why) => error(ErrorKind::NotKept, why.clone()),
            Value::Kept { codec, .. } if *codec != MessagePack::ID => {
                error(ErrorKind::Unreadable, format!("it was stored by codec {codec}"))
            }
            Value::Kept { bytes, .. } => MessagePack::decode(bytes)
                .or_else(|why| error(ErrorKind::Unreadable, why.to_string())),
        }
    }

    /// Cancels the run unless it has ended, and gives its status then: `Cancelled`, the end that was
    /// faster, or that there is no run that could be cancelled (`Gone`, `Unreadable`).
    ///
    /// A run that no worker has will not start. A worker that has it, in whatever process, learns of it
    /// with its next renewal, a quarter of the lease away at most: its lease's token is cancelled, and
    /// nothing it does is stored. It is told, not stopped (unless its `on_lost` is `cancel`), so that
    /// the run which the next call starts may begin beside its last steps.
    ///
    /// # Errors
    /// `Backend`: the cancel may have been carried out; it can be repeated. Dropped, likewise.
    /// `InProgress`: the run moved on each time before the cancel came; nothing was changed.
    pub async fn cancel(&self) -> Result<RunStatus, Error> {
        let store = RunStore::of(self.idem.core());
        let mut seen = self.read().await?;
        for _ in 0..CANCEL_TRIES {
            let (head, attempt, run) = match &seen {
                Seen::Stands { run, .. } if run.state.is_end() => return Ok(seen.status()),
                Seen::Stands { head, attempt, run, .. } | Seen::Held { head, attempt, run, .. } => {
                    (*head, *attempt, run)
                }
                Seen::Gone | Seen::Unreadable => return Ok(seen.status()),
            };
            let cancelled = RunRecord::ended(run.dispatch.clone(), RunState::Cancelled);
            match store.replace(self.id, (head, attempt), &cancelled, None).await {
                Ok(Replaced::Yes) => return Ok(RunStatus::Cancelled),
                Ok(Replaced::No(_) | Replaced::Unreadable) => seen = self.read().await?,
                Err(error) => return Err(self.about(ErrorKind::Backend, &seen).because(error)),
            }
        }
        let status = seen.status();
        if status.has_ended() {
            return Ok(status);
        }
        Err(self.about(ErrorKind::InProgress, &seen).detail(format!("the run is {status}")))
    }

    pub(super) fn error(&self, kind: ErrorKind) -> Error {
        self.about(kind, &Seen::Gone)
    }

    async fn read(&self) -> Result<Seen, Error> {
        let store = RunStore::of(self.idem.core());
        store.read(self.id).await.map_err(|error| self.error(ErrorKind::Backend).because(error))
    }

    /// An error about the run, under the operation that was dispatched where that is known.
    fn about(&self, kind: ErrorKind, seen: &Seen) -> Error {
        let core = self.idem.core();
        let own = RunStore::of(core).key(self.id);
        let key: RecordKey = seen.run().map_or(own.clone(), |run| run.dispatch.receipt_key(&own));
        Error::about(kind, &key, core.observers.shown())
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { idem: _, id } = self;
        f.debug_struct("Run").field("id", id).finish_non_exhaustive()
    }
}
