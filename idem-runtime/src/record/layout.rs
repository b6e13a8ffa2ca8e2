//! The byte layout of a record. Changing anything here needs a new version, from the first release on.

use super::{Flags, Head, Owner, Payload, Record, Standing, State, VERSION, seal};
use crate::fingerprint::Fingerprint;

/// Bytes before the payload: 1 + 1 + 16 + 16 + 8 + 8 + 8 + 4 + 2 + 4.
const HEAD: usize = 68;

/// Version, state and owner: what no store changes in a record that stands.
const PREFIX: usize = 18;

const RESERVED: u8 = 0;
const COMPLETED: u8 = 1;

/// How much of the head the checksum of the value covers: all of it in an outcome, which nothing changes
/// in place, and what nothing changes in a reservation.
const fn sealed(state: State) -> usize {
    match state {
        State::Reserved => PREFIX,
        State::Completed => HEAD,
    }
}

/// Version, state and owner, as every record begins.
pub(super) fn prefix(head: Head) -> [u8; PREFIX] {
    let mut bytes = [0; PREFIX];
    bytes[0] = VERSION;
    bytes[1] = match head.state {
        State::Reserved => RESERVED,
        State::Completed => COMPLETED,
    };
    bytes[2..].copy_from_slice(head.owner.as_bytes());
    bytes
}

impl Record {
    /// The record as bytes for a store that keeps bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD + 8 + self.payload.value_len());
        out.extend_from_slice(&prefix(self.head()));
        out.extend_from_slice(&self.fingerprint.to_bytes());
        out.extend_from_slice(&self.retention_ms.to_be_bytes());
        out.extend_from_slice(&self.fence.to_be_bytes());
        out.extend_from_slice(&self.first_reserved_at_ms.to_be_bytes());
        out.extend_from_slice(&self.attempt.to_be_bytes());
        out.extend_from_slice(&[self.flags.0, self.codec]);
        out.extend_from_slice(&match self.state {
            State::Reserved => seal::of_reservation(self.owner, self.retention_ms),
            State::Completed => self.value_version.to_be_bytes(),
        });
        debug_assert_eq!(out.len(), HEAD);
        match self.payload.value() {
            Ok(value) => {
                // A value of 4 GiB is over every limit; a wrong length could only make it
                // unreadable.
                let length = u32::try_from(value.len()).unwrap_or(u32::MAX).to_be_bytes();
                let checksum = seal::of_value(&out[..sealed(self.state)], value);
                out.extend_from_slice(&length);
                out.extend_from_slice(&checksum);
                out.extend_from_slice(value);
            }
            Err(_) => out.extend_from_slice(self.payload.remains()),
        }
        out
    }
}

impl Standing {
    /// What the bytes found under a key say.
    ///
    /// Never fails: bytes whose version, state or head cannot be read, and reservations that are
    /// damaged, are [`Standing::Foreign`], which counts as in progress. An outcome that is damaged
    /// has no [value](Payload::value).
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        match read(bytes) {
            Some(record) => Self::Record(record),
            None => Self::Foreign(bytes.into()),
        }
    }
}

fn read(bytes: &[u8]) -> Option<Record> {
    let mut rest = bytes;
    let [VERSION, state] = *take(&mut rest)? else { return None };
    let state = match state {
        RESERVED => State::Reserved,
        COMPLETED => State::Completed,
        _ => return None,
    };
    let owner = Owner::from_bytes(*take(&mut rest)?);
    let fingerprint = Fingerprint::from_bytes(*take(&mut rest)?);
    let retention_ms = u64::from_be_bytes(*take(&mut rest)?);
    let fence = u64::from_be_bytes(*take(&mut rest)?);
    let first_reserved_at_ms = u64::from_be_bytes(*take(&mut rest)?);
    let attempt = u32::from_be_bytes(*take(&mut rest)?);
    let [flags, codec] = *take(&mut rest)?;
    let last = *take(&mut rest)?;
    let payload = payload(&bytes[..sealed(state)], rest);
    let value_version = match state {
        State::Completed => u32::from_be_bytes(last),
        State::Reserved => {
            let intact = last == seal::of_reservation(owner, retention_ms)
                && (payload == Payload::EMPTY || payload.value().is_ok());
            intact.then_some(0)?
        }
    };
    Some(Record {
        state,
        owner,
        fingerprint,
        retention_ms,
        fence,
        first_reserved_at_ms,
        attempt,
        flags: Flags(flags),
        codec,
        value_version,
        payload,
    })
}

/// What stands behind the head: length, checksum, value; or nothing.
fn payload(head: &[u8], stored: &[u8]) -> Payload {
    let mut value = stored;
    let (Some(length), Some(checksum)) = (take(&mut value), take(&mut value)) else {
        return if stored.is_empty() { Payload::EMPTY } else { Payload::damaged(stored) };
    };
    if u32::from_be_bytes(*length) as usize == value.len()
        && *checksum == seal::of_value(head, value)
    {
        Payload::of_value(value)
    } else {
        Payload::damaged(stored)
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(head)
}
