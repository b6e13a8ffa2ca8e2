//! The memory backend: records in this process, for tests, tools and services of one process.
//!
//! It protects one process only, and forgets everything with it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::{Backend, BackendError, Reach, Renewal, Watch};
use crate::protocol::transition::{
    self, BeginReply, CompleteReply, DiscardReply, FenceReply, ReleaseReply, RenewReply,
    ReplaceReply,
};
use crate::record::{Found, Head, Owner, Record};
use crate::record_key::RecordKey;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::time::{Clock, wall_us};

mod shard;

use shard::Shards;

/// A million records: about 300 MB with small results.
const DEFAULT_MOST_RECORDS: usize = 1_000_000;

/// A sharded, expiring, bounded map of records. Cheap to clone; clones share the records.
///
/// Expiry is by tokio's clock. The number of records is bounded, one million by default: when that
/// is reached (within a few per cent, since each shard has its share), begin fails with
/// [`Error`](crate::Error) of kind `Backend` rather than forget a reservation or a live result.
#[derive(Clone)]
pub struct MemoryBackend(Arc<Inner>);

struct Inner {
    clock: Clock,
    shards: Shards,
    last_fence: AtomicU64,
}

impl MemoryBackend {
    /// An empty store for up to a million records.
    #[must_use]
    pub fn new() -> Self {
        Self::bounded(DEFAULT_MOST_RECORDS)
    }

    /// An empty store for up to `most_records` records, at least one.
    #[must_use]
    pub fn bounded(most_records: usize) -> Self {
        Self(Arc::new(Inner {
            clock: Clock::start(),
            shards: Shards::new(most_records.max(1)),
            last_fence: AtomicU64::new(0),
        }))
    }

    /// How many records are live now. Walks all of them: for tests and occasional reports.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.shards.count_live(self.0.clock.now())
    }

    /// Whether no record is live.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts bytes under a key for `life`, whatever stands there, as another version of idem or a
    /// faulty disk might have.
    #[cfg(feature = "testing")]
    pub fn plant(&self, key: &RecordKey, bytes: &[u8], life: Duration) {
        let standing = crate::record::Standing::from_bytes(bytes);
        self.0.shards.plant(key, standing, self.0.clock.now().after(life));
    }

    /// Whether a watch of this key is kept.
    #[cfg(all(test, idem_interleave = "shuttle"))]
    pub(crate) fn is_watched(&self, key: &RecordKey) -> bool {
        self.0.shards.is_watched(key)
    }

    fn step<T>(
        &self,
        key: &RecordKey,
        transition: impl FnOnce(Option<transition::Entry<'_>>) -> (T, transition::Change),
    ) -> Result<T, BackendError> {
        self.0.shards.step(key, self.0.clock.now(), transition)
    }

    /// The wall clock in microseconds, yet always greater than the number given before.
    fn next_fence(&self) -> u64 {
        let now = wall_us();
        let next = |last: u64| Some(now.max(last.saturating_add(1)));
        match self.0.last_fence.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(last) | Err(last) => now.max(last.saturating_add(1)),
        }
    }
}

impl Default for MemoryBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBackend").field("records", &self.len()).finish()
    }
}

impl Backend for MemoryBackend {
    async fn begin(
        &self,
        key: &RecordKey,
        reservation: &Record,
        lease: Duration,
    ) -> Result<BeginReply, BackendError> {
        self.step(key, |found| transition::begin(found, reservation, lease))
    }

    async fn renew(&self, renewals: &[Renewal]) -> Vec<Result<RenewReply, BackendError>> {
        let renew = |renewal: &Renewal| {
            let Renewal { key, owner, lease, retention } = renewal;
            self.step(key, |found| transition::renew(found, *owner, *lease, *retention))
        };
        renewals.iter().map(renew).collect()
    }

    async fn complete(
        &self,
        key: &RecordKey,
        outcome: &Record,
        ttl: Duration,
    ) -> Result<CompleteReply, BackendError> {
        self.step(key, |found| transition::complete(found, outcome, ttl))
    }

    async fn release(&self, key: &RecordKey, owner: Owner) -> Result<ReleaseReply, BackendError> {
        self.step(key, |found| transition::release(found, owner))
    }

    async fn replace(
        &self,
        key: &RecordKey,
        seen: Head,
        record: &Record,
        life: Duration,
        if_lapsed: Option<Duration>,
    ) -> Result<ReplaceReply, BackendError> {
        self.step(key, |found| transition::replace(found, seen, record, life, if_lapsed))
    }

    async fn discard(&self, key: &RecordKey, owner: Owner) -> Result<DiscardReply, BackendError> {
        self.step(key, |found| transition::discard(found, owner))
    }

    async fn fence(&self, key: &RecordKey, owner: Owner) -> Result<FenceReply, BackendError> {
        self.step(key, |found| transition::fence(found, owner, self.next_fence()))
    }

    async fn peek(&self, key: &RecordKey) -> Result<Option<Found>, BackendError> {
        Ok(self.0.shards.peek(key, self.0.clock.now()))
    }

    async fn changed(&self, key: &RecordKey) -> Result<Watch, BackendError> {
        let changes = self.0.shards.watch(key);
        let (inner, key) = (Arc::clone(&self.0), key.clone());
        Ok(Watch::new(changes, move || inner.shards.unwatch(&key)))
    }

    async fn for_keeper(&self) -> Result<Self, BackendError> {
        Ok(self.clone())
    }

    fn reach(&self) -> Reach {
        Reach::Process
    }
}
