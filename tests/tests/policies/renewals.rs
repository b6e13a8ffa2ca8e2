//! Renewals: which leave together, and when none leaves.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_runtime::backend::{Backend, BackendError, Reach, Renewal, Watch};
use idem_runtime::protocol::transition::{
    BeginReply, CompleteReply, DiscardReply, FenceReply, ReleaseReply, RenewReply, ReplaceReply,
};
use idem_runtime::record::{Found, Head, Owner, Record};
use idem_runtime::testing::Operation;
use idem_runtime::{Error, Idem, MemoryBackend, RecordKey};
use idem_tests::{LEASE, World, eventually};
use tokio::task::JoinSet;
use tokio::time::sleep;

type Answer<T> = Result<T, BackendError>;

/// A store whose parts are told apart by the last character of the key. It notes the parts of the
/// records in each batch of renewals.
#[derive(Clone, Debug, Default)]
struct Parted {
    store: MemoryBackend,
    batches: Arc<Mutex<Vec<Vec<u64>>>>,
}

impl Backend for Parted {
    async fn begin(&self, key: &RecordKey, record: &Record, lease: Duration) -> Answer<BeginReply> {
        self.store.begin(key, record, lease).await
    }

    async fn renew(&self, renewals: &[Renewal]) -> Vec<Answer<RenewReply>> {
        let parts = renewals.iter().map(|renewal| self.group(&renewal.key)).collect();
        self.batches.lock().unwrap().push(parts);
        self.store.renew(renewals).await
    }

    async fn complete(
        &self,
        key: &RecordKey,
        outcome: &Record,
        ttl: Duration,
    ) -> Answer<CompleteReply> {
        self.store.complete(key, outcome, ttl).await
    }

    async fn release(&self, key: &RecordKey, owner: Owner) -> Answer<ReleaseReply> {
        self.store.release(key, owner).await
    }

    async fn replace(
        &self,
        key: &RecordKey,
        seen: Head,
        record: &Record,
        life: Duration,
        if_lapsed: Option<Duration>,
    ) -> Answer<ReplaceReply> {
        self.store.replace(key, seen, record, life, if_lapsed).await
    }

    async fn discard(&self, key: &RecordKey, owner: Owner) -> Answer<DiscardReply> {
        self.store.discard(key, owner).await
    }

    async fn fence(&self, key: &RecordKey, owner: Owner) -> Answer<FenceReply> {
        self.store.fence(key, owner).await
    }

    async fn peek(&self, key: &RecordKey) -> Answer<Option<Found>> {
        self.store.peek(key).await
    }

    async fn changed(&self, key: &RecordKey) -> Answer<Watch> {
        self.store.changed(key).await
    }

    async fn for_keeper(&self) -> Answer<Self> {
        Ok(self.clone())
    }

    fn group(&self, key: &RecordKey) -> u64 {
        u64::from(key.key().as_bytes().last().copied().unwrap_or_default())
    }

    fn reach(&self) -> Reach {
        self.store.reach()
    }
}

/// The first round of renewals of a call for each of `keys`, all made at once.
async fn first_round(keys: impl Iterator<Item = String>) -> Vec<Vec<u64>> {
    let store = Parted::default();
    let idem = Idem::builder().backend(store.clone()).lease(LEASE).keeper_as_task().build();
    let (idem, mut calls) = (idem.unwrap(), JoinSet::new());
    for key in keys {
        let idem = idem.clone();
        calls.spawn(async move {
            let call = idem.call("op").key(&key).run(|_| async {
                sleep(LEASE / 3).await;
                Ok::<_, Error>(1_u64)
            });
            assert!(call.await.unwrap().stored);
        });
    }
    calls.join_all().await;
    let mut batches = store.batches.lock().unwrap().clone();
    batches.sort_by_key(Vec::len);
    batches
}

#[tokio::test(start_paused = true)]
async fn a_batch_stays_within_one_part_of_the_store() {
    let batches = first_round((0..20).map(|n| format!("{n} of {}", n % 2))).await;
    let parts: BTreeSet<_> = batches.iter().map(|batch| batch[0]).collect();
    assert_eq!(parts.len(), 2, "{batches:?}");
    assert_eq!(batches.len(), 2, "one for each: {batches:?}");
    assert!(batches.iter().all(|batch| *batch == vec![batch[0]; 10]), "{batches:?}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_renews_a_thousand_leases_at_the_most() {
    for (leases, expected) in [(1_000, vec![1_000]), (1_001, vec![1, 1_000])] {
        let batches = first_round((0..leases).map(|n| format!("{n}."))).await;
        let sizes: Vec<_> = batches.iter().map(Vec::len).collect();
        assert_eq!(sizes, expected);
    }
}

/// While a begin after *gone* is under way, nothing is renewed beside it: the store would say *gone*
/// again, and each time another begin would follow.
#[tokio::test(start_paused = true)]
async fn nothing_is_renewed_beside_a_begin() {
    let world = World::new();
    let process = world.process();
    let (faults, events, store) =
        (process.faults.clone(), process.events.clone(), world.store.clone());
    let call = process.idem.call("op").key("k").run(|_| async move {
        faults.away(true);
        sleep(LEASE * 2).await;
        assert!(store.is_empty());
        faults.fail_before(Operation::Begin, 1_000);
        faults.away(false);
        eventually("it is gone", || events.has("lease_gone")).await;
        let sent = faults.sent(Operation::Renew);
        sleep(LEASE * 5).await;
        assert_eq!((faults.sent(Operation::Renew), events.count("lease_gone")), (sent, 1));
        Ok::<_, Error>(1_u64)
    });
    assert_eq!(call.await.unwrap().value, 1);
}
