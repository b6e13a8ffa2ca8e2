//! Records of every kind, and the places of their fields.

use std::fmt;
use std::time::Duration;

use idem_runtime::Fingerprint;
use idem_runtime::codec::{Codec, MessagePack};
use idem_runtime::record::{Flags, Owner, Payload, Record, State};

use super::call::{ARGUMENTS, VERSION, encoded};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A record, and how much of its life is left.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) left: Duration,
    pub(crate) is_outcome: bool,
}

impl fmt::Debug for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?} left)", self.name, self.left)
    }
}

/// The number 55 is `55` to MessagePack, and `7` to JSON.
pub(crate) const VALUE: u64 = 55;

/// One record of each kind.
pub(crate) fn samples() -> Vec<Sample> {
    let lease = Duration::from_secs(15);
    let first = first();
    let remembered = first.clone().remembered_for(DAY);
    let value = encoded(VALUE);
    let done = outcome(Flags::default(), &value);
    let failed = outcome(Flags::ERROR, &value);
    let not_kept = outcome(Flags::NOT_KEPT, b"too large");
    let remembered_done = Record { retention_ms: remembered.retention_ms, ..done.clone() };
    let carrying = Record { payload: payload(b"carried along"), ..remembered.clone() };
    vec![
        sample("running, carrying something along", &carrying, DAY + lease),
        sample("running", &first, lease),
        sample("running, to be remembered", &remembered, DAY + lease),
        sample("lapsed", &remembered, DAY / 2),
        sample("done", &done, DAY / 2),
        sample("failed", &failed, DAY / 2),
        sample("done, not kept", &not_kept, DAY / 2),
        // No runtime writes it; the layout has it.
        sample("done, with a retention", &remembered_done, DAY / 2),
    ]
}

/// An outcome with these bytes as its value.
pub(crate) fn outcome_of(flags: Flags, value: &[u8]) -> Sample {
    sample("an outcome", &outcome(flags, value), DAY / 2)
}

fn first() -> Record {
    Record::reservation(
        Owner::from_bytes(*b"0123456789abcdef"),
        Fingerprint::of(ARGUMENTS).unwrap(),
        1_764_000_000_123,
    )
}

fn outcome(flags: Flags, value: &[u8]) -> Record {
    Record {
        state: State::Completed,
        flags,
        codec: MessagePack::ID,
        value_version: VERSION,
        payload: payload(value),
        ..first()
    }
}

fn sample(name: &'static str, record: &Record, left: Duration) -> Sample {
    let is_outcome = record.state == State::Completed;
    Sample { name, bytes: record.to_bytes(), left, is_outcome }
}

fn payload(value: &[u8]) -> Payload {
    let written = Payload::of(|out| {
        out.extend_from_slice(value);
        Ok::<(), ()>(())
    });
    written.unwrap()
}

/// A field of the layout, or a change of its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Version,
    State,
    Owner,
    Fingerprint,
    Retention,
    Information,
    FlagsAndCodec,
    ValueVersion,
    Payload,
}

/// The field in which a byte stands.
pub(crate) fn field(at: usize) -> Field {
    match at {
        0 => Field::Version,
        1 => Field::State,
        2..18 => Field::Owner,
        18..34 => Field::Fingerprint,
        34..42 => Field::Retention,
        // Fence, first reserved at, attempt.
        42..62 => Field::Information,
        62..64 => Field::FlagsAndCodec,
        64..68 => Field::ValueVersion,
        _ => Field::Payload,
    }
}
