//! What a store has to offer: one method per operation of the protocol.
//!
//! [`Backend`] is what an implementation writes, with plain `async fn`s; the runtime uses its boxed
//! mirror (in `backend::dynamic`), so that nothing else is generic over it. A backend is right when it
//! passes the conformance suite of the `testing` feature.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::protocol::transition::{
    BeginReply, CompleteReply, DiscardReply, FenceReply, ReleaseReply, RenewReply, ReplaceReply,
};
use crate::record::{Found, Head, Owner, Record};
use crate::record_key::RecordKey;

mod dynamic;
mod watch;

pub(crate) use dynamic::{Boxed, DynBackend};
pub use watch::Watch;

/// A store that keeps records.
///
/// Every operation is one atomic step, does exactly what the function of the same name in
/// [`protocol::transition`](crate::protocol::transition) does, and may be repeated. The store's own
/// clock decides expiry. A method that gives up waiting answers with
/// [`BackendError::unanswered`]: the operation may have taken effect, and the runtime repeats it. A
/// future that is dropped after its first poll may have taken effect as well.
pub trait Backend: Send + Sync + 'static {
    /// Reserves the key where nothing stands, for `lease` + the reservation's retention.
    fn begin(
        &self,
        key: &RecordKey,
        reservation: &Record,
        lease: Duration,
    ) -> impl Future<Output = Result<BeginReply, BackendError>> + Send;

    /// Renews each of these leases and answers for each, in order. The renewals of one batch are
    /// independent of each other: one that fails leaves the others alone.
    fn renew(
        &self,
        renewals: &[Renewal],
    ) -> impl Future<Output = Vec<Result<RenewReply, BackendError>>> + Send;

    /// Stores the outcome over its owner's reservation, for `ttl`.
    fn complete(
        &self,
        key: &RecordKey,
        outcome: &Record,
        ttl: Duration,
    ) -> impl Future<Output = Result<CompleteReply, BackendError>> + Send;

    /// Frees the owner's reservation.
    fn release(
        &self,
        key: &RecordKey,
        owner: Owner,
    ) -> impl Future<Output = Result<ReleaseReply, BackendError>> + Send;

    /// Puts `record` in the place of the one that was `seen`, for `life`; with `if_lapsed`, only
    /// over a reservation that has lapsed and has at most that much of its life left.
    fn replace(
        &self,
        key: &RecordKey,
        seen: Head,
        record: &Record,
        life: Duration,
        if_lapsed: Option<Duration>,
    ) -> impl Future<Output = Result<ReplaceReply, BackendError>> + Send;

    /// Removes a completed record of this owner.
    fn discard(
        &self,
        key: &RecordKey,
        owner: Owner,
    ) -> impl Future<Output = Result<DiscardReply, BackendError>> + Send;

    /// The number of the owner's reservation, made from the store's clock when first asked for.
    fn fence(
        &self,
        key: &RecordKey,
        owner: Owner,
    ) -> impl Future<Output = Result<FenceReply, BackendError>> + Send;

    /// What stands under the key and how long it will, read only.
    fn peek(
        &self,
        key: &RecordKey,
    ) -> impl Future<Output = Result<Option<Found>, BackendError>> + Send;

    /// A watch on the key. Once this returns, every later change wakes it; it may also wake early.
    /// The runtime polls beside it, so that a wake-up that is lost costs a poll and not the wait.
    fn changed(&self, key: &RecordKey) -> impl Future<Output = Result<Watch, BackendError>> + Send;

    /// The same store for the keeper, called on the keeper's own runtime: a backend whose
    /// connections are driven by the runtime that opened them opens one here.
    fn for_keeper(&self) -> impl Future<Output = Result<Self, BackendError>> + Send
    where
        Self: Sized;

    /// A number that is the same for keys of the same part of the store, such as a node. Default: all
    /// keys are in one. Leases of different parts are renewed by different batches, so that those of
    /// one part do not wait for another that is away.
    ///
    /// Only numbers asked for at the same time are compared: a key may be in another part later.
    fn group(&self, key: &RecordKey) -> u64 {
        let _ = key;
        0
    }

    /// Who shares this store.
    fn reach(&self) -> Reach;
}

/// Who shares a store, and with it the protection it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This process only.
    Process,
    /// Every process that connects to it.
    Shared,
}

/// One lease to renew.
#[derive(Clone, Debug)]
pub struct Renewal {
    /// Where the reservation stands.
    pub key: RecordKey,
    /// Whose it is.
    pub owner: Owner,
    /// The lease it gets from now.
    pub lease: Duration,
    /// How long it is remembered after that.
    pub retention: Duration,
}

/// A store that did not do what it was asked.
///
/// Cheap to clone. The message says what happened in a line for a person.
#[derive(Clone)]
pub struct BackendError(Arc<Inner>);

struct Inner {
    answered: bool,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl BackendError {
    /// The store could not be reached or did not answer in time; the operation may have taken
    /// effect.
    #[must_use]
    pub fn unanswered(message: impl Into<String>) -> Self {
        Self(Arc::new(Inner { answered: false, message: message.into(), source: None }))
    }

    /// The store answered with an error of its own (out of memory, no permission): never a reason
    /// to run unprotected, and not worth repeating at once.
    #[must_use]
    pub fn answered(message: impl Into<String>) -> Self {
        Self(Arc::new(Inner { answered: true, message: message.into(), source: None }))
    }

    /// This error with what caused it.
    #[must_use]
    pub fn caused_by(self, source: impl StdError + Send + Sync + 'static) -> Self {
        let message = self.0.message.clone();
        Self(Arc::new(Inner { answered: self.0.answered, message, source: Some(Box::new(source)) }))
    }

    /// Whether the store answered, with an error.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        self.0.answered
    }
}

impl fmt::Debug for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { answered, message, source } = &*self.0;
        f.debug_struct("BackendError")
            .field("answered", answered)
            .field("message", message)
            .field("source", source)
            .finish()
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl StdError for BackendError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}
