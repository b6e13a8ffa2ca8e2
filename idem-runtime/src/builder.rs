//! Building an `Idem`.

use std::fmt;
use std::sync::{Arc, Once};
use std::time::Duration;

use thiserror::Error;

use crate::backend::{Backend, DynBackend, Reach};
use crate::error::KeyShown;
use crate::event::Observer;
use crate::flight::Flights;
use crate::idem::{Core, Idem, Life};
use crate::keeper::{Keeper, Place};
use crate::observer::Observers;
use crate::policy::{OnCrash, OnDrop, OnDuplicate, OnLost, OnOutage, Terms};
use crate::time::{Clock, runtime_clock_is_its_own};

/// Settings of an [`Idem`]: a backend, and what calls go by that say nothing else.
#[derive(Default)]
pub struct Builder {
    backend: Option<Arc<dyn DynBackend>>,
    prefix: String,
    terms: Terms,
    max_result: Option<usize>,
    store_timeout: Option<Duration>,
    blocked_poll: Option<Duration>,
    observers: Vec<Box<dyn Observer>>,
    keys_shown: KeyShown,
    keeper: Place,
}

/// Why an `Idem` could not be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No backend was given.
    #[error("an Idem needs a backend: `.backend(MemoryBackend::new())`, or a networked one")]
    NoBackend,
    /// A setting is out of its range, contradicts another, or cannot be a default for all calls.
    #[error("{0}")]
    Setting(String),
    /// The current runtime's clock is paused: a keeper thread beside it would live in another time.
    #[error(
        "tokio's clock is paused here, and the keeper's thread would not share it: \
         use `keeper_as_task()` of the `testing` feature"
    )]
    PausedClock,
}

/// Setters that put one value in one place.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty => $($place:ident).+ = $value:expr;)*) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name(mut self, $name: $type) -> Self {
                self.$($place).+ = $value;
                self
            }
        )*
    };
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The store. Required.
    #[must_use]
    pub fn backend(mut self, backend: impl Backend) -> Self {
        self.backend = Some(Arc::new(backend));
        self
    }

    /// Somebody who hears of every event, besides `tracing` and (feature) `metrics`. May be called
    /// several times.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    setters! {
        /// What services that share a store are told apart by: letters, digits, `.`, `_`, `-`, `/`.
        /// Default: empty.
        prefix: impl Into<String> => prefix = prefix.into();
        /// How long a reservation outlives its owner's last sign of life. Default: 30 s; 100 ms to
        /// 24 h.
        lease: Duration => terms.lease = lease;
        /// How long an outcome is kept. Default: 24 h; at least the lease, at most 3650 days.
        ttl: Duration => terms.ttl = ttl;
        /// The longest an action may run. Default: none; at least the lease.
        deadline: Duration => terms.deadline = Some(deadline);
        /// How long `refuse` and `reconcile` remember a lapsed reservation. Default: 24 h.
        retention: Duration => terms.retention = retention;
        /// What a duplicate does. Default: wait for two leases.
        on_duplicate: OnDuplicate => terms.on_duplicate = on_duplicate;
        /// What becomes of an action whose lease is lost. Default: it finishes.
        on_lost: OnLost => terms.on_lost = on_lost;
        /// What becomes of the key when a call is dropped while it runs. Default: held. `Detach` is
        /// set per function, since it needs owned arguments.
        on_drop: OnDrop => terms.on_drop = on_drop;
        /// What a call does about an owner that vanished. Default: it runs. `Reconcile` is set per
        /// function, since it needs an expression.
        on_crash: OnCrash => terms.on_crash = on_crash;
        /// What a call does when the store cannot be reached. Default: it fails.
        on_outage: OnOutage => terms.on_outage = on_outage;
        /// The largest encoded value that is kept, in bytes; of a larger one only "done" is stored.
        /// Default: 1 MiB.
        max_result: usize => max_result = Some(max_result);
        /// How long a call goes on asking a store that does not answer, at begin and at completion.
        /// Default: 2 s.
        store_timeout: Duration => store_timeout = Some(store_timeout);
        /// A poll of an action that holds its thread for as long as this is reported. Default:
        /// 100 ms.
        blocked_poll: Duration => blocked_poll = Some(blocked_poll);
    }

    /// Shows keys as they are in errors and events. By default they appear as a short hash, since
    /// keys may be confidential.
    #[must_use]
    pub fn show_keys(mut self) -> Self {
        self.keys_shown = KeyShown::Plain;
        self
    }

    /// Runs the keeper as a task of the runtime that makes the first reservation, so that it shares
    /// that runtime's (paused) clock. It does not survive a blocked executor: for tests only.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn keeper_as_task(mut self) -> Self {
        self.keeper = Place::Task;
        self
    }

    /// Builds it. Nothing is started yet: the keeper starts with the first reservation.
    ///
    /// # Errors
    /// [`BuildError`] says which setting to change.
    pub fn build(self) -> Result<Idem, BuildError> {
        let fault = |text: &str| Err(BuildError::Setting(text.to_owned()));
        let Some(store) = self.backend else { return Err(BuildError::NoBackend) };
        if !is_name(&self.prefix) {
            return fault("a prefix has letters, digits, `.`, `_`, `-` and `/` only");
        }
        if self.terms.on_drop == OnDrop::Detach {
            return fault("`on_drop = detach` is set per function: it needs owned arguments");
        }
        if self.terms.on_crash == OnCrash::Reconcile {
            return fault("`on_crash = reconcile(…)` is set per function: it needs an expression");
        }
        if let Some(fault) = self.terms.fault() {
            return Err(BuildError::Setting(fault));
        }
        if self.store_timeout.is_some_and(|timeout| timeout.is_zero()) {
            return fault("the store's timeout is more than zero");
        }
        if self.keeper == Place::Thread && runtime_clock_is_its_own() {
            return Err(BuildError::PausedClock);
        }
        if store.reach() == Reach::Process {
            warn_once_of_one_process();
        }
        Ok(Idem::new(Core {
            prefix: (!self.prefix.is_empty()).then(|| self.prefix.into()),
            defaults: self.terms,
            max_result: self.max_result.unwrap_or(1 << 20),
            store_timeout: self.store_timeout.unwrap_or(Duration::from_secs(2)),
            blocked_poll: self.blocked_poll.unwrap_or(Duration::from_millis(100)),
            store,
            clock: Clock::start(),
            flights: Flights::new(),
            keeper: Arc::new(Keeper::new(self.keeper)),
            observers: Observers::new(self.observers, self.keys_shown),
            life: Life::default(),
        }))
    }
}

/// What prefixes and operations are made of: what a store's name can show as it is.
pub(crate) fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte))
}

fn warn_once_of_one_process() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing::warn!(
            target: "idem",
            "the memory backend protects this process only, and forgets everything with it"
        );
    });
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            backend,
            prefix,
            terms,
            max_result,
            store_timeout,
            blocked_poll,
            observers,
            keys_shown,
            keeper,
        } = self;
        f.debug_struct("Builder")
            .field("backend", &backend.is_some())
            .field("prefix", prefix)
            .field("terms", terms)
            .field("max_result", max_result)
            .field("store_timeout", store_timeout)
            .field("blocked_poll", blocked_poll)
            .field("observers", &observers.len())
            .field("keys_shown", keys_shown)
            .field("keeper", keeper)
            .finish()
    }
}
