//! What calls have left to the keeper and is not done yet.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::Job;
use super::jobs::Ends;
use crate::idem::Core;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, Notified, Notify, lock};

/// How many releases are tried at once: after an outage, each failed begin has left one, and they
/// are to cost the store no more than a few callers would.
const RELEASES_AT_ONCE: usize = 16;
/// How many completions are tried at once.
const COMPLETIONS_AT_ONCE: usize = 64;

/// The jobs that wait, and the count of those that are not done.
pub(crate) struct Backlog {
    /// Each holds its `Idem`, so that the keeper does not end before they are done.
    waiting: Mutex<Vec<(Arc<Core>, Job)>>,
    not_done: AtomicUsize,
    done: Notify,
    releases: Semaphore,
    completions: Semaphore,
}

impl Backlog {
    pub(super) fn new() -> Self {
        Self {
            waiting: Mutex::new(Vec::new()),
            not_done: AtomicUsize::new(0),
            done: Notify::new(),
            releases: Semaphore::new(RELEASES_AT_ONCE),
            completions: Semaphore::new(COMPLETIONS_AT_ONCE),
        }
    }

    pub(super) fn add(&self, core: &Arc<Core>, job: Job) {
        self.not_done.fetch_add(1, Ordering::SeqCst);
        lock(&self.waiting).push((Arc::clone(core), job));
    }

    pub(super) fn take(&self) -> Vec<(Arc<Core>, Job)> {
        std::mem::take(&mut lock(&self.waiting))
    }

    /// Gives up what waits: nobody will do it.
    pub(super) fn discard(&self) {
        for (_core, job) in self.take() {
            match job {
                Job::Release(attempt) | Job::Complete(attempt, _) => drop(Ends(attempt)),
                Job::Forget { .. } | Job::MoveRun { .. } => {}
            }
            self.done();
        }
    }

    pub(super) fn done(&self) {
        self.not_done.fetch_sub(1, Ordering::SeqCst);
        self.done.notify_waiters();
    }

    /// Those whose tries share a limit: releases and completions apart, so that outcomes need not
    /// stand in line behind releases.
    pub(super) const fn limit(&self, job: &Job) -> &Semaphore {
        match job {
            Job::Release(_) | Job::Forget { .. } | Job::MoveRun { .. } => &self.releases,
            Job::Complete(..) => &self.completions,
        }
    }

    /// How many jobs are not done.
    pub(crate) fn len(&self) -> usize {
        self.not_done.load(Ordering::SeqCst)
    }

    /// Resolves when a job is done after this was enabled.
    pub(crate) fn one_done(&self) -> Notified<'_> {
        self.done.notified()
    }
}
