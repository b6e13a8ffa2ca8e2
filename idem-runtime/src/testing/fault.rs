//! A backend in front of another one that fails when it is told to.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use crate::backend::{Backend, BackendError, Reach, Renewal, Watch};
use crate::protocol::transition::{
    BeginReply, CompleteReply, DiscardReply, FenceReply, ReleaseReply, RenewReply, ReplaceReply,
};
use crate::record::{Found, Head, Owner, Record};
use crate::record_key::RecordKey;
use crate::sync::{Mutex, lock};

/// An operation of a backend, to say which one fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the backend's method of that name")]
pub enum Operation {
    Begin,
    Renew,
    Complete,
    Release,
    Replace,
    Discard,
    Fence,
    Peek,
    Changed,
    ForKeeper,
}

const OPERATIONS: usize = 10;

/// What goes wrong, in order, for each operation: every fault is used up by one call of it. Cheap to
/// clone; clones are the same list.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    queues: Mutex<[VecDeque<Fault>; OPERATIONS]>,
    sent: [AtomicUsize; OPERATIONS],
    away: AtomicBool,
}

#[derive(Debug)]
enum Fault {
    Delay(Duration),
    /// Not applied, not answered.
    FailBefore,
    /// Applied, not answered.
    FailAfter,
    /// Answered with an error.
    Answer(String),
    Panic,
    HoldBefore(Held),
    HoldAfter(Held),
}

#[derive(Debug)]
struct Held {
    arrived: watch::Sender<bool>,
    open: watch::Receiver<bool>,
}

/// Holds one call of an operation until it is opened (or dropped).
#[derive(Debug)]
pub struct Gate {
    arrived: watch::Receiver<bool>,
    open: watch::Sender<bool>,
}

impl Gate {
    fn new() -> (Self, Held) {
        let (arrived_at, arrived) = watch::channel(false);
        let (open, opened) = watch::channel(false);
        (Self { arrived, open }, Held { arrived: arrived_at, open: opened })
    }

    /// Resolves when the call has come to the gate.
    pub async fn arrived(&mut self) {
        // An error means that it came and went.
        let _ = self.arrived.wait_for(|arrived| *arrived).await;
    }

    /// Lets the call go on.
    pub fn open(self) {
        self.open.send_replace(true);
    }
}

impl Held {
    async fn hold(mut self) {
        self.arrived.send_replace(true);
        // An error means that the gate is gone, which is open.
        let _ = self.open.wait_for(|open| *open).await;
    }
}

impl Faults {
    /// Nothing goes wrong yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The next `times` calls take this much longer.
    pub fn delay(&self, operation: Operation, by: Duration, times: usize) {
        self.push(operation, times, || Fault::Delay(by));
    }

    /// The next `times` calls are neither carried out nor answered.
    pub fn fail_before(&self, operation: Operation, times: usize) {
        self.push(operation, times, || Fault::FailBefore);
    }

    /// The next `times` calls are carried out and not answered.
    pub fn fail_after(&self, operation: Operation, times: usize) {
        self.push(operation, times, || Fault::FailAfter);
    }

    /// The next `times` calls are answered with an error.
    pub fn answer(&self, operation: Operation, error: &str, times: usize) {
        self.push(operation, times, || Fault::Answer(error.to_owned()));
    }

    /// The next `times` calls panic, as a defect of the backend would.
    pub fn panic(&self, operation: Operation, times: usize) {
        self.push(operation, times, || Fault::Panic);
    }

    /// The next call is held before it is carried out.
    pub fn hold_before(&self, operation: Operation) -> Gate {
        let (gate, held) = Gate::new();
        lock(&self.0.queues)[operation as usize].push_back(Fault::HoldBefore(held));
        gate
    }

    /// The answer to the next call is held after it has been carried out.
    pub fn hold_after(&self, operation: Operation) -> Gate {
        let (gate, held) = Gate::new();
        lock(&self.0.queues)[operation as usize].push_back(Fault::HoldAfter(held));
        gate
    }

    /// While the store is away, nothing is carried out nor answered.
    pub fn away(&self, away: bool) {
        self.0.away.store(away, Ordering::SeqCst);
    }

    /// How many calls of an operation have been sent.
    #[must_use]
    pub fn sent(&self, operation: Operation) -> usize {
        self.0.sent[operation as usize].load(Ordering::SeqCst)
    }

    fn push(&self, operation: Operation, times: usize, fault: impl FnMut() -> Fault) {
        let mut queues = lock(&self.0.queues);
        queues[operation as usize].extend(std::iter::repeat_with(fault).take(times));
    }

    async fn apply<T>(
        &self,
        operation: Operation,
        carry_out: impl Future<Output = Result<T, BackendError>>,
    ) -> Result<T, BackendError> {
        self.0.sent[operation as usize].fetch_add(1, Ordering::SeqCst);
        let lost = || BackendError::unanswered("a fault of the test: no answer");
        if self.0.away.load(Ordering::SeqCst) {
            return Err(lost());
        }
        let fault = lock(&self.0.queues)[operation as usize].pop_front();
        match fault {
            None => carry_out.await,
            Some(Fault::Delay(by)) => {
                tokio::time::sleep(by).await;
                carry_out.await
            }
            Some(Fault::FailBefore) => Err(lost()),
            Some(Fault::FailAfter) => {
                let _ = carry_out.await;
                Err(lost())
            }
            Some(Fault::Panic) => panic!("a fault of the test: the backend panics"),
            Some(Fault::Answer(error)) => Err(BackendError::answered(error)),
            Some(Fault::HoldBefore(held)) => {
                held.hold().await;
                carry_out.await
            }
            Some(Fault::HoldAfter(held)) => {
                let answer = carry_out.await;
                held.hold().await;
                answer
            }
        }
    }
}

/// A backend in front of `B` with the faults of a list.
#[derive(Clone, Debug)]
pub struct FaultBackend<B> {
    inner: B,
    faults: Faults,
}

impl<B: Backend> FaultBackend<B> {
    /// Puts the faults of this list before `inner`.
    #[must_use]
    pub fn new(inner: B, faults: &Faults) -> Self {
        Self { inner, faults: faults.clone() }
    }
}

impl<B: Backend> Backend for FaultBackend<B> {
    async fn begin(
        &self,
        key: &RecordKey,
        reservation: &Record,
        lease: Duration,
    ) -> Result<BeginReply, BackendError> {
        self.faults.apply(Operation::Begin, self.inner.begin(key, reservation, lease)).await
    }

    async fn renew(&self, renewals: &[Renewal]) -> Vec<Result<RenewReply, BackendError>> {
        let carry_out = async { Ok(self.inner.renew(renewals).await) };
        match self.faults.apply(Operation::Renew, carry_out).await {
            Ok(replies) => replies,
            Err(error) => renewals.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    async fn complete(
        &self,
        key: &RecordKey,
        outcome: &Record,
        ttl: Duration,
    ) -> Result<CompleteReply, BackendError> {
        self.faults.apply(Operation::Complete, self.inner.complete(key, outcome, ttl)).await
    }

    async fn release(&self, key: &RecordKey, owner: Owner) -> Result<ReleaseReply, BackendError> {
        self.faults.apply(Operation::Release, self.inner.release(key, owner)).await
    }

    async fn replace(
        &self,
        key: &RecordKey,
        seen: Head,
        record: &Record,
        life: Duration,
        if_lapsed: Option<Duration>,
    ) -> Result<ReplaceReply, BackendError> {
        let replace = self.inner.replace(key, seen, record, life, if_lapsed);
        self.faults.apply(Operation::Replace, replace).await
    }

    async fn discard(&self, key: &RecordKey, owner: Owner) -> Result<DiscardReply, BackendError> {
        self.faults.apply(Operation::Discard, self.inner.discard(key, owner)).await
    }

    async fn fence(&self, key: &RecordKey, owner: Owner) -> Result<FenceReply, BackendError> {
        self.faults.apply(Operation::Fence, self.inner.fence(key, owner)).await
    }

    async fn peek(&self, key: &RecordKey) -> Result<Option<Found>, BackendError> {
        self.faults.apply(Operation::Peek, self.inner.peek(key)).await
    }

    async fn changed(&self, key: &RecordKey) -> Result<Watch, BackendError> {
        self.faults.apply(Operation::Changed, self.inner.changed(key)).await
    }

    async fn for_keeper(&self) -> Result<Self, BackendError> {
        let inner = self.faults.apply(Operation::ForKeeper, self.inner.for_keeper()).await?;
        Ok(Self { inner, faults: self.faults.clone() })
    }

    fn group(&self, key: &RecordKey) -> u64 {
        self.inner.group(key)
    }

    fn reach(&self) -> Reach {
        self.inner.reach()
    }
}
