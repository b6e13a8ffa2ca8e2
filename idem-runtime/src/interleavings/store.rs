//! A store that takes its time: each operation can be left, or overtaken, before and after it takes
//! effect. It keeps a record of what took effect.

use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use crate::backend::{Backend, BackendError, Reach, Renewal, Watch};
use crate::memory::MemoryBackend;
use crate::protocol::transition::{
    BeginReply, CompleteReply, DiscardReply, FenceReply, ReleaseReply, RenewReply, ReplaceReply,
};
use crate::record::{Found, Head, Owner, Record};
use crate::record_key::RecordKey;
use crate::sync::scheduled::block_on;

/// What took effect, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Did {
    Reserve(Owner),
    TakeOver(Owner),
    Complete(Owner),
    Release(Owner),
    /// A release that found nothing of its owner's.
    ReleaseNothing(Owner),
}

#[derive(Clone)]
pub(super) struct Store {
    map: MemoryBackend,
    notes: Arc<Mutex<Notes>>,
}

#[derive(Default)]
struct Notes {
    did: Vec<Did>,
    /// The owners whose begin is under way.
    beginning: Vec<Owner>,
}

impl Store {
    pub(super) fn new() -> Self {
        Self { map: MemoryBackend::bounded(10), notes: Arc::default() }
    }

    pub(super) fn did(&self) -> Vec<Did> {
        self.notes.lock().unwrap().did.clone()
    }

    /// What stands under the key.
    pub(super) fn stands(&self, key: &RecordKey) -> Option<Record> {
        let found = block_on(self.map.peek(key)).unwrap()?;
        found.standing.record().cloned()
    }

    /// Evicts what stands under the key, reserved or completed.
    pub(super) fn evict(&self, key: &RecordKey) {
        let Some(record) = self.stands(key) else { return };
        block_on(async {
            self.map.release(key, record.owner).await.unwrap();
            self.map.discard(key, record.owner).await.unwrap();
        });
    }

    /// Another process takes the key, if nothing stands there.
    pub(super) fn reserve(&self, key: &RecordKey, record: &Record, lease: Duration) -> bool {
        block_on(self.map.begin(key, record, lease)).unwrap() == BeginReply::Acquired
    }

    fn note(&self, did: Did) {
        self.notes.lock().unwrap().did.push(did);
    }

    /// The end of an attempt is never sent beside a begin of it.
    fn ends(&self, owner: Owner) {
        let beginning = self.notes.lock().unwrap().beginning.contains(&owner);
        assert!(!beginning, "an end is sent beside a begin of the same owner");
    }
}

/// The caller may be dropped here, or be overtaken: for a few polls, so that it often is.
pub(super) async fn pause() {
    let mut polls = 0;
    std::future::poll_fn(|task| {
        polls += 1;
        if polls > 4 {
            return Poll::Ready(());
        }
        task.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A begin is under way until this is dropped.
struct Beginning<'a>(&'a Store, Owner);

impl<'a> Beginning<'a> {
    fn of(store: &'a Store, owner: Owner) -> Self {
        store.notes.lock().unwrap().beginning.push(owner);
        Self(store, owner)
    }
}

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        self.0.notes.lock().unwrap().beginning.retain(|owner| *owner != self.1);
    }
}

impl Backend for Store {
    async fn begin(
        &self,
        key: &RecordKey,
        reservation: &Record,
        lease: Duration,
    ) -> Result<BeginReply, BackendError> {
        let _beginning = Beginning::of(self, reservation.owner);
        pause().await;
        let reply = self.map.begin(key, reservation, lease).await?;
        if reply == BeginReply::Acquired {
            self.note(Did::Reserve(reservation.owner));
        }
        pause().await;
        Ok(reply)
    }

    async fn renew(&self, renewals: &[Renewal]) -> Vec<Result<RenewReply, BackendError>> {
        pause().await;
        let replies = self.map.renew(renewals).await;
        pause().await;
        replies
    }

    async fn complete(
        &self,
        key: &RecordKey,
        outcome: &Record,
        ttl: Duration,
    ) -> Result<CompleteReply, BackendError> {
        self.ends(outcome.owner);
        pause().await;
        let reply = self.map.complete(key, outcome, ttl).await?;
        if reply == CompleteReply::Stored {
            self.note(Did::Complete(outcome.owner));
        }
        pause().await;
        Ok(reply)
    }

    async fn release(&self, key: &RecordKey, owner: Owner) -> Result<ReleaseReply, BackendError> {
        self.ends(owner);
        pause().await;
        let reply = self.map.release(key, owner).await?;
        self.note(match reply {
            ReleaseReply::Released => Did::Release(owner),
            ReleaseReply::NotMine => Did::ReleaseNothing(owner),
        });
        pause().await;
        Ok(reply)
    }

    async fn replace(
        &self,
        key: &RecordKey,
        seen: Head,
        record: &Record,
        life: Duration,
        if_lapsed: Option<Duration>,
    ) -> Result<ReplaceReply, BackendError> {
        pause().await;
        let reply = self.map.replace(key, seen, record, life, if_lapsed).await?;
        if reply == ReplaceReply::Replaced {
            self.note(Did::TakeOver(record.owner));
        }
        pause().await;
        Ok(reply)
    }

    async fn discard(&self, key: &RecordKey, owner: Owner) -> Result<DiscardReply, BackendError> {
        self.map.discard(key, owner).await
    }

    async fn fence(&self, key: &RecordKey, owner: Owner) -> Result<FenceReply, BackendError> {
        self.map.fence(key, owner).await
    }

    async fn peek(&self, key: &RecordKey) -> Result<Option<Found>, BackendError> {
        pause().await;
        self.map.peek(key).await
    }

    async fn changed(&self, key: &RecordKey) -> Result<Watch, BackendError> {
        pause().await;
        self.map.changed(key).await
    }

    async fn for_keeper(&self) -> Result<Self, BackendError> {
        pause().await;
        Ok(self.clone())
    }

    fn reach(&self) -> Reach {
        // Of no other process is spoken here, but one may have the key (see `Store::reserve`).
        Reach::Shared
    }
}
