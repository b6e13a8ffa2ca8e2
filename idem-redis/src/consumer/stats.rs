//! What a consumer has done.

/// What a consumer has done since it was built, and has in hand. All are counts of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumerStats {
    /// In hand now: taken and not yet settled. These are renewed.
    pub in_hand: u64,
    /// New messages that were read.
    pub read: u64,
    /// Idle messages that were taken over, its own after a failure among them.
    pub reclaimed: u64,
    /// Renewals.
    pub renewed: u64,
    /// Lost to others.
    pub lost: u64,
    /// Deleted from the stream while in hand, or before they could be taken over.
    pub trimmed: u64,
    /// Handled and acknowledged.
    pub done: u64,
    /// Deliveries that failed: by an error, a panic, or `max_processing`; or that could not be read, where
    /// there are no dead letters for them.
    pub failed: u64,
    /// Moved to the dead letters.
    pub dead: u64,
    /// Taken and given back unstarted, at a shutdown.
    pub given_back: u64,
}
