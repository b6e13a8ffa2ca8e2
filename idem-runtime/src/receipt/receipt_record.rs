//! What stands in the record of a receipt. Its owner is the run that it names.

use serde::{Deserialize, Serialize};

use super::run_id::RunId;
use super::run_record::Dispatched;
use crate::codec::{Codec, MessagePack, OWN};
use crate::record::{Payload, Record, State};

/// A receipt, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReceiptRecord {
    /// By the dispatcher's wall clock, information only.
    pub(super) at_ms: u64,
    /// Whether the run went to a queue, or was accepted by the process that dispatched it.
    pub(super) queued: bool,
}

impl ReceiptRecord {
    pub(super) const fn of(dispatch: &Dispatched) -> Self {
        Self { at_ms: dispatch.at_ms, queued: dispatch.queued }
    }

    pub(super) fn payload(self) -> Payload {
        // Two plain values: there is nothing in them that could not be written.
        Payload::of(|out| MessagePack::encode(&self, out)).unwrap_or(Payload::EMPTY)
    }

    /// The completed record of a run's receipt, the same whoever stores it.
    pub(super) fn completed(self, run: RunId, dispatch: &Dispatched) -> Record {
        Record {
            state: State::Completed,
            codec: OWN,
            payload: self.payload(),
            ..Record::reservation(run.owner(), dispatch.fingerprint(), dispatch.at_ms)
        }
    }

    /// The run that a completed record names, and its receipt; `None` if it is none, or of another
    /// version.
    pub(super) fn read(record: &Record) -> Option<(RunId, Self)> {
        if record.codec != OWN || record.value_version != 0 {
            return None;
        }
        let receipt = MessagePack::decode(record.payload.value().ok()?).ok()?;
        Some((RunId::of(record.owner), receipt))
    }
}
