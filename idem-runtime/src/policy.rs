//! The policies: what happens on a duplicate, a loss, a drop, a crash, an outage.
//!
//! Each has one default and reads the same on the attribute and on the builder. What an `Err` does
//! (`on_error`) is set per call, where the error's type is known.

use std::time::Duration;

use crate::record::Owner;

/// What a call does that finds another one of its key in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnDuplicate {
    /// Waits for two leases from its arrival, so that it also outlasts an owner that died just
    /// before. The default.
    #[default]
    Wait,
    /// Waits for this long, counted from the call's arrival.
    WaitFor(Duration),
    /// Fails at once with [`ErrorKind::InProgress`](crate::ErrorKind::InProgress).
    Reject,
}

/// What becomes of an action whose lease is at risk or lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnLost {
    /// It runs on; if another owner's record stands when it completes, its caller gets
    /// [`ErrorKind::LeaseLost`](crate::ErrorKind::LeaseLost). The default.
    #[default]
    Finish,
    /// It is dropped at its next await, at risk or lost, and its caller gets `LeaseLost`.
    Cancel,
    /// It runs on, and its caller gets its value, marked as not stored.
    Ignore,
}

/// What becomes of the key when the caller's future is dropped while the action runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnDrop {
    /// The effect may be out: the reservation stays until its lease ends. The default.
    #[default]
    Hold,
    /// The key is freed at once.
    Release,
    /// The action is a task of its own that runs to its end; its outcome is stored.
    Detach,
}

/// What a call does that finds a reservation whose owner vanished without an outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnCrash {
    /// It runs. The default.
    #[default]
    Rerun,
    /// It fails with [`ErrorKind::OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) until an
    /// operator decides or the retention ends.
    Refuse,
    /// It takes the key over and asks whether the effect happened before it runs.
    Reconcile,
}

/// What a call does when the store cannot be reached at begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnOutage {
    /// It fails with [`ErrorKind::Backend`](crate::ErrorKind::Backend). The default.
    #[default]
    Refuse,
    /// It runs without protection, and says so in the outcome, an event and the metrics.
    Run,
}

/// The shortest and longest lease: below 100 ms a renewal's round trip would eat it up; beyond a
/// day a dead owner would block its key for too long.
pub const LEASE_RANGE: (Duration, Duration) =
    (Duration::from_millis(100), Duration::from_secs(24 * 3600));

/// The longest ttl, deadline and retention: ten years.
pub const LONGEST: Duration = Duration::from_secs(3650 * 24 * 3600);

/// What an owner does that finds nothing where its reservation was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnGone {
    /// It begins again, under the same owner.
    #[default]
    BeginAgain,
    /// The owner of a receipt begins again unless the run that the receipt names is over.
    ReadRun,
    /// A run's worker ends: whoever asks for the run finds it gone, and starts another.
    Stop,
}

/// What one call goes by, resolved from its attribute and the builder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) lease: Duration,
    pub(crate) ttl: Duration,
    pub(crate) deadline: Option<Duration>,
    pub(crate) retention: Duration,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) on_lost: OnLost,
    pub(crate) on_drop: OnDrop,
    pub(crate) on_crash: OnCrash,
    pub(crate) on_outage: OnOutage,
    pub(crate) on_gone: OnGone,
}

impl Default for Terms {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 3600);
        Self {
            lease: Duration::from_secs(30),
            ttl: DAY,
            deadline: None,
            retention: DAY,
            on_duplicate: OnDuplicate::default(),
            on_lost: OnLost::default(),
            on_drop: OnDrop::default(),
            on_crash: OnCrash::default(),
            on_outage: OnOutage::default(),
            on_gone: OnGone::default(),
        }
    }
}

impl Terms {
    /// What is wrong with these, in a sentence; `None` if nothing is.
    pub(crate) fn fault(&self) -> Option<String> {
        let Self { lease, ttl, deadline, retention, on_duplicate, .. } = *self;
        let (shortest, longest) = LEASE_RANGE;
        if !(shortest..=longest).contains(&lease) {
            return Some(format!("a lease is at least 100 ms and at most 24 h, not {lease:?}"));
        }
        for (name, duration) in
            [("ttl", Some(ttl)), ("deadline", deadline), ("retention", Some(retention))]
        {
            if duration.is_some_and(|duration| duration.is_zero() || duration > LONGEST) {
                return Some(format!("the {name} is more than zero and at most 3650 days"));
            }
        }
        if ttl < lease {
            return Some(format!(
                "the ttl ({ttl:?}) has to be at least the lease ({lease:?}): raise it, or shorten the lease"
            ));
        }
        if let Some(deadline) = deadline.filter(|deadline| *deadline < lease) {
            return Some(format!(
                "the deadline ({deadline:?}) has to be at least the lease ({lease:?}): raise it, or \
                 shorten the lease"
            ));
        }
        if on_duplicate == (OnDuplicate::WaitFor(Duration::ZERO)) {
            return Some("a wait is longer than zero; to fail at once, use `reject`".to_owned());
        }
        None
    }

    /// The owner of a new attempt: that of a dispatch is the id of its run.
    pub(crate) fn fresh_owner(&self) -> Owner {
        match self.on_gone {
            OnGone::ReadRun => Owner::unguessable(),
            OnGone::BeginAgain | OnGone::Stop => Owner::fresh(),
        }
    }

    /// The longest a duplicate waits, counted from its arrival; `None`: it does not.
    pub(crate) fn wait(&self) -> Option<Duration> {
        match self.on_duplicate {
            OnDuplicate::Wait => Some(self.lease * 2),
            OnDuplicate::WaitFor(wait) => Some(wait),
            OnDuplicate::Reject => None,
        }
    }

    /// How long a lapsed reservation under these terms is remembered.
    pub(crate) fn remembered(&self) -> Duration {
        match self.on_crash {
            OnCrash::Rerun => Duration::ZERO,
            OnCrash::Refuse | OnCrash::Reconcile => self.retention,
        }
    }
}
