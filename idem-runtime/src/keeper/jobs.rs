//! What calls left behind: releases and completions, tried until they are answered or pointless.

use std::sync::Arc;
use std::time::Duration;

use crate::ask::{ask, jittered};
use crate::attempt::Attempt;
use crate::backend::BackendError;
use crate::event::EventKind;
use crate::idem::Core;
use crate::keeper::Job;
use crate::protocol::Moment;
use crate::record::{Owner, Record};
use crate::record_key::RecordKey;
use crate::settle::{Settled, free, longest_life, settled, store_outcome};
use crate::sync::lock;

/// The first pause between two tries; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Starts a job as a task of the keeper's runtime.
pub(super) fn start(core: Arc<Core>, job: Job) {
    tokio::spawn(async move {
        let _done = Done(Arc::clone(&core));
        match job {
            Job::Release(attempt) => release(&core, &Ends(attempt).0).await,
            Job::Forget { key, owner, lease } => forget(&core, &key, owner, lease).await,
            Job::Complete(attempt, outcome) => {
                complete(&core, &Ends(attempt).0, outcome).await;
            }
        }
    });
}

/// Counts the job as done, also when its task is dropped.
struct Done(Arc<Core>);

impl Drop for Done {
    fn drop(&mut self) {
        let keeper = &self.0.keeper;
        *lock(&keeper.busy) -= 1;
        keeper.done.notify_waiters();
    }
}

/// Ends the attempt with its job, also when the job's task is dropped or panics: no lease is renewed
/// that nobody will end.
struct Ends(Arc<Attempt>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.end();
        self.0.seat().vacate();
    }
}

async fn release(core: &Core, attempt: &Arc<Attempt>) {
    let gives_up = core.clock.now().after(longest_life(attempt));
    let mut pause = FIRST_PAUSE;
    loop {
        let result = match core.keeper.store(core).await {
            Ok(store) => free(&**store, attempt, core.clock.now()).await,
            Err(error) => Err(error),
        };
        let Err(error) = result else { return };
        if !wait_for_next(core, &mut pause, gives_up).await {
            attempt.tell(EventKind::ReleaseFailed { error: &error });
            attempt.seat().vacate();
            return;
        }
    }
}

async fn forget(core: &Core, key: &RecordKey, owner: Owner, lease: Duration) {
    let gives_up = core.clock.now().after(lease);
    let mut pause = FIRST_PAUSE;
    loop {
        let until = core.clock.now().after(core.store_timeout);
        let result = match core.keeper.store(core).await {
            Ok(store) => ask(core.clock, until, || store.release(key, owner)).await,
            Err(error) => Err(error),
        };
        let Err(error) = result else { return };
        if !wait_for_next(core, &mut pause, gives_up).await {
            core.observers.tell(key, EventKind::ReleaseFailed { error: &error });
            return;
        }
    }
}

/// Stores an outcome that its caller could not; its lease is renewed meanwhile, so duplicates are
/// refused and not run.
async fn complete(core: &Core, attempt: &Arc<Attempt>, outcome: Record) {
    let mut pause = FIRST_PAUSE;
    loop {
        let result: Result<_, BackendError> = match core.keeper.store(core).await {
            Ok(store) => store_outcome(&**store, attempt, &outcome, core.clock.now()).await,
            Err(error) => Err(error),
        };
        let open = attempt.with_tenure(|tenure| tenure.window_is_open(core.clock.now()));
        match result {
            Ok(how) => return settled(attempt, outcome, how, true),
            Err(_) if !open => return settled(attempt, outcome, Settled::TooLate, true),
            Err(_) => wait_for_next(core, &mut pause, Moment::NEVER).await,
        };
    }
}

/// Waits before the next try; `false` if there is no point in one.
async fn wait_for_next(core: &Core, pause: &mut Duration, gives_up: Moment) -> bool {
    let next = core.clock.now().after(jittered(*pause));
    if next >= gives_up {
        return false;
    }
    tokio::time::sleep_until(core.clock.instant(next)).await;
    *pause = (*pause * 2).min(LONGEST_PAUSE);
    true
}
