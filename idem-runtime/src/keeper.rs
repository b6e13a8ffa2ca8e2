//! The keeper: one thread per `Idem` that renews its leases, on a runtime and a connection of its
//! own, so that a body that blocks its executor keeps its key.
//!
//! It also retries completions and releases that calls left behind, and enforces deadlines. It
//! starts with the first reservation and ends with the last handle, once what calls left behind is
//! done, or with `shutdown`; it holds its `Idem` weakly, and nobody joins it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::SetOnce;

use crate::ask::jittered;
use crate::attempt::Attempt;
use crate::backend::DynBackend;
use crate::idem::Core;
use crate::protocol::Moment;
use crate::record::{Head, Owner, Record};
use crate::record_key::RecordKey;
use crate::run::stopped_at_deadline;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::time::{sleep, sleep_until, timeout};
use crate::sync::{Notify, select, spawn};

mod agenda;
mod backlog;
mod jobs;
mod renew;

use agenda::Agenda;
pub(crate) use backlog::Backlog;

/// The first pause between two tries of the keeper; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause between two tries to connect: leases run out meanwhile, and it is one try for
/// the whole process.
const LONGEST_PAUSE_TO_CONNECT: Duration = Duration::from_millis(200);
/// How long one try at the keeper's connection may take.
const LONGEST_OPENING: Duration = Duration::from_secs(30);
/// How long the keeper waits after a tick that panicked.
const AFTER_A_PANIC: Duration = Duration::from_millis(10);

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
    /// Put a run into another state, from one of those that were seen.
    MoveRun { key: RecordKey, seen: [Head; 2], by: Record, life: Duration, patience: Duration },
    /// Store an outcome; the caller has it.
    Complete(Arc<Attempt>, Record),
}

/// The calls' side of the keeper.
pub(crate) struct Keeper {
    place: Place,
    started: AtomicBool,
    agenda: Agenda,
    backlog: Backlog,
    wake: Notify,
    /// Its own connection, once it is there.
    store: SetOnce<Arc<dyn DynBackend>>,
}

impl Keeper {
    pub(crate) fn new(place: Place) -> Self {
        Self {
            place,
            started: AtomicBool::new(false),
            agenda: Agenda::new(),
            backlog: Backlog::new(),
            wake: Notify::new(),
            store: SetOnce::new(),
        }
    }

    /// Has an attempt looked at by `late`. Wakes the keeper only if that is before its next tick.
    pub(crate) fn attend(&self, core: &Arc<Core>, late: Moment) {
        if self.agenda.is_news(late) {
            self.start(core);
            self.wake.notify_one();
        }
    }

    /// Leaves a job to the keeper. After a shutdown nobody does it.
    pub(crate) fn hand(&self, core: &Arc<Core>, job: Job) {
        self.backlog.add(core, job);
        if core.is_shut() {
            self.backlog.discard();
            return;
        }
        self.start(core);
        self.wake.notify_one();
    }

    /// The jobs that are not done.
    pub(crate) const fn backlog(&self) -> &Backlog {
        &self.backlog
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
        // Made here: a task may be dropped before it is polled at all.
        let ended = Ended(core.clone());
        match self.place {
            Place::Thread => {
                let thread = std::thread::Builder::new().name("idem-keeper".to_owned());
                if let Err(error) = thread.spawn(move || keep_on_a_thread(core, ended)) {
                    warn_not_started(&error);
                }
            }
            #[cfg(feature = "testing")]
            Place::Task => drop(spawn(keep(core, ended))),
        }
    }

    /// Nothing keeps: until the next reservation starts another one, leases end by themselves.
    fn may_start_again(&self) {
        self.agenda.clear();
        self.started.store(false, Ordering::Release);
    }

    /// The part of the store that a key is in now.
    fn group(&self, key: &RecordKey) -> u64 {
        self.store.get().map_or(0, |store| store.group(key))
    }

    /// The keeper's own connection, as soon as it is there. To be awaited with a bound.
    async fn store(&self) -> &Arc<dyn DynBackend> {
        self.store.wait().await
    }
}

fn keep_on_a_thread(core: Weak<Core>, ended: Ended) {
    // Made here, since a runtime must not be dropped inside another one.
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(keep(core, ended)),
        Err(error) => warn_not_started(&error),
    }
}

fn warn_not_started(error: &std::io::Error) {
    tracing::error!(target: "idem", %error, "the keeper's thread could not be started");
}

/// The keeper's life: look at what is due, see to jobs, sleep until the next.
async fn keep(core: Weak<Core>, _ended: Ended) {
    spawn(connect(core.clone()));
    loop {
        let Some(held) = core.upgrade() else { return };
        if held.is_shut() {
            held.keeper.backlog.discard();
            return;
        }
        // A panic, of an allocator or a subscriber say, costs one tick and not the thread.
        let ticked = catch_unwind(AssertUnwindSafe(|| tick(&held)));
        let next = ticked.unwrap_or_else(|_| held.clock.now().after(AFTER_A_PANIC));
        let (keeper, clock) = (Arc::clone(&held.keeper), held.clock);
        // Not held while it sleeps: the last handle ends it.
        drop(held);
        select! {
            () = keeper.wake.notified() => {}
            () = sleep_until(clock.instant(next)), if next != Moment::NEVER => {}
        }
    }
}

/// The keeper has ended, or never came to run, however that came about: the next reservation starts
/// another one. For a keeper that is a task that is the ordinary way, when the runtime it lives in
/// ends.
struct Ended(Weak<Core>);

impl Drop for Ended {
    fn drop(&mut self) {
        if let Some(core) = self.0.upgrade() {
            core.keeper.may_start_again();
        }
    }
}

/// Opens the keeper's own connection, on its own runtime, again and again until it is there.
///
/// Each try is a task of its own: one that panics has failed, and one that hangs holds the store and
/// not the `Idem`.
async fn connect(core: Weak<Core>) {
    let mut pause = FIRST_PAUSE;
    while let Some(store) = core.upgrade().map(|core| Arc::clone(&core.store)) {
        let mut opening = spawn(async move { store.for_keeper().await });
        let opened = timeout(LONGEST_OPENING, &mut opening).await;
        opening.abort();
        let Some(core) = core.upgrade() else { return };
        match opened {
            Ok(Ok(Ok(store))) => {
                // It is set only here.
                let _ = core.keeper.store.set(store);
                return;
            }
            Ok(Ok(Err(error))) => warn_of_connection(&error),
            Ok(Err(error)) => warn_of_connection(&error),
            Err(error) => warn_of_connection(&error),
        }
        drop(core);
        sleep(jittered(pause)).await;
        pause = (pause * 2).min(LONGEST_PAUSE_TO_CONNECT);
    }
}

fn warn_of_connection(error: &dyn std::error::Error) {
    tracing::warn!(target: "idem", %error, "the keeper cannot connect to its store yet");
}

/// Starts everything that is due, and says when the next thing is.
fn tick(core: &Arc<Core>) -> Moment {
    let keeper = &core.keeper;
    for (core, job) in keeper.backlog.take() {
        spawn(jobs::see_to(core, job));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keeper_that_has_ended_is_started_by_the_next_reservation() {
        let keeper = Keeper::new(Place::Thread);
        assert!(keeper.agenda.is_news(Moment::from_nanos(1)));
        keeper.started.store(true, Ordering::Release);
        keeper.may_start_again();
        assert!(keeper.agenda.is_news(Moment::from_nanos(2)), "nobody would wake it");
        assert!(!keeper.started.load(Ordering::Acquire));
    }
}
