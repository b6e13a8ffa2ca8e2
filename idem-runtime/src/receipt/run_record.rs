//! What stands in the record of a run.
//!
//! The record is one like any other: a completed one says how the run stands or how it ended, a
//! reservation says that a worker has it. Both carry the dispatch along in their payload, so that who
//! has only the run's id knows what is to be known.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::run_id::RunId;
use crate::codec::{Codec, MessagePack, OWN};
use crate::event::RunMove;
use crate::fingerprint::Fingerprint;
use crate::key::Key;
use crate::protocol::transition::has_lapsed;
use crate::record::{Found, Head, Owner, Payload, Record, Standing, State, millis};
use crate::record_key::RecordKey;

/// The operation of every run's record; names that begin with `idem.` are kept for idem itself.
const OPERATION: &str = "idem.run";
/// The version of what follows. A reader of another version sees a record that it cannot read, and
/// takes the run for one that may succeed.
const VERSION: u32 = 1;

/// A run: what was dispatched, and how it stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunRecord {
    version: u32,
    pub(crate) dispatch: Dispatched,
    pub(crate) state: RunState,
    /// The life that the record was given: with what is left of it, how long it has stood.
    life_ms: u64,
}

/// What the dispatch of a run said. It stays with the run to its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Dispatched {
    operation: String,
    key: String,
    #[serde(with = "serde_bytes")]
    fingerprint: [u8; 16],
    lease_ms: u64,
    ttl_ms: u64,
    deadline_ms: Option<u64>,
    hold_ms: u64,
    queue_timeout_ms: u64,
    /// By the dispatcher's wall clock, information only.
    pub(crate) at_ms: u64,
    /// Whether it went to a queue, or was accepted by the process that dispatched it.
    pub(crate) queued: bool,
}

/// The times that a dispatch sets for its run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) lease: Duration,
    /// Of the receipt.
    pub(crate) ttl: Duration,
    pub(crate) deadline: Option<Duration>,
    pub(crate) hold: Duration,
    pub(crate) queue_timeout: Duration,
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RunState {
    Accepted,
    Queued,
    /// A worker gave it back, for this reason.
    Waiting(String),
    Running,
    Succeeded(Value),
    Failed(String),
    Cancelled,
    Skipped,
}

/// The value of a run that succeeded, as a codec wrote it; or why it is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Value {
    Kept {
        codec: u8,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    NotKept(String),
}

impl RunState {
    /// The move of a worker that brings a run into this state.
    pub(super) const fn moved(&self) -> RunMove {
        match self {
            Self::Succeeded(_) => RunMove::Succeeded,
            Self::Failed(_) | Self::Cancelled => RunMove::Failed,
            Self::Skipped => RunMove::Skipped,
            Self::Accepted | Self::Queued | Self::Waiting(_) | Self::Running => RunMove::GivenBack,
        }
    }

    /// Whether nothing is to come of the run any more, one way or another.
    pub(crate) const fn is_end(&self) -> bool {
        matches!(self, Self::Succeeded(_) | Self::Failed(_) | Self::Cancelled | Self::Skipped)
    }
}

impl Dispatched {
    pub(crate) fn new(
        key: &RecordKey,
        fingerprint: Fingerprint,
        times: Times,
        queued: bool,
    ) -> Self {
        let Times { lease, ttl, deadline, hold, queue_timeout } = times;
        Self {
            operation: key.operation().to_owned(),
            key: key.key().to_owned(),
            fingerprint: fingerprint.to_bytes(),
            lease_ms: millis(lease),
            ttl_ms: millis(ttl),
            deadline_ms: deadline.map(millis),
            hold_ms: millis(hold),
            queue_timeout_ms: millis(queue_timeout),
            at_ms: crate::time::wall_ms(),
            queued,
        }
    }

    /// The key under which the receipt stands, in the store of `run`'s record.
    pub(crate) fn receipt_key(&self, run: &RecordKey) -> RecordKey {
        let key = Key::from_text(self.key.clone());
        RecordKey::new(run.prefix().into(), self.operation.clone().into(), key)
    }

    pub(crate) const fn fingerprint(&self) -> Fingerprint {
        Fingerprint::from_bytes(self.fingerprint)
    }

    pub(crate) fn times(&self) -> Times {
        Times {
            lease: Duration::from_millis(self.lease_ms),
            ttl: Duration::from_millis(self.ttl_ms),
            deadline: self.deadline_ms.map(Duration::from_millis),
            hold: Duration::from_millis(self.hold_ms),
            queue_timeout: Duration::from_millis(self.queue_timeout_ms),
        }
    }
}

impl Times {
    /// How long the record of a run lives on in a state that is not its last: for as long as it may wait,
    /// and as long as a receipt names it. That may be completed as late as a lease and a ttl after the
    /// run's record was made, and lives for a ttl.
    pub(crate) fn life_of_state(&self) -> Duration {
        self.ttl.saturating_add(self.lease).saturating_mul(2).max(self.queue_timeout)
    }

    /// How long the end of a run is kept: a lease longer than a receipt that was stored just before.
    pub(crate) fn life_of_end(&self) -> Duration {
        self.ttl.saturating_add(self.lease)
    }

    /// How long a run is remembered whose worker has vanished: for the hold, and as long as a receipt
    /// may name it.
    pub(crate) fn retention(&self) -> Duration {
        self.hold.saturating_add(self.ttl)
    }

    /// The most that is left of a lapsed reservation's life when its hold is over.
    pub(crate) fn left_after_hold(&self) -> Duration {
        self.ttl
    }
}

/// What was found of a run.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    /// No record.
    Gone,
    /// A record that this version cannot read, or that contradicts itself.
    Unreadable,
    /// It stands like this, and has for so long.
    Stands { head: Head, attempt: u32, run: RunRecord, since: Duration },
    /// A worker has it; or had it until its lease lapsed, so long ago.
    Held { head: Head, attempt: u32, run: RunRecord, lapsed: Option<Duration> },
}

impl RunRecord {
    pub(crate) fn new(dispatch: Dispatched, state: RunState, life: Duration) -> Self {
        Self { version: VERSION, dispatch, state, life_ms: millis(life) }
    }

    /// The same run in another state that is not its last.
    pub(crate) fn waiting(dispatch: Dispatched, state: RunState) -> Self {
        let life = dispatch.times().life_of_state();
        Self::new(dispatch, state, life)
    }

    /// The same run at its end.
    pub(crate) fn ended(dispatch: Dispatched, state: RunState) -> Self {
        let life = dispatch.times().life_of_end();
        Self::new(dispatch, state, life)
    }

    /// How long it may wait in this state before it counts as lost. One that its own process was about to
    /// start is missed no later than one whose worker has vanished.
    pub(crate) fn may_wait(&self) -> Duration {
        let times = self.dispatch.times();
        match self.state {
            RunState::Accepted => times.lease.saturating_add(times.hold),
            _ => times.queue_timeout,
        }
    }

    pub(crate) fn life(&self) -> Duration {
        Duration::from_millis(self.life_ms)
    }

    /// As a completed record, by `owner`: a revision of its own, or the attempt that ends the run.
    pub(crate) fn completed(&self, owner: Owner, attempt: u32) -> Record {
        Record { state: State::Completed, ..self.record(owner, attempt) }
    }

    /// As the reservation of a worker's attempt.
    pub(crate) fn reservation(&self, owner: Owner, attempt: u32) -> Record {
        self.record(owner, attempt).remembered_for(self.dispatch.times().retention())
    }

    fn record(&self, owner: Owner, attempt: u32) -> Record {
        Record {
            attempt,
            codec: OWN,
            payload: self.payload(),
            ..Record::reservation(owner, self.dispatch.fingerprint(), self.dispatch.at_ms)
        }
    }

    pub(crate) fn payload(&self) -> Payload {
        let written = Payload::of(|out| MessagePack::encode(self, out));
        // Texts, numbers and bytes: there is nothing in it that could not be written.
        written.unwrap_or(Payload::EMPTY)
    }

    pub(crate) fn of(record: &Record) -> Option<Self> {
        if record.codec != OWN {
            return None;
        }
        let run: Self = MessagePack::decode(record.payload.value().ok()?).ok()?;
        (run.version == VERSION).then_some(run)
    }
}

impl Seen {
    pub(crate) fn of(found: Option<Found>) -> Self {
        let Some(Found { standing, left }) = found else { return Self::Gone };
        Self::standing(&standing, left).unwrap_or(Self::Unreadable)
    }

    fn standing(standing: &Standing, left: Duration) -> Option<Self> {
        let record = standing.record()?;
        let run = RunRecord::of(record)?;
        let (head, attempt) = (record.head(), record.attempt);
        let is_held = record.state == State::Reserved;
        if is_held != (run.state == RunState::Running) {
            return None;
        }
        if is_held {
            let lapsed = has_lapsed(record, left).then(|| record.retention().saturating_sub(left));
            return Some(Self::Held { head, attempt, run, lapsed });
        }
        // More than it was given, by a store whose clock was set back: it counts as new.
        let since = run.life().saturating_sub(left);
        Some(Self::Stands { head, attempt, run, since })
    }
}

/// Where the record of a run stands.
pub(crate) fn run_key(prefix: Option<&std::sync::Arc<str>>, run: RunId) -> RecordKey {
    RecordKey::under(prefix.cloned(), OPERATION.into(), Key::from_text(run.to_string()))
}
