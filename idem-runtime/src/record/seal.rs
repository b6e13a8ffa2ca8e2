//! The checksums by which a damaged record is known.
//!
//! An outcome's covers all of it, head and value: nothing changes it once it is stored. Scripts
//! change reservations in place, so a reservation's covers what is decided by and a renewal knows:
//! version, state, owner and retention. It stands where an outcome has its value version; what a run's
//! reservation carries behind its head has a checksum like an outcome's, with what no script changes.

use crc32fast::Hasher;

use super::layout::prefix;
use super::{Head, Owner, State};

/// The checksum of a value behind this head, or this part of one.
pub(super) fn of_value(head: &[u8], value: &[u8]) -> [u8; 4] {
    let mut hasher = Hasher::new();
    hasher.update(head);
    hasher.update(value);
    hasher.finalize().to_be_bytes()
}

/// The checksum that a reservation of this owner has with this retention. A store that renews by
/// writing the retention into the bytes writes this as well.
#[must_use]
pub fn of_reservation(owner: Owner, retention_ms: u64) -> [u8; 4] {
    let mut hasher = Hasher::new();
    hasher.update(&prefix(Head { state: State::Reserved, owner }));
    hasher.update(&retention_ms.to_be_bytes());
    hasher.finalize().to_be_bytes()
}
