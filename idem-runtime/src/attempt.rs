//! One owner's attempt at an action: what the call, the keeper and the body's handle share of it.
//!
//! An attempt goes through its [`Stage`]s once, forward only, and exactly one party moves it out of
//! `Running`: the call that has the outcome, the guard of a dropped future, or the keeper at the
//! deadline. Every rule of time is asked of its [`Tenure`].

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::error::{Error, ErrorKind};
use crate::event::EventKind;
use crate::fingerprint::Fingerprint;
use crate::flight::Seat;
use crate::idem::Core;
use crate::policy::Terms;
use crate::protocol::Moment;
use crate::protocol::tenure::Tenure;
use crate::record::{Flags, Owner, Payload, Record, State};
use crate::record_key::RecordKey;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{AtomicWaker, Mutex, Notify, lock};

mod due;
mod loss;
mod renewal;
mod stage;

pub(crate) use due::Due;
pub(crate) use renewal::{AfterReply, DueRenewal};
pub(crate) use stage::{Stage, Starting, Stop, Taken};

/// An owner's hold on a key, from the command that took it to its end.
pub(crate) struct Attempt {
    seat: Seat,
    owner: Owner,
    fingerprint: Fingerprint,
    terms: Terms,
    taken: Taken,
    /// The attempt in whose body this one was called.
    outer: Option<Weak<Attempt>>,
    progress: Mutex<Progress>,
    due: Due,
    /// Whether a body polled by a task has to be woken when it is stopped.
    stopped: AtomicWaker,
    has_stop: AtomicBool,
    /// Told when a begin after *gone* has been answered.
    reserved_again: Notify,
    /// A begin after *gone* is under way. Changed under the lock.
    reserving_again: AtomicBool,
    token: OnceLock<CancellationToken>,
}

/// What changes about an attempt, under its lock.
struct Progress {
    tenure: Tenure,
    stage: Stage,
    /// The retention the record is known to have in the store.
    remembered: Duration,
    /// A takeover that reconcile has not answered, or whose body has not started, is never
    /// released: that would forget the crash.
    must_lapse: bool,
    /// The body has been polled, or is about to be.
    started: bool,
    renewal_due: Moment,
    renewing: bool,
    told_at_risk: bool,
    lost: bool,
    /// The store had no record of it before its body ran.
    forfeited: bool,
    stop: Option<Stop>,
    action_deadline: Moment,
}

impl Progress {
    /// Whether the action runs and nothing has stopped it.
    fn runs_on(&self) -> bool {
        self.stage == Stage::Running && self.stop.is_none()
    }
}

impl Attempt {
    pub(crate) fn new(
        seat: Seat,
        (owner, fingerprint, terms): (Owner, Fingerprint, Terms),
        taken: Taken,
        outer: Option<Weak<Attempt>>,
    ) -> Self {
        let tenure = Tenure::taken(terms.lease, terms.ttl, taken.sent);
        let progress = Progress {
            stage: Stage::Starting,
            remembered: taken.remembered,
            must_lapse: taken.takeover,
            started: false,
            renewal_due: tenure.first_renewal(),
            renewing: false,
            told_at_risk: false,
            lost: false,
            forfeited: false,
            stop: None,
            action_deadline: Moment::NEVER,
            tenure,
        };
        Self {
            seat,
            owner,
            fingerprint,
            terms,
            taken,
            outer,
            progress: Mutex::new(progress),
            due: Due::never(),
            stopped: AtomicWaker::new(),
            has_stop: AtomicBool::new(false),
            reserved_again: Notify::new(),
            reserving_again: AtomicBool::new(false),
            token: OnceLock::new(),
        }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        self.seat.core()
    }

    pub(crate) fn key(&self) -> &RecordKey {
        self.seat.key()
    }

    pub(crate) const fn seat(&self) -> &Seat {
        &self.seat
    }

    pub(crate) const fn due(&self) -> &Due {
        &self.due
    }

    pub(crate) const fn owner(&self) -> Owner {
        self.owner
    }

    pub(crate) const fn terms(&self) -> &Terms {
        &self.terms
    }

    pub(crate) const fn taken(&self) -> &Taken {
        &self.taken
    }

    pub(crate) fn tell(&self, kind: EventKind<'_>) {
        self.core().observers.tell(self.key(), kind);
    }

    pub(crate) fn error(&self, kind: ErrorKind) -> Error {
        Error::about(kind, self.key(), self.core().observers.shown())
    }

    /// Whether this attempt, or one whose body it was called in, runs under `key` of `core`.
    pub(crate) fn runs_under(&self, core: &Arc<Core>, key: &RecordKey) -> bool {
        (Arc::ptr_eq(self.core(), core) && self.key() == key && self.acts())
            || self.outer().is_some_and(|outer| outer.runs_under(core, key))
    }

    fn outer(&self) -> Option<Arc<Attempt>> {
        self.outer.as_ref().and_then(Weak::upgrade)
    }

    fn acts(&self) -> bool {
        matches!(lock(&self.progress).stage, Stage::Asking | Stage::Running)
    }

    /// Whether the action runs and nothing has stopped it.
    pub(crate) fn runs_on(&self) -> bool {
        lock(&self.progress).runs_on()
    }

    /// The reservation as the store would hold it, for a begin after *gone*.
    pub(crate) fn reservation(&self) -> Record {
        self.record(State::Reserved).remembered_for(lock(&self.progress).remembered)
    }

    /// The record of an outcome of this attempt.
    pub(crate) fn outcome(
        &self,
        flags: Flags,
        codec: u8,
        value_version: u32,
        payload: Payload,
    ) -> Record {
        Record { flags, codec, value_version, payload, ..self.record(State::Completed) }
    }

    fn record(&self, state: State) -> Record {
        let mut record =
            Record::reservation(self.owner, self.fingerprint, self.taken.first_reserved_at_ms);
        record.state = state;
        record.attempt = self.taken.number;
        record
    }

    pub(crate) fn time_left(&self, now: Moment) -> Duration {
        lock(&self.progress).tenure.time_left(now)
    }

    /// What is left until the owner claims the key no longer, or the action is stopped: from then on
    /// the key may be another's, whether the body has noticed or not.
    pub(crate) fn claim_left(&self, now: Moment) -> Duration {
        let progress = lock(&self.progress);
        progress.tenure.time_left(now).min(progress.action_deadline.since(now))
    }

    pub(crate) fn has_lapsed(&self) -> bool {
        lock(&self.progress).tenure.has_lapsed()
    }

    pub(crate) fn is_lost(&self) -> bool {
        lock(&self.progress).lost
    }

    /// Whether the body may be polled for the first time: the lease has two thirds left, the store
    /// remembers as long as the policy says. From then on the keeper sees to the lease.
    pub(crate) fn try_start(&self, now: Moment) -> Starting {
        let mut progress = lock(&self.progress);
        if progress.lost || progress.forfeited {
            return Starting::Forfeited;
        }
        let armed = self.taken.takeover || progress.remembered >= self.terms.remembered();
        if !armed || !progress.tenure.may_start(now) {
            return Starting::NotYet;
        }
        progress.stage = Stage::Running;
        progress.started = true;
        progress.must_lapse = false;
        if let Some(deadline) = self.terms.deadline {
            progress.action_deadline = now.after(deadline);
        }
        self.attend(&progress);
        drop(progress);
        self.look_for_keeper();
        Starting::Started
    }

    /// The reconcile expression is about to be asked, under the keeper's eye.
    pub(crate) fn start_asking(&self, now: Moment) {
        let mut progress = lock(&self.progress);
        progress.stage = Stage::Asking;
        if let Some(deadline) = self.terms.deadline {
            progress.action_deadline = now.after(deadline);
        }
        self.attend(&progress);
        drop(progress);
        self.look_for_keeper();
    }

    /// Reconcile has answered that the effect did not happen: the crash is settled, the body starts.
    pub(crate) fn answered(&self) {
        let mut progress = lock(&self.progress);
        progress.must_lapse = false;
        if progress.stage == Stage::Asking {
            progress.stage = Stage::Starting;
            progress.action_deadline = Moment::NEVER;
            self.attend(&progress);
        }
    }

    /// A renewal of the call's own, sent at `sent`, was confirmed by `now`.
    pub(crate) fn renewed_before_start(&self, sent: Moment, now: Moment) {
        let mut progress = lock(&self.progress);
        progress.tenure.renewed(sent, now);
        progress.remembered = progress.remembered.max(self.terms.remembered());
        progress.renewal_due = progress.tenure.first_renewal();
    }

    /// The retention a renewal asks the store to keep.
    pub(crate) fn wanted_retention(&self) -> Duration {
        lock(&self.progress).remembered.max(self.terms.remembered())
    }

    /// The body is done (or reconcile knows the outcome): from now on only its settling counts.
    /// Fails with the reason if the attempt has been ended before, at its deadline.
    pub(crate) fn start_settling(&self, now: Moment) -> Result<(), Stop> {
        let mut progress = lock(&self.progress);
        progress.tenure.observe(now);
        // An outcome that was reached in the very poll in which the lease was lost is still one.
        if progress.stage == Stage::Over {
            return Err(progress.stop.unwrap_or(Stop::LeaseLost));
        }
        progress.stage = Stage::Settling;
        progress.action_deadline = Moment::NEVER;
        self.attend(&progress);
        Ok(())
    }

    /// Ends the attempt; nothing is renewed any more.
    pub(crate) fn end(&self) {
        let mut progress = lock(&self.progress);
        progress.stage = Stage::Over;
        self.attend(&progress);
    }

    /// Ends an attempt that has no outcome, and says in which stage it was; `None` if its outcome
    /// is being settled or it is over.
    pub(crate) fn end_without_outcome(&self) -> Option<Stage> {
        let mut progress = lock(&self.progress);
        let stage = progress.stage;
        if matches!(stage, Stage::Settling | Stage::Over) {
            return None;
        }
        progress.stage = Stage::Over;
        progress.action_deadline = Moment::NEVER;
        self.attend(&progress);
        drop(progress);
        self.cancel_token();
        Some(stage)
    }

    /// Whether the reservation may be freed, or has to lapse.
    pub(crate) fn may_release(&self) -> bool {
        !lock(&self.progress).must_lapse
    }

    /// Whether the body has been polled, or is about to be.
    pub(crate) fn has_started(&self) -> bool {
        lock(&self.progress).started
    }

    /// Whether the store has no record of this attempt, or another's: before its body ran.
    pub(crate) fn is_forfeited(&self) -> bool {
        let progress = lock(&self.progress);
        progress.lost || progress.forfeited
    }

    /// Runs a rule of the owner's own account.
    pub(crate) fn with_tenure<T>(&self, rule: impl FnOnce(&mut Tenure) -> T) -> T {
        rule(&mut lock(&self.progress).tenure)
    }

    /// Whether a begin after *gone* is under way.
    pub(crate) fn has_begin_under_way(&self) -> bool {
        self.reserving_again.load(Ordering::SeqCst)
    }

    /// Resolves once no begin after *gone* is under way.
    pub(crate) async fn no_begin_under_way(&self) {
        loop {
            let answered = self.reserved_again.notified();
            if !self.has_begin_under_way() {
                return;
            }
            answered.await;
        }
    }

    /// Sets when the keeper is to look at this attempt next, and wakes it if that is too soon for
    /// its next tick.
    fn attend(&self, progress: &Progress) {
        if progress.lost {
            // Its flight is another's by now.
            return;
        }
        let (early, late) = self.next_look(progress);
        self.due.set(early, late);
        self.core().keeper.attend(self.core(), late);
    }
}
