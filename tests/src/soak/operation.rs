//! The operations that are called: each with policies of its own, the same in every call.

use std::time::Duration;

use idem_runtime::{OnCrash, OnDrop, OnLost, OnOutage};

/// An operation, and what all its calls go by.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its name.
    pub name: &'static str,
    /// The lease, in milliseconds.
    pub lease_ms: u64,
    /// How long an outcome is kept, in milliseconds.
    pub ttl_ms: u64,
    /// How long a crash is remembered, in milliseconds; heeded by `refuse` and `reconcile`.
    pub retention_ms: u64,
    /// The longest an action may run, in milliseconds.
    pub deadline_ms: Option<u64>,
    /// What becomes of an action whose lease is lost.
    pub on_lost: OnLost,
    /// What becomes of the key of a dropped call.
    pub on_drop: OnDrop,
    /// What a call does about an owner that vanished.
    pub on_crash: OnCrash,
    /// What a call does when the store cannot be reached.
    pub on_outage: OnOutage,
    /// Whether errors are outcomes.
    pub stores_errors: bool,
}

impl Operation {
    const fn new(name: &'static str, lease_ms: u64) -> Self {
        Self {
            name,
            lease_ms,
            ttl_ms: 2_500,
            retention_ms: 3_000,
            deadline_ms: None,
            on_lost: OnLost::Finish,
            on_drop: OnDrop::Hold,
            on_crash: OnCrash::Rerun,
            on_outage: OnOutage::Refuse,
            stores_errors: false,
        }
    }

    /// The lease.
    #[must_use]
    pub const fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms)
    }

    /// How long a lapsed reservation is remembered, in milliseconds.
    #[must_use]
    pub fn remembered_ms(&self) -> u64 {
        if self.on_crash == OnCrash::Rerun { 0 } else { self.retention_ms }
    }
}

/// All of them: the defaults, and each other choice of a policy at least once.
pub static OPERATIONS: [Operation; 8] = [
    Operation::new("rerun", 800),
    Operation { ttl_ms: 1_000, ..Operation::new("brief", 500) },
    Operation { on_crash: OnCrash::Refuse, ..Operation::new("refuse", 1_000) },
    Operation { on_crash: OnCrash::Reconcile, ..Operation::new("reconcile", 1_000) },
    Operation {
        on_lost: OnLost::Cancel,
        on_drop: OnDrop::Release,
        deadline_ms: Some(1_100),
        ..Operation::new("cancel", 700)
    },
    Operation { on_drop: OnDrop::Detach, stores_errors: true, ..Operation::new("detach", 1_500) },
    Operation { on_lost: OnLost::Ignore, ..Operation::new("ignore", 900) },
    Operation { on_outage: OnOutage::Run, ..Operation::new("outage", 800) },
];
