//! The keeper: one thread per `Idem` that renews its leases, on a runtime and a connection of its
//! own, so that a body that blocks its executor keeps its key.
//!
//! It also retries completions and releases that calls left behind, and enforces deadlines. It
//! starts with the first reservation and ends with the last handle or with `shutdown`; it holds its
//! `Idem` weakly, and nobody joins it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::futures::Notified;
use tokio::sync::{Notify, OnceCell};

use crate::attempt::Attempt;
use crate::backend::{BackendError, DynBackend};
use crate::idem::Core;
use crate::protocol::Moment;
use crate::record::{Owner, Record};
use crate::record_key::RecordKey;
use crate::run::stopped_at_deadline;
use crate::sync::lock;

mod agenda;
mod jobs;
mod renew;

use agenda::Agenda;

/// Where the keeper runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// On a thread of its own.
    #[default]
    Thread,
    /// As a task of the runtime that makes the first reservation, sharing its clock: for tests.
    #[cfg(feature = "testing")]
    Task,
}

/// What a call leaves to the keeper.
pub(crate) enum Job {
    /// Free the key of an attempt that has ended.
    Release(Arc<Attempt>),
    /// Free what a begin that was given up may have reserved.
    Forget { key: RecordKey, owner: Owner, lease: Duration },
    /// Store an outcome; the caller has it.
    Complete(Arc<Attempt>, Record),
}

/// The calls' side of the keeper.
pub(crate) struct Keeper {
    place: Place,
    started: AtomicBool,
    agenda: Agenda,
    /// Each holds its `Idem`, so that the keeper does not end before they are done.
    jobs: Mutex<Vec<(Arc<Core>, Job)>>,
    /// Jobs that are under way, for `shutdown`.
    busy: Mutex<usize>,
    wake: Notify,
    /// Told when a job is done.
    done: Notify,
    store: OnceCell<Arc<dyn DynBackend>>,
}

impl Keeper {
    pub(crate) fn new(place: Place) -> Self {
        Self {
            place,
            started: AtomicBool::new(false),
            agenda: Agenda::new(),
            jobs: Mutex::new(Vec::new()),
            busy: Mutex::new(0),
            wake: Notify::new(),
            done: Notify::new(),
            store: OnceCell::new(),
        }
    }

    /// Has an attempt looked at by `late`. Wakes the keeper only if that is before its next tick.
    pub(crate) fn attend(&self, core: &Arc<Core>, late: Moment) {
        if late != Moment::NEVER && self.agenda.is_news(late) {
            self.start(core);
            self.wake.notify_one();
        }
    }

    /// Leaves a job to the keeper.
    pub(crate) fn hand(&self, core: &Arc<Core>, job: Job) {
        *lock(&self.busy) += 1;
        lock(&self.jobs).push((Arc::clone(core), job));
        self.start(core);
        self.wake.notify_one();
    }

    /// How many jobs are not done.
    pub(crate) fn jobs_left(&self) -> usize {
        *lock(&self.busy)
    }

    /// Resolves when a job is done after this was enabled.
    pub(crate) fn job_done(&self) -> Notified<'_> {
        self.done.notified()
    }

    /// Whether it lives in a time of its own, apart from a paused runtime's.
    pub(crate) fn is_thread(&self) -> bool {
        self.place == Place::Thread
    }

    /// Wakes the keeper, to look whether it is still needed.
    pub(crate) fn nudge(&self) {
        self.wake.notify_one();
    }

    fn start(&self, core: &Arc<Core>) {
        if self.started.swap(true, Ordering::AcqRel) {
            return;
        }
        let core = Arc::downgrade(core);
        match self.place {
            Place::Thread => {
                if let Err(error) = spawn_thread(core) {
                    // The next reservation tries again; until then leases end by themselves.
                    self.started.store(false, Ordering::Release);
                    tracing::error!(target: "idem", %error, "the keeper's thread could not be started");
                }
            }
            #[cfg(feature = "testing")]
            Place::Task => drop(tokio::spawn(keep(core))),
        }
    }

    /// The keeper's own connection, opened on its own runtime.
    async fn store(&self, core: &Core) -> Result<&Arc<dyn DynBackend>, BackendError> {
        self.store.get_or_try_init(|| core.store.for_keeper()).await
    }
}

fn spawn_thread(core: Weak<Core>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name("idem-keeper".to_owned());
    thread.spawn(move || runtime.block_on(keep(core))).map(drop)
}

/// The keeper's life: look at what is due, see to jobs, sleep until the next.
async fn keep(core: Weak<Core>) {
    loop {
        let Some(held) = core.upgrade() else { return };
        if held.is_shut() {
            return;
        }
        let next = tick(&held);
        let (keeper, clock) = (Arc::clone(&held.keeper), held.clock);
        // Not held while it sleeps: the last handle ends it.
        drop(held);
        tokio::select! {
            () = keeper.wake.notified() => {}
            () = tokio::time::sleep_until(clock.instant(next)), if next != Moment::NEVER => {}
        }
    }
}

/// Starts everything that is due, and says when the next thing is.
fn tick(core: &Arc<Core>) -> Moment {
    let keeper = &core.keeper;
    for (core, job) in std::mem::take(&mut *lock(&keeper.jobs)) {
        jobs::start(core, job);
    }
    keeper.agenda.open();
    let now = core.clock.now();
    let (due, mut next) = core.flights.due(now);
    let mut renewals = Vec::new();
    for attempt in due {
        let needs = attempt.look(now);
        if needs.too_long {
            stopped_at_deadline(&attempt);
        }
        renewals.extend(needs.renewal.map(|renewal| (attempt, renewal)));
        next = next.min(needs.next);
    }
    renew::start(core, renewals);
    keeper.agenda.close(next)
}
