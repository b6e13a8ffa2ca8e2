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
use idem_runtime::{
    Error, ErrorKind, Fingerprint, Idem, Key, MemoryBackend, OnDuplicate, RecordKey,
};
use idem_tests::{LEASE, TTL, World, eventually};
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

/// The renewals of a call for each of `keys`, which each begin `apart` after the one before and run
/// for `takes`; the smaller batches first.
async fn batches(
    keys: impl Iterator<Item = String>,
    apart: Duration,
    takes: Duration,
) -> Vec<Vec<u64>> {
    let store = Parted::default();
    let idem = Idem::builder().backend(store.clone()).lease(LEASE).keeper_as_task().build();
    let (idem, mut calls) = (idem.unwrap(), JoinSet::new());
    for (key, n) in keys.zip(0..) {
        let idem = idem.clone();
        calls.spawn(async move {
            sleep(apart * n).await;
            let call = idem.call("op").key(&key).run(|_| async move {
                sleep(takes).await;
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

/// The first round of the renewals of calls that all begin at once.
async fn first_round(keys: impl Iterator<Item = String>) -> Vec<Vec<u64>> {
    batches(keys, Duration::ZERO, LEASE / 3).await
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

/// What is due within a sixteenth of an interval goes along; what is due later waits for its time.
#[tokio::test(start_paused = true)]
async fn renewals_leave_together_if_they_are_all_but_due() {
    let interval = LEASE / 4;
    for (apart, expected) in [(interval / 20, vec![2; 7]), (interval / 10, vec![1; 14])] {
        let keys = ["a", "aa"].map(str::to_owned).into_iter();
        let batches = batches(keys, apart, interval * 15 / 2).await;
        let sizes: Vec<_> = batches.iter().map(Vec::len).collect();
        assert_eq!(sizes, expected, "{apart:?} apart");
    }
}

/// The keeper looks at a lease that comes to be at risk, and renews it no earlier because of that.
#[tokio::test(start_paused = true)]
async fn a_lease_at_risk_is_renewed_when_it_is_due() {
    let process = World::new().process();
    let (faults, events) = (process.faults.clone(), process.events.clone());
    let call = process.idem.call("op").key("k").run(|_| async move {
        eventually("it is renewed", || events.has("renewed")).await;
        faults.away(true);
        eventually("it is at risk", || events.has("lease_at_risk")).await;
        sleep(LEASE / 50).await;
        Ok::<_, Error>(faults.sent(Operation::Renew) as u64)
    });
    assert_eq!(call.await.unwrap().value, 4);
}

/// A renewal that leaves more than a tenth of an interval late is reported.
#[tokio::test(start_paused = true)]
async fn a_tenth_of_an_interval_is_not_late() {
    let interval = LEASE / 4;
    for (late, reported) in [(interval / 10, 0), (interval / 10 + Duration::from_millis(1), 1)] {
        let process = World::new().process();
        let call = process.idem.call("op").key("k").run(|_| async move {
            sleep(interval / 2).await;
            // The machine stands still.
            tokio::time::advance(interval / 2 + late).await;
            eventually("it is renewed", || process.events.has("renewed")).await;
            Ok::<_, Error>(process.events.count("renewed_late") as u64)
        });
        assert_eq!(call.await.unwrap().value, reported, "{late:?} late");
    }
}

/// A renewal that finds its own outcome, which its caller has not heard of yet, has lost nothing.
#[tokio::test(start_paused = true)]
async fn a_renewal_that_meets_its_own_outcome_is_no_loss() {
    let process = World::new().process();
    let mut renewal = process.faults.hold_before(Operation::Renew);
    let mut completion = process.faults.hold_after(Operation::Complete);
    let idem = process.idem.clone();
    let call = tokio::spawn(async move {
        let call = idem.call("op").key("k").run(|_| async {
            sleep(LEASE / 4 + LEASE / 50).await;
            Ok::<_, Error>(1_u64)
        });
        call.await
    });
    renewal.arrived().await;
    completion.arrived().await;
    renewal.open();
    sleep(LEASE / 50).await;
    completion.open();
    assert!(call.await.unwrap().unwrap().stored);
    assert!(!process.events.has("lease_lost") && !process.events.has("renewal_failed"));
}

/// What becomes of a renewal after its attempt has ended is told to nobody.
#[tokio::test(start_paused = true)]
async fn a_renewal_of_an_attempt_that_has_ended_tells_nothing() {
    let process = World::new().process();
    let gate = process.faults.hold_before(Operation::Renew);
    let call = process.idem.call("op").key("k").run(|_| async {
        sleep(LEASE / 4 + LEASE / 50).await;
        Ok::<_, Error>(1_u64)
    });
    assert!(call.await.unwrap().stored);
    let told = process.events.all();
    // Longer than a renewal may take.
    sleep(LEASE).await;
    assert_eq!(process.faults.sent(Operation::Renew), 1);
    assert_eq!(process.events.all(), told);
    drop(gate);
}

/// A takeover whose key is another's by the time that reconcile answers is not renewed until then. Its
/// call keeps its seat: it is the one that begins anew.
#[tokio::test(start_paused = true)]
async fn a_lost_takeover_is_not_renewed() {
    let world = World::new();
    let process = world.process();
    let key = RecordKey::new("".into(), "op".into(), Key::of("k").unwrap());
    let dead = Record::reservation(Owner::fresh(), Fingerprint::NONE, 0).remembered_for(TTL);
    world.store.begin(&key, &dead, LEASE).await.unwrap();
    sleep(LEASE).await;
    let (faults, events) = (process.faults.clone(), process.events.clone());
    let (idem, store) = (process.idem.clone(), world.store.clone());
    let ask = async move {
        eventually("it is renewed", || events.has("renewed")).await;
        let found = store.peek(&key).await.unwrap().unwrap();
        let other = Record::reservation(Owner::fresh(), Fingerprint::NONE, 0);
        let seen = found.standing.record().unwrap().head();
        store.replace(&key, seen, &other, TTL, None).await.unwrap();
        eventually("it is told", || events.has("lease_lost")).await;
        let sent = faults.sent(Operation::Renew);
        sleep(LEASE * 3).await;
        assert_eq!(faults.sent(Operation::Renew), sent);
        let duplicate = tokio::spawn(async move {
            let call = idem.call("op").key("k").on_duplicate(OnDuplicate::Reject);
            call.run(|_| async { Ok::<_, Error>(1_u64) }).await
        });
        assert_eq!(duplicate.await.unwrap().unwrap_err().kind(), ErrorKind::InProgress);
        assert_eq!(faults.sent(Operation::Begin), 1);
        Ok::<Option<u64>, Error>(None)
    };
    let call = process.idem.call("op").key("k").on_duplicate(OnDuplicate::Reject);
    let refused = call.run_reconciling(ask, |_| async { Ok::<_, Error>(1) }).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InProgress);
}
