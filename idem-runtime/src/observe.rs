//! What a caller may learn of a call beside its result.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::context::{self, Context};
use crate::sync::{Mutex, lock};

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// The action ran for this call.
    Fresh,
    /// An outcome stood already.
    Replayed,
    /// The call waited for another one's outcome.
    Waited,
    /// The action of an owner that vanished had happened, as `reconcile` found out.
    Reconciled,
}

/// The facts of one call that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// Where the answer came from.
    pub source: Source,
    /// The attempt that gave the outcome: 1, or more after takeovers where the store knows of them.
    pub attempt: u32,
    /// When the key was first reserved, by that owner's wall clock, to the millisecond.
    pub first_at: SystemTime,
    /// Whether the outcome is stored, so that later calls replay it. `false` where only "done" could
    /// be stored (later calls get `NotKept`), after an error that freed the key, while the completion is deferred, for a value returned under
    /// `on_lost = ignore`, and for a call that ran unprotected.
    pub stored: bool,
    /// Whether the lease deadline ever passed unconfirmed while the action ran: another call may
    /// have run meanwhile. Only known to the call that ran.
    pub lapsed: bool,
    /// Whether the call ran under a lease; `false` only under `on_outage = run`.
    pub protected: bool,
}

/// A value and the facts of the call that gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome<T> {
    /// What the action returned, now or then.
    pub value: T,
    /// Where the answer came from.
    pub source: Source,
    /// See [`Facts::attempt`].
    pub attempt: u32,
    /// See [`Facts::first_at`].
    pub first_at: SystemTime,
    /// See [`Facts::stored`].
    pub stored: bool,
    /// See [`Facts::lapsed`].
    pub lapsed: bool,
    /// See [`Facts::protected`].
    pub protected: bool,
}

impl<T> Outcome<T> {
    pub(crate) fn new(value: T, facts: Facts) -> Self {
        let Facts { source, attempt, first_at, stored, lapsed, protected } = facts;
        Self { value, source, attempt, first_at, stored, lapsed, protected }
    }
}

/// What [`observe`] gives: a future's output, and the facts of the first call that began inside it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Observed<T> {
    /// What the future returned.
    pub result: T,
    /// The facts; `None` if no call began inside, or it was refused.
    pub facts: Option<Facts>,
}

/// Runs a future and reports the facts of the first idempotent call that begins inside it.
///
/// ```
/// # use idem_runtime::{idempotent, Idem, MemoryBackend};
/// # #[idempotent(name = "greet", key = name)]
/// # async fn greet(name: &str) -> Result<String, idem_runtime::Error> { Ok(format!("hello {name}")) }
/// # async fn example() -> Result<(), idem_runtime::Error> {
/// let observed = idem_runtime::observe(greet("Ada")).await;
/// if let Some(facts) = observed.facts {
///     println!("{:?}, attempt {}", facts.source, facts.attempt);
/// }
/// # Ok(()) }
/// ```
///
/// Calls that an action makes inside its own body are not seen. Dropped, it drops the future.
pub async fn observe<F: Future>(future: F) -> Observed<F::Output> {
    let slot = Slot::default();
    let context = Context { slot: Some(slot.clone()), ..context::current() };
    let result = context::within(context, future).await;
    Observed { result, facts: slot.facts() }
}

/// Where the facts of one call go. The first call that begins takes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot(Arc<Mutex<SlotState>>);

#[derive(Debug, Default)]
struct SlotState {
    taken: bool,
    facts: Option<Facts>,
}

impl Slot {
    /// This slot, for the first call that asks; `None` for every later one.
    pub(crate) fn take(&self) -> Option<Self> {
        (!std::mem::replace(&mut lock(&self.0).taken, true)).then(|| self.clone())
    }

    pub(crate) fn fill(&self, facts: Facts) {
        lock(&self.0).facts = Some(facts);
    }

    pub(crate) fn facts(&self) -> Option<Facts> {
        lock(&self.0).facts
    }
}

/// Milliseconds since the Unix epoch as a time.
pub(crate) fn at_ms(ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ms)).unwrap_or(SystemTime::UNIX_EPOCH)
}
