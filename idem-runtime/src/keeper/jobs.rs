//! What calls left behind: releases and completions, tried until they are answered or pointless.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::{FIRST_PAUSE, Job, LONGEST_PAUSE};
use crate::ask::{ask, bounded, jittered, no_answer};
use crate::attempt::Attempt;
use crate::backend::{BackendError, DynBackend};
use crate::event::EventKind;
use crate::idem::Core;
use crate::protocol::Moment;
use crate::protocol::transition::ReplaceReply;
use crate::record::{Head, Owner, Record};
use crate::record_key::RecordKey;
use crate::settle::{Settled, free, longest_life, settled, store_outcome};
use crate::sync::time::sleep_until;

/// Does one job, in its turn: as long as the store does not answer it keeps its place, and others
/// wait, so that many jobs cost a store that is away no more than a few.
pub(super) async fn see_to(core: Arc<Core>, job: Job) {
    let _done = Done(Arc::clone(&core));
    let since = core.clock.now();
    let turn = core.keeper.backlog().limit(&job).acquire();
    match job {
        Job::Release(attempt) => {
            let attempt = Ends(attempt);
            let _turn = turn.await;
            release(&core, &attempt.0, since).await;
        }
        Job::Forget { key, owner, lease } => {
            let _turn = turn.await;
            forget(&core, &key, owner, since.after(lease)).await;
        }
        Job::MoveRun { key, seen, by, life, patience } => {
            let _turn = turn.await;
            move_run(&core, &key, (seen, &by, life), since.after(patience)).await;
        }
        Job::Complete(attempt, outcome) => {
            let attempt = Ends(attempt);
            let _turn = turn.await;
            complete(&core, &attempt.0, outcome).await;
        }
    }
}

/// Counts the job as done, also when its task is dropped.
struct Done(Arc<Core>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.keeper.backlog().done();
    }
}

/// Ends the attempt with its job, also when the job's task is dropped or panics: no lease is renewed
/// that nobody will end.
pub(super) struct Ends(pub(super) Arc<Attempt>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.end();
        self.0.seat().vacate();
    }
}

async fn release(core: &Core, attempt: &Arc<Attempt>, since: Moment) {
    let mut pause = FIRST_PAUSE;
    loop {
        let now = core.clock.now();
        let freed = with_store(core, |store| async move { free(&*store, attempt, now).await });
        let Err(error) = freed.await else { return };
        // A store that answers with an error may do so for ever: duplicates here need not wait for
        // it, and it is asked for a lease at the most.
        let patience = if error.is_answer() {
            attempt.seat().vacate();
            attempt.terms().lease
        } else {
            longest_life(attempt)
        };
        if !wait_for_next(core, &mut pause, since.after(patience)).await {
            attempt.tell(EventKind::ReleaseFailed { error: &error });
            return;
        }
    }
}

async fn forget(core: &Core, key: &RecordKey, owner: Owner, gives_up: Moment) {
    // What was reserved has lapsed by then.
    let release = |store: Arc<dyn DynBackend>, until| async move {
        ask(core.clock, until, || store.release(key, owner)).await.map(drop)
    };
    persist(core, key, gives_up, release).await;
}

async fn move_run(
    core: &Core,
    key: &RecordKey,
    (seen, by, life): ([Head; 2], &Record, Duration),
    gives_up: Moment,
) {
    let replace = |store: Arc<dyn DynBackend>, until| async move {
        for seen in seen {
            let replaced =
                ask(core.clock, until, || store.replace(key, seen, by, life, None)).await?;
            if replaced == ReplaceReply::Replaced {
                break;
            }
        }
        Ok(())
    };
    persist(core, key, gives_up, replace).await;
}

/// Asks the store again and again, until it answers or there is no point in it any more.
async fn persist<F>(
    core: &Core,
    key: &RecordKey,
    gives_up: Moment,
    ask: impl Fn(Arc<dyn DynBackend>, Moment) -> F,
) where
    F: Future<Output = Result<(), BackendError>>,
{
    let mut pause = FIRST_PAUSE;
    while core.clock.now() < gives_up {
        let until = core.clock.now().after(core.store_timeout);
        let Err(error) = with_store(core, |store| ask(store, until)).await else { return };
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
        let (now, record) = (core.clock.now(), &outcome);
        let stored =
            with_store(
                core,
                |store| async move { store_outcome(&*store, attempt, record, now).await },
            );
        let stored = stored.await;
        let open = attempt.with_tenure(|tenure| tenure.window_is_open(core.clock.now()));
        match stored {
            Ok(how) => return settled(attempt, outcome, how, true),
            Err(_) if !open => return settled(attempt, outcome, Settled::TooLate, true),
            Err(_) => wait_for_next(core, &mut pause, Moment::NEVER).await,
        };
    }
}

/// Does something with the keeper's own connection, if that is there within a store's time.
async fn with_store<T, F>(
    core: &Core,
    act: impl FnOnce(Arc<dyn DynBackend>) -> F,
) -> Result<T, BackendError>
where
    F: Future<Output = Result<T, BackendError>>,
{
    let until = core.clock.now().after(core.store_timeout);
    let connected = Box::pin(core.keeper.store());
    let store = bounded(core.clock, until, connected).await.ok_or_else(no_answer)?;
    act(Arc::clone(store)).await
}

/// Waits before the next try; `false` if there is no point in one.
async fn wait_for_next(core: &Core, pause: &mut Duration, gives_up: Moment) -> bool {
    let next = core.clock.now().after(jittered(*pause));
    if next >= gives_up {
        return false;
    }
    sleep_until(core.clock.instant(next)).await;
    *pause = (*pause * 2).min(LONGEST_PAUSE);
    true
}
