//! The byte layout of a record. Changing anything here needs a new version.

use super::{Flags, Owner, Payload, Record, Standing, State, VERSION};
use crate::fingerprint::Fingerprint;

/// Bytes before the payload: 1 + 1 + 16 + 16 + 8 + 8 + 8 + 4 + 2 + 4.
pub(super) const HEAD: usize = 68;

const RESERVED: u8 = 0;
const COMPLETED: u8 = 1;

impl Record {
    /// The record as bytes for a store that keeps bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let payload = self.payload.as_stored();
        let mut out = Vec::with_capacity(HEAD + payload.len());
        out.push(VERSION);
        out.push(match self.state {
            State::Reserved => RESERVED,
            State::Completed => COMPLETED,
        });
        out.extend_from_slice(self.owner.as_bytes());
        out.extend_from_slice(&self.fingerprint.to_bytes());
        out.extend_from_slice(&self.retention_ms.to_be_bytes());
        out.extend_from_slice(&self.fence.to_be_bytes());
        out.extend_from_slice(&self.first_reserved_at_ms.to_be_bytes());
        out.extend_from_slice(&self.attempt.to_be_bytes());
        out.extend_from_slice(&[self.flags.0, self.codec]);
        out.extend_from_slice(&self.value_version.to_be_bytes());
        debug_assert_eq!(out.len(), HEAD);
        out.extend_from_slice(payload);
        out
    }
}

impl Standing {
    /// What the bytes found under a key say.
    ///
    /// Never fails: bytes whose version, state or head cannot be read are [`Standing::Foreign`],
    /// which counts as in progress. The payload is checked when it is read.
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
    let value_version = u32::from_be_bytes(*take(&mut rest)?);
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
        payload: Payload::from_stored(rest),
    })
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(head)
}
