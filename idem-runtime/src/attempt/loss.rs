//! An attempt that is at risk, lost, or stopped: who is told, and how.

use std::task::Waker;

use tokio_util::sync::CancellationToken;

use super::{Attempt, Progress, Stage, Stop};
use crate::event::{EventKind, Phase};
use crate::policy::OnLost;
use crate::sync::atomic::Ordering;
use crate::sync::lock;

impl Attempt {
    /// The token that is cancelled when the lease is at risk or lost, or the action is stopped.
    pub(crate) fn token(&self) -> &CancellationToken {
        let token = self.token.get_or_init(CancellationToken::new);
        let progress = lock(&self.progress);
        if progress.lost || progress.told_at_risk || progress.stop.is_some() {
            token.cancel();
        }
        token
    }

    /// Whether something may stop the body: only then does each poll look.
    pub(crate) fn may_be_stopped(&self) -> bool {
        self.terms.on_lost == OnLost::Cancel || self.terms.deadline.is_some()
    }

    /// Why the body is to be dropped, if it is. Registers `waker` to be woken when that changes.
    pub(crate) fn stop(&self, waker: &Waker) -> Option<Stop> {
        self.stopped.register(waker);
        self.has_stop.load(Ordering::Acquire).then(|| lock(&self.progress).stop).flatten()
    }

    /// Takes note that the store has no record of the attempt, whose body has not run: it ends, and
    /// nothing has happened that another owner could have met.
    pub(crate) fn gone_before_start(&self) {
        lock(&self.progress).forfeited = true;
        self.tell(EventKind::LeaseGone);
    }

    /// Takes note that another owner's record stands. Tells so once.
    pub(crate) fn lost(&self, phase: Phase) {
        let mut progress = lock(&self.progress);
        if std::mem::replace(&mut progress.lost, true) {
            return;
        }
        let stopped =
            self.terms.on_lost == OnLost::Cancel && self.set_stop(&mut progress, Stop::LeaseLost);
        drop(progress);
        self.cancel_token();
        if stopped {
            self.wake();
        }
        self.tell(EventKind::LeaseLost { phase });
        // The key is another's: duplicates here are to ask the store, not to wait for this body.
        if phase == Phase::Running {
            self.seat.vacate();
        }
    }

    /// Says whether there is an action to stop: it is woken once the lock is released, since a waker
    /// may run anything, the action's drop as well.
    pub(super) fn set_stop(&self, progress: &mut Progress, stop: Stop) -> bool {
        let acts = matches!(progress.stage, Stage::Running | Stage::Asking);
        if acts {
            progress.stop.get_or_insert(stop);
            self.has_stop.store(true, Ordering::Release);
        }
        acts
    }

    /// A shutdown may have ended before an action started: nobody renews its lease then.
    pub(super) fn look_for_keeper(&self) {
        if self.core().is_shut() {
            self.left_by_the_keeper();
        }
    }

    /// Nobody will renew this any more: it is at risk from now on, or from its start.
    pub(crate) fn left_by_the_keeper(&self) {
        let mut progress = lock(&self.progress);
        let told = progress.told_at_risk || progress.lost;
        if told || matches!(progress.stage, Stage::Starting | Stage::Over) {
            return;
        }
        progress.told_at_risk = true;
        let stopped =
            self.terms.on_lost == OnLost::Cancel && self.set_stop(&mut progress, Stop::LeaseLost);
        drop(progress);
        self.cancel_token();
        if stopped {
            self.wake();
        }
        self.tell(EventKind::LeaseAtRisk);
    }

    /// Wakes the action, to see that it is stopped.
    pub(crate) fn wake(&self) {
        self.stopped.wake();
    }

    pub(super) fn cancel_token(&self) {
        if let Some(token) = self.token.get() {
            token.cancel();
        }
    }
}
