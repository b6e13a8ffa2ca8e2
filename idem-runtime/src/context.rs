//! What surrounds a call in its task: the `Idem` in scope, the lease of the body around it, and who
//! observes.

use std::future::Future;
use std::sync::Arc;

use crate::attempt::Attempt;
use crate::idem::{Core, Idem};
use crate::observe::Slot;
use crate::record_key::RecordKey;

tokio::task_local!(static CONTEXT: Context);

#[derive(Clone, Default)]
pub(crate) struct Context {
    /// Set by `Idem::scope`.
    pub(crate) idem: Option<Idem>,
    /// What the running body holds.
    pub(crate) footing: Option<Footing>,
    /// Set by `observe`, hidden from calls inside a body.
    pub(crate) slot: Option<Slot>,
}

/// What a body stands on.
#[derive(Clone)]
pub(crate) enum Footing {
    Held(Arc<Attempt>),
    /// The store was out of reach: no lease on this key.
    Unprotected(Arc<Core>, RecordKey),
}

impl Context {
    pub(crate) fn attempt(&self) -> Option<&Arc<Attempt>> {
        match &self.footing {
            Some(Footing::Held(attempt)) => Some(attempt),
            Some(Footing::Unprotected(..)) | None => None,
        }
    }

    /// Whether the body around runs under this key, with a lease or without.
    pub(crate) fn runs_under(&self, core: &Arc<Core>, key: &RecordKey) -> bool {
        match &self.footing {
            Some(Footing::Held(attempt)) => attempt.runs_under(core, key),
            Some(Footing::Unprotected(around, held)) => Arc::ptr_eq(around, core) && held == key,
            None => false,
        }
    }

    /// The context of a body that runs on `footing`, called in this context.
    pub(crate) fn of_body(&self, footing: Footing) -> Self {
        Self { idem: self.idem.clone(), footing: Some(footing), slot: None }
    }
}

/// The context of the current task; empty outside of any.
pub(crate) fn current() -> Context {
    CONTEXT.try_with(Clone::clone).unwrap_or_default()
}

/// Runs `future` in `context`, its drop as well.
pub(crate) fn within<F: Future>(context: Context, future: F) -> Within<F> {
    CONTEXT.scope(context, future)
}

/// Runs a poll of a body inside its context.
pub(crate) fn enter<T>(context: &Context, poll: impl FnOnce() -> T) -> T {
    CONTEXT.sync_scope(context.clone(), poll)
}

pub(crate) type Within<F> = tokio::task::futures::TaskLocalFuture<Context, F>;
