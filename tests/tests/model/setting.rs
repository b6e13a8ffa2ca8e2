//! A setting: the callers' policies, the lengths in ticks, and what the adversary may do.

use idem_runtime::{OnCrash, OnDrop, OnLost};

use crate::mutants::Mutant;
use crate::time::Tick;

/// What one caller goes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) on_crash: OnCrash,
    pub(crate) on_lost: OnLost,
    pub(crate) on_drop: OnDrop,
    pub(crate) retention: Tick,
    /// `on_duplicate = wait`, or else `reject`.
    pub(crate) waits: bool,
    /// What its arguments are; 0: no fingerprint.
    pub(crate) fingerprint: u8,
    /// How often it calls: again only after its process crashed.
    pub(crate) calls: u8,
}

impl Policy {
    pub(crate) const DEFAULT: Self = Self {
        on_crash: OnCrash::Rerun,
        on_lost: OnLost::Finish,
        on_drop: OnDrop::Hold,
        retention: 3,
        waits: true,
        fingerprint: 0,
        calls: 1,
    };
    pub(crate) const REFUSE: Self = Self { on_crash: OnCrash::Refuse, ..Self::DEFAULT };
    pub(crate) const RECONCILE: Self = Self { on_crash: OnCrash::Reconcile, ..Self::DEFAULT };

    /// How long a lapsed reservation of this caller is remembered (`Terms::remembered`).
    pub(crate) fn remembered(&self) -> Tick {
        match self.on_crash {
            OnCrash::Refuse | OnCrash::Reconcile => self.retention,
            _ => 0,
        }
    }

    /// Whether two callers go by the same: then only their order tells them apart.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

/// What the adversary can do, each for one of its faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Fault {
    Lost,
    ReplyLost,
    Late,
    ReplyLate,
    Twice,
    Crash,
    Pause,
    /// The caller's future is dropped.
    Drop,
    /// The record is gone before its time.
    Evict,
    /// The store is away for a while and comes back with its data.
    Outage,
    /// The store comes back without its data.
    Wipe,
}

/// The faults of messages.
pub(crate) const MESSAGES: [Fault; 5] =
    [Fault::Lost, Fault::ReplyLost, Fault::Late, Fault::ReplyLate, Fault::Twice];

/// What one run of the checker explores.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) callers: Vec<Policy>,
    pub(crate) lease: Tick,
    pub(crate) ttl: Tick,
    pub(crate) store_timeout: Tick,
    /// How long a body takes: at least, and at most. An answer of `reconcile` takes no longer.
    pub(crate) body: (Tick, Tick),
    /// Whether a body may end with an error, which frees the key.
    pub(crate) errors: bool,
    /// Whether an operator decides, and cancels.
    pub(crate) operator: bool,
    pub(crate) faults: u8,
    pub(crate) kinds: Vec<Fault>,
    /// How many commands of one owner the adversary holds back at a time.
    pub(crate) held_back: usize,
    /// From here on there are no new faults.
    pub(crate) faults_until: Tick,
    /// From here on nobody is paused, the store is there, and all have called.
    pub(crate) calm: Tick,
    /// What is held back arrives before this, or never.
    pub(crate) late_until: Tick,
    /// By now everything is over.
    pub(crate) end: Tick,
    pub(crate) mutant: Option<Mutant>,
}

impl Setting {
    /// Two callers by `policy`, a lease of four ticks, so that a tick is a renewal's interval.
    pub(crate) fn of(name: &'static str, policy: Policy) -> Self {
        Self {
            name,
            callers: vec![policy; 2],
            lease: 4,
            ttl: 4,
            store_timeout: 2,
            body: (0, 2),
            errors: true,
            operator: false,
            faults: 1,
            kinds: MESSAGES.into_iter().chain([Fault::Crash, Fault::Pause]).collect(),
            held_back: 1,
            faults_until: Tick::MAX,
            calm: 6,
            late_until: 11,
            end: 36,
            mutant: None,
        }
    }

    pub(crate) fn faults(mut self, faults: u8, kinds: &[Fault]) -> Self {
        self.faults = faults;
        self.kinds = kinds.to_vec();
        self
    }

    pub(crate) fn and(mut self, kinds: &[Fault]) -> Self {
        self.kinds.extend_from_slice(kinds);
        self
    }

    pub(crate) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }
}
