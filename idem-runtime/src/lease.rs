//! The lease as the body sees it.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::ask::ask;
use crate::attempt::Attempt;
use crate::context::{self, Context, Footing};
use crate::error::{Error, ErrorKind};
use crate::protocol::transition::FenceReply;
use crate::record_key::RecordKey;

/// The lease of the action that is running here; `None` outside of one, and in tasks that the action
/// spawned unless it was handed there with [`Lease::scope`].
#[must_use]
pub fn lease() -> Option<Lease> {
    context::current().footing.map(Lease)
}

/// An action's hold on its key. Cheap to clone. Holding it does not keep the lease alive.
#[derive(Clone)]
pub struct Lease(Footing);

impl Lease {
    fn attempt_here(&self) -> Option<&Arc<Attempt>> {
        match &self.0 {
            Footing::Held(attempt) => Some(attempt),
            Footing::Unprotected(..) => None,
        }
    }

    /// The operation that is running.
    #[must_use]
    pub fn operation(&self) -> &str {
        self.record_key().operation()
    }

    /// The call's key, as text: a tuple's parts are joined by `:`.
    #[must_use]
    pub fn key(&self) -> &str {
        self.record_key().key()
    }

    fn record_key(&self) -> &RecordKey {
        match &self.0 {
            Footing::Held(attempt) => attempt.key(),
            Footing::Unprotected(_, key) => key,
        }
    }

    /// Which attempt at this key runs: 1, or more after takeovers where the store knows of them.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt_here().map_or(1, |attempt| attempt.taken().number)
    }

    /// Whether the action runs under a lease: `false` only under `on_outage = run`.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.attempt_here().is_some()
    }

    /// What is left until the lease deadline, past which this owner no longer claims the key; the
    /// next renewal moves it. No more than what is left until the action's own `deadline`, which nothing
    /// moves. Zero when it has passed, when the key is lost, and without protection.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        match self.attempt_here() {
            Some(attempt) if !attempt.is_lost() => attempt.claim_left(attempt.core().clock.now()),
            _ => Duration::ZERO,
        }
    }

    /// A token that is cancelled when the lease is at risk (its deadline passed without a confirmed
    /// renewal) or lost, and when the action is stopped or dropped. Never cancelled without
    /// protection.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.attempt_here().map_or_else(CancellationToken::new, |attempt| attempt.token().clone())
    }

    /// A number for sinks that can check it: greater for each later owner of this key, as long as
    /// the store's clock is not set back between two owners, and always the same for this one while
    /// its reservation stands. Costs one command.
    ///
    /// # Errors
    /// `LeaseLost` if no reservation of this owner stands; `Backend` if the store does not answer in
    /// its time, and without protection. Dropped, it has changed nothing that matters.
    pub async fn fence(&self) -> Result<u64, Error> {
        let core = match &self.0 {
            Footing::Held(attempt) => attempt.core(),
            Footing::Unprotected(core, _) => core,
        };
        let error = |kind| Error::about(kind, self.record_key(), core.observers.shown());
        let Some(attempt) = self.attempt_here() else {
            return Err(error(ErrorKind::Backend).detail("this call runs without protection"));
        };
        let until = core.clock.now().after(core.store_timeout);
        match ask(core.clock, until, || core.store.fence(attempt.key(), attempt.owner())).await {
            Ok(FenceReply::Fence(number)) => Ok(number),
            Ok(FenceReply::Refused) => Err(error(ErrorKind::LeaseLost)),
            Err(failed) => Err(error(ErrorKind::Backend).because(failed)),
        }
    }

    /// Runs a future, of a task that the action spawned say, with this as its lease.
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let footing = Some(self.0.clone());
        async move {
            let context = Context { footing, slot: None, ..context::current() };
            context::within(context, future).await
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("operation", &self.operation())
            .field("attempt", &self.attempt())
            .field("time_left", &self.time_left())
            .finish_non_exhaustive()
    }
}
