//! A store that holds the same bytes under every key, and notes who would have changed them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use idem_runtime::backend::{Reach, Renewal, Watch};
use idem_runtime::protocol::transition::{
    self, BeginReply, Change, CompleteReply, DiscardReply, Entry, FenceReply, ReleaseReply,
    RenewReply, ReplaceReply,
};
use idem_runtime::record::{Found, Head, Owner, Record, Standing};
use idem_runtime::{Backend, BackendError, RecordKey};
use tokio::sync::watch;

type Answer<T> = Result<T, BackendError>;

/// The store. Its clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelf(Arc<Mutex<Held>>);

#[derive(Clone, Debug, Default)]
struct Held {
    bytes: Vec<u8>,
    left: Duration,
    changes: usize,
}

impl Shelf {
    /// Holds these bytes from now on, with so much of their life left.
    pub(crate) fn hold(&self, bytes: &[u8], left: Duration) {
        self.with(|held| *held = Held { bytes: bytes.to_owned(), left, changes: 0 });
    }

    /// How often what stands would have been changed or removed.
    pub(crate) fn changes(&self) -> usize {
        self.with(|held| held.changes)
    }

    fn with<T>(&self, f: impl FnOnce(&mut Held) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn found(&self) -> Found {
        self.with(|held| Found { standing: Standing::from_bytes(&held.bytes), left: held.left })
    }

    fn step<T>(&self, step: impl FnOnce(Option<Entry<'_>>) -> (T, Change)) -> Answer<T> {
        let Found { standing, left } = self.found();
        let (reply, change) = step(Some(Entry { standing: &standing, left }));
        if change != Change::Keep {
            self.with(|held| held.changes += 1);
        }
        Ok(reply)
    }
}

impl Backend for Shelf {
    async fn begin(&self, _: &RecordKey, own: &Record, lease: Duration) -> Answer<BeginReply> {
        self.step(|found| transition::begin(found, own, lease))
    }

    async fn renew(&self, renewals: &[Renewal]) -> Vec<Answer<RenewReply>> {
        let renew = |Renewal { owner, lease, retention, .. }: &Renewal| {
            self.step(|found| transition::renew(found, *owner, *lease, *retention))
        };
        renewals.iter().map(renew).collect()
    }

    async fn complete(
        &self,
        _: &RecordKey,
        outcome: &Record,
        ttl: Duration,
    ) -> Answer<CompleteReply> {
        self.step(|found| transition::complete(found, outcome, ttl))
    }

    async fn release(&self, _: &RecordKey, owner: Owner) -> Answer<ReleaseReply> {
        self.step(|found| transition::release(found, owner))
    }

    async fn replace(
        &self,
        _: &RecordKey,
        seen: Head,
        record: &Record,
        life: Duration,
        if_lapsed: Option<Duration>,
    ) -> Answer<ReplaceReply> {
        self.step(|found| transition::replace(found, seen, record, life, if_lapsed))
    }

    async fn discard(&self, _: &RecordKey, owner: Owner) -> Answer<DiscardReply> {
        self.step(|found| transition::discard(found, owner))
    }

    async fn fence(&self, _: &RecordKey, owner: Owner) -> Answer<FenceReply> {
        self.step(|found| transition::fence(found, owner, 1))
    }

    async fn peek(&self, _: &RecordKey) -> Answer<Option<Found>> {
        Ok(Some(self.found()))
    }

    async fn changed(&self, _: &RecordKey) -> Answer<Watch> {
        Ok(Watch::new(watch::channel(()).1, || {}))
    }

    async fn for_keeper(&self) -> Answer<Self> {
        Ok(self.clone())
    }

    fn reach(&self) -> Reach {
        Reach::Process
    }
}
