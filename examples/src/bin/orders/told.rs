//! What consumers tell of themselves.

use serde::{Deserialize, Serialize};

/// What a consumer has in hand, and what it has done. All are counts of orders.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Told {
    /// Its name in the group.
    pub(crate) name: String,
    pub(crate) in_hand: u64,
    pub(crate) renewed: u64,
    pub(crate) reclaimed: u64,
    pub(crate) lost: u64,
    pub(crate) done: u64,
    pub(crate) failed: u64,
    pub(crate) dead: u64,
    /// Orders whose bill was known to be out.
    pub(crate) replayed: u64,
    /// Orders whose bill was found in the ledger.
    pub(crate) reconciled: u64,
}

impl Told {
    /// Adds another one's counts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.in_hand += other.in_hand;
        self.renewed += other.renewed;
        self.reclaimed += other.reclaimed;
        self.lost += other.lost;
        self.done += other.done;
        self.failed += other.failed;
        self.dead += other.dead;
        self.replayed += other.replayed;
        self.reconciled += other.reconciled;
    }
}
