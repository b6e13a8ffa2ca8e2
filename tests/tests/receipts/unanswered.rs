//! What the store does not take at once, or takes late: the keeper goes on, and nobody waits for a hold
//! that is for workers which may come back.

use std::time::Duration;

use idem_runtime::backend::{Reach, Renewal, Watch};
use idem_runtime::protocol::transition::{
    BeginReply, CompleteReply, DiscardReply, FenceReply, ReleaseReply, RenewReply, ReplaceReply,
};
use idem_runtime::record::{Found, Head, Owner, Record};
use idem_runtime::testing::Operation;
use idem_runtime::{
    Backend, BackendError, Error, ErrorKind, Idem, MemoryBackend, Ran, Receipt, RecordKey,
    RunStatus,
};
use idem_tests::{LEASE, TTL, World};
use tokio::time::{sleep, timeout};

use crate::kit::{HOLD, QUEUE_TIMEOUT, Queue, dispatch, work};

async fn becomes(receipt: &Receipt, is_so: impl Fn(&RunStatus) -> bool) {
    let waited = timeout(LEASE * 10, async {
        while !is_so(&receipt.status().await.unwrap()) {
            sleep(LEASE / 20).await;
        }
    });
    assert!(waited.await.is_ok(), "{:?}", receipt.status().await);
}

/// A queue that refuses a run whose cancel the store does not take: no worker starts it all the same.
#[tokio::test(start_paused = true)]
async fn a_run_that_its_queue_refused_is_cancelled_by_the_keeper() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, other) = (world.process(), world.process());
    let refused = dispatch(&process.idem)
        .enqueue(async |run| {
            queue.push(run.id());
            process.faults.fail_before(Operation::Replace, 20);
            Err(Error::of_kind(ErrorKind::Backend, "the queue is full"))
        })
        .await;
    assert_eq!(refused.unwrap_err().operation(), "the queue is full");
    let run = other.idem.run(queue.runs()[0]);
    let cancelled = timeout(LEASE * 10, async {
        while run.status().await.unwrap() != RunStatus::Cancelled {
            sleep(LEASE / 20).await;
        }
    });
    assert!(cancelled.await.is_ok());
    assert!(matches!(work(&other, run.id(), 7).await, Ran::NotStarted(RunStatus::Cancelled)));
}

#[tokio::test(start_paused = true)]
async fn a_run_past_its_deadline_while_the_store_is_away_is_put_down_as_failed_later() {
    let world = World::new();
    let (process, other) = (world.process(), world.process());
    let faults = process.faults.clone();
    let body = async move {
        faults.away(true);
        std::future::pending::<Result<u64, Error>>().await
    };
    let receipt = dispatch(&process.idem).deadline(LEASE * 2).spawn(body).await.unwrap();
    sleep(LEASE * 6).await;
    let run = other.idem.run(receipt.id());
    assert!(matches!(run.status().await.unwrap(), RunStatus::Lapsed { .. }));
    process.faults.away(false);
    becomes(&receipt, |status| matches!(status, RunStatus::Failed { .. })).await;
}

/// A spawned run whose process could not reserve it, or died just before: nobody else has its body, so it is
/// missed as one whose worker has vanished, and no queue's patience is waited for.
#[tokio::test(start_paused = true)]
async fn an_accepted_run_that_nobody_starts_is_missed_after_a_lease_and_the_hold() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, other) = (world.process(), world.process());
    // Its worker's look at the run.
    process.faults.fail_before(Operation::Peek, 30);
    let receipt = dispatch(&process.idem).spawn(async { Ok::<_, Error>(7_u64) }).await.unwrap();
    let run = other.idem.run(receipt.id());
    sleep(LEASE * 3).await;
    assert_eq!(run.status().await.unwrap(), RunStatus::Accepted);
    // No other worker has the body.
    assert!(matches!(work(&other, run.id(), 7).await, Ran::NotStarted(RunStatus::Accepted)));
    assert_eq!(queue.dispatch(&other).await.unwrap().id(), run.id());
    sleep(HOLD - LEASE * 2).await;
    assert_ne!(queue.dispatch(&other).await.unwrap().id(), run.id());
}

/// A run may wait for longer than its receipt is given.
#[tokio::test(start_paused = true)]
async fn a_run_lives_as_long_as_it_may_wait() {
    let world = World::new();
    let (process, worker) = (world.process(), world.process());
    let waiting = dispatch(&process.idem).ttl(LEASE * 2);
    let receipt = waiting.enqueue(async |_| Ok::<_, Error>(())).await.unwrap();
    sleep(QUEUE_TIMEOUT - LEASE).await;
    assert!(matches!(work(&worker, receipt.id(), 7).await, Ran::Ended(Ok(7))));
}

/// A caller that has removed a dead receipt is not given it from what another call had read before.
#[tokio::test(start_paused = true)]
async fn a_receipt_that_was_removed_is_not_given_from_an_earlier_read() {
    let (world, queue) = (World::new(), Queue::default());
    let process = world.process();
    let dead = queue.dispatch(&process).await.unwrap();
    dead.cancel().await.unwrap();
    let dispatching = || {
        let (process, queue) = (process.clone(), queue.clone());
        tokio::spawn(async move { queue.dispatch(&process).await.unwrap() })
    };
    let mut discard = process.faults.hold_before(Operation::Discard);
    let first = dispatching();
    discard.arrived().await;
    let mut begin = process.faults.hold_after(Operation::Begin);
    let second = dispatching();
    begin.arrived().await;
    discard.open();
    sleep(LEASE / 20).await;
    begin.open();
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert!(first.id() != dead.id() && second.id() == first.id());
    assert_eq!(queue.runs().len(), 2);
}

/// A worker that is dropped while its replace is on its way: the keeper has put the run back before it
/// arrives, and it is refused then.
#[tokio::test(start_paused = true)]
async fn a_replace_that_arrives_after_its_worker_was_dropped_is_refused() {
    let (world, queue) = (World::new(), Queue::default());
    let process = world.process();
    let receipt = queue.dispatch(&process).await.unwrap();
    let backend = Late { store: world.store.clone(), late: true };
    let late =
        Idem::builder().backend(backend).lease(LEASE).ttl(TTL).keeper_as_task().build().unwrap();
    let attaching = late.attach(receipt.id()).run(async { Ok::<u64, Error>(7) });
    assert!(timeout(LEASE / 10, attaching).await.is_err());
    sleep(LEASE).await;
    assert_eq!(receipt.status().await.unwrap(), RunStatus::Queued);
    assert!(matches!(work(&process, receipt.id(), 7).await, Ran::Ended(Ok(7))));
}

/// Carries a replace out later, whether it is waited for or not; the keeper's are not late.
struct Late {
    store: MemoryBackend,
    late: bool,
}

type Answer<T> = Result<T, BackendError>;

impl Backend for Late {
    async fn begin(&self, key: &RecordKey, record: &Record, lease: Duration) -> Answer<BeginReply> {
        self.store.begin(key, record, lease).await
    }

    async fn renew(&self, renewals: &[Renewal]) -> Vec<Answer<RenewReply>> {
        self.store.renew(renewals).await
    }

    async fn complete(
        &self,
        key: &RecordKey,
        record: &Record,
        ttl: Duration,
    ) -> Answer<CompleteReply> {
        self.store.complete(key, record, ttl).await
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
        if !self.late {
            return self.store.replace(key, seen, record, life, if_lapsed).await;
        }
        let (store, key, record) = (self.store.clone(), key.clone(), record.clone());
        let arrives = async move {
            sleep(LEASE / 5).await;
            store.replace(&key, seen, &record, life, if_lapsed).await
        };
        tokio::spawn(arrives).await.unwrap()
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
        Ok(Self { store: self.store.clone(), late: false })
    }

    fn reach(&self) -> Reach {
        Reach::Shared
    }
}
