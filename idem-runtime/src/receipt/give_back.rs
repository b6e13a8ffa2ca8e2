//! The way back of a run that was reserved and whose body has not run.

use std::sync::Arc;

use super::run_record::{Dispatched, RunRecord, RunState};
use crate::attempt::Attempt;
use crate::idem::Core;
use crate::keeper::Job;
use crate::record::{Head, Owner, Record};
use crate::record_key::RecordKey;

/// Leaves it to the keeper, when it is dropped, to put a run back in the place of its reservation: unless
/// the body has been polled, or nothing was reserved, or somebody else has moved it.
pub(super) struct GiveBack {
    core: Arc<Core>,
    key: RecordKey,
    reserved: Head,
    number: u32,
    dispatch: Dispatched,
    attempt: Option<Arc<Attempt>>,
    /// `None`: nothing is to be put back.
    back: Option<RunState>,
}

impl GiveBack {
    pub(super) fn new(
        core: &Arc<Core>,
        key: &RecordKey,
        reservation: &Record,
        dispatch: &Dispatched,
        back: RunState,
    ) -> Self {
        Self {
            core: Arc::clone(core),
            key: key.clone(),
            reserved: reservation.head(),
            number: reservation.attempt,
            dispatch: dispatch.clone(),
            attempt: None,
            back: Some(back),
        }
    }

    /// The reservation stands, and this is its attempt.
    pub(super) fn attempt(&mut self, attempt: &Arc<Attempt>) {
        self.attempt = Some(Arc::clone(attempt));
    }

    pub(super) fn disarm(mut self) {
        self.back = None;
    }

    /// What puts the run into this state.
    fn job(&self, state: RunState) -> Job {
        let record = match state.is_end() {
            true => RunRecord::ended(self.dispatch.clone(), state),
            false => RunRecord::waiting(self.dispatch.clone(), state),
        };
        let times = self.dispatch.times();
        Job::GiveBack {
            key: self.key.clone(),
            seen: self.reserved,
            by: record.completed(Owner::fresh(), self.number),
            life: record.life(),
            // Later the run counts as one whose worker has vanished.
            patience: times.lease.saturating_add(times.hold),
        }
    }

    /// Leaves it to the keeper to put the run into this state, whether its body has been polled or not.
    pub(super) fn hand(mut self, state: RunState) {
        self.back = None;
        self.core.keeper.hand(&self.core, self.job(state));
    }
}

impl Drop for GiveBack {
    fn drop(&mut self) {
        let Some(back) = self.back.take() else { return };
        if self.attempt.as_ref().is_some_and(|attempt| attempt.has_started()) {
            return;
        }
        // Nothing of it is renewed from now on.
        if let Some(attempt) = &self.attempt {
            attempt.end();
            attempt.seat().vacate();
        }
        let job = self.job(back);
        self.core.keeper.hand(&self.core, job);
    }
}
