//! The handle: what a service builds at startup, installs or puts in scope, and shuts down.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use thiserror::Error;

use crate::backend::DynBackend;
use crate::builder::Builder;
use crate::context::{self, Context};
use crate::direct::DirectCall;
use crate::flight::Flights;
use crate::keeper::Keeper;
use crate::observer::Observers;
use crate::policy::Terms;
use crate::sync::atomic::{AtomicU8, Ordering};
use crate::time::Clock;

static INSTALLED: OnceLock<Idem> = OnceLock::new();

/// A store, the settings of its calls, and the keeper of its leases. Cheap to clone: clones are
/// handles to the same.
///
/// The keeper's thread ends with the last handle.
#[derive(Clone)]
pub struct Idem(Arc<Core>);

/// Aligned so that the count of its handles, which every call changes, does not share a cache line
/// with what every call reads.
#[repr(align(128))]
pub(crate) struct Core {
    /// `None`: empty.
    pub(crate) prefix: Option<Arc<str>>,
    pub(crate) defaults: Terms,
    pub(crate) max_result: usize,
    /// How long a call goes on asking a store that does not answer.
    pub(crate) store_timeout: Duration,
    pub(crate) blocked_poll: Duration,
    pub(crate) store: Arc<dyn DynBackend>,
    pub(crate) clock: Clock,
    pub(crate) flights: Flights,
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) observers: Observers,
    pub(crate) life: Life,
}

/// Whether new calls are taken.
#[derive(Debug, Default)]
pub(crate) struct Life(AtomicU8);

const CLOSING: u8 = 1;
const SHUT: u8 = 2;

impl Life {
    pub(crate) fn close(&self) {
        self.0.fetch_max(CLOSING, Ordering::AcqRel);
    }

    pub(crate) fn shut(&self) {
        self.0.store(SHUT, Ordering::Release);
    }
}

impl Core {
    /// Takes no new calls.
    pub(crate) fn is_closing(&self) -> bool {
        self.life.0.load(Ordering::Acquire) >= CLOSING
    }

    /// The keeper has nothing to do any more.
    pub(crate) fn is_shut(&self) -> bool {
        self.life.0.load(Ordering::Acquire) == SHUT
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // It sleeps until its next tick; there is none.
        self.keeper.nudge();
    }
}

/// An `Idem` is installed already; the process keeps that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an Idem is installed in this process already; use `idem.scope(…)` for another one")]
pub struct AlreadyInstalled;

impl Idem {
    /// Starts building one.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn new(core: Core) -> Self {
        Self(Arc::new(core))
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0
    }

    pub(crate) fn into_core(self) -> Arc<Core> {
        self.0
    }

    /// Makes this the process's default, once and for all.
    ///
    /// # Errors
    /// [`AlreadyInstalled`], and the one that is stays.
    pub fn install(&self) -> Result<(), AlreadyInstalled> {
        INSTALLED.set(self.clone()).map_err(|_| AlreadyInstalled)
    }

    /// The installed one, if any.
    #[must_use]
    pub fn installed() -> Option<Self> {
        INSTALLED.get().cloned()
    }

    /// Runs a future whose calls use this `Idem`, whatever is installed. Tasks it spawns are not
    /// covered. Dropped, it drops the future.
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let idem = self.clone();
        // What surrounds it is that of the task which polls it, not of the one which made it.
        async move {
            let context = Context { idem: Some(idem), ..context::current() };
            context::within(context, future).await
        }
    }

    /// A call of an operation without the attribute.
    ///
    /// The operation's name has letters, digits, `.`, `_`, `-`, `/` only and does not begin with
    /// `idem.`; others are refused when the call runs.
    pub fn call(&self, operation: impl Into<std::borrow::Cow<'static, str>>) -> DirectCall {
        DirectCall::new(self.clone(), operation.into())
    }
}

impl fmt::Debug for Idem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Core {
            prefix,
            defaults,
            max_result,
            store_timeout,
            blocked_poll,
            store: _,
            clock: _,
            flights,
            keeper: _,
            observers,
            life,
        } = &*self.0;
        f.debug_struct("Idem")
            .field("prefix", prefix)
            .field("defaults", defaults)
            .field("max_result", max_result)
            .field("store_timeout", store_timeout)
            .field("blocked_poll", blocked_poll)
            .field("in_flight", &flights.count())
            .field("observers", observers)
            .field("life", life)
            .finish_non_exhaustive()
    }
}
