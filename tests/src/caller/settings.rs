//! How a caller is set up: its store, its runtime, and what its calls go by.

use std::path::PathBuf;
use std::time::Duration;

use idem_runtime::Builder;
use serde::{Deserialize, Serialize};

use crate::{LEASE, TTL};

/// Which runtime the caller's calls run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Runtime {
    /// One thread for everything.
    CurrentThread,
    /// Two workers.
    MultiThread,
}

/// The choices of policies, as they can be told to a process.
macro_rules! policies {
    ($($policy:ident: $($choice:ident $(($time:ty))?),*;)*) => {$(
        #[doc = concat!("[`idem_runtime::", stringify!($policy), "`].")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[allow(missing_docs, reason = "each is the policy's choice of that name")]
        pub enum $policy {
            $($choice $(($time))?),*
        }

        impl From<$policy> for idem_runtime::$policy {
            fn from(policy: $policy) -> Self {
                match policy {
                    $(policies!(@ $policy $choice time $($time)?) =>
                        policies!(@ Self $choice time $($time)?),)*
                }
            }
        }
    )*};
    (@ $of:ident $choice:ident $binding:ident) => { $of::$choice };
    (@ $of:ident $choice:ident $binding:ident $time:ty) => { $of::$choice($binding) };
}

policies! {
    OnDuplicate: Wait, WaitFor(Duration), Reject;
    OnLost: Finish, Cancel, Ignore;
    OnDrop: Hold, Release;
    OnCrash: Rerun, Refuse;
    OnOutage: Refuse, Run;
}

/// The settings of one caller. Those that every scenario leaves alone have the defaults of `idem`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The store's address.
    pub url: String,
    /// Where its actions write their effects.
    pub ledger: PathBuf,
    /// What its calls run on.
    pub runtime: Runtime,
    /// The lease of its calls.
    pub lease: Duration,
    /// How long its outcomes are kept.
    pub ttl: Duration,
    /// How long a call goes on asking a store that does not answer.
    pub store_timeout: Duration,
    /// The longest wait for one reply of the store.
    pub command_timeout: Duration,
    /// What its duplicates do.
    pub on_duplicate: OnDuplicate,
    /// What becomes of an action whose lease is lost.
    pub on_lost: OnLost,
    /// What becomes of the key of a dropped call.
    pub on_drop: OnDrop,
    /// What its calls do about an owner that vanished.
    pub on_crash: OnCrash,
    /// What its calls do when the store cannot be reached.
    pub on_outage: OnOutage,
}

impl Settings {
    /// A caller on the store at `url`, with the lease and the ttl of most tests.
    #[must_use]
    pub fn new(url: String, ledger: PathBuf) -> Self {
        Self {
            url,
            ledger,
            runtime: Runtime::MultiThread,
            lease: LEASE,
            ttl: TTL,
            store_timeout: Duration::from_secs(2),
            command_timeout: Duration::from_secs(1),
            on_duplicate: OnDuplicate::Wait,
            on_lost: OnLost::Finish,
            on_drop: OnDrop::Hold,
            on_crash: OnCrash::Rerun,
            on_outage: OnOutage::Refuse,
        }
    }

    /// The same with another lease.
    #[must_use]
    pub fn lease(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }

    /// The same on another runtime.
    #[must_use]
    pub fn runtime(self, runtime: Runtime) -> Self {
        Self { runtime, ..self }
    }

    /// The same with other duplicates.
    #[must_use]
    pub fn on_duplicate(self, on_duplicate: OnDuplicate) -> Self {
        Self { on_duplicate, ..self }
    }

    /// Gives a builder these settings, save those of the store.
    #[must_use]
    pub fn apply(&self, builder: Builder) -> Builder {
        builder
            .prefix("shop")
            .lease(self.lease)
            .ttl(self.ttl)
            .store_timeout(self.store_timeout)
            .on_duplicate(self.on_duplicate.into())
            .on_lost(self.on_lost.into())
            .on_drop(self.on_drop.into())
            .on_crash(self.on_crash.into())
            .on_outage(self.on_outage.into())
    }
}
