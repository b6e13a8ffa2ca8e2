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
    /// What the reservation took the place of.
    before: Head,
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
        (before, reservation): (Head, &Record),
        dispatch: &Dispatched,
        back: RunState,
    ) -> Self {
        Self {
            core: Arc::clone(core),
            key: key.clone(),
            before,
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

    fn job(&self, state: RunState) -> Job {
        // A reservation that is still on its way is refused by a new revision of what it would replace.
        let seen = [self.reserved, self.before];
        move_run(&self.key, seen, self.number, self.dispatch.clone(), state)
    }

    /// Leaves it to the keeper to put the run into this state, whether its body has been polled or not.
    pub(super) fn hand(mut self, state: RunState) {
        self.back = None;
        self.core.keeper.hand(&self.core, self.job(state));
    }
}

/// What puts a run into this state where one of these stands.
pub(super) fn move_run(
    key: &RecordKey,
    seen: [Head; 2],
    number: u32,
    dispatch: Dispatched,
    state: RunState,
) -> Job {
    let times = dispatch.times();
    let record = match state.is_end() {
        true => RunRecord::ended(dispatch, state),
        false => RunRecord::waiting(dispatch, state),
    };
    Job::MoveRun {
        key: key.clone(),
        seen,
        by: record.completed(Owner::fresh(), number),
        life: record.life(),
        // Later the run counts as one whose worker has vanished.
        patience: times.lease.saturating_add(times.hold),
    }
}

impl Drop for GiveBack {
    fn drop(&mut self) {
        let Some(back) = self.back.take() else { return };
        if self.attempt.as_ref().is_some_and(|attempt| attempt.has_started()) {
            return;
        }
        // Nothing of it is renewed from now on; who comes to its seat finds the keeper at it.
        if let Some(attempt) = &self.attempt {
            attempt.end();
        }
        self.core.keeper.hand(&self.core, self.job(back));
        if let Some(attempt) = &self.attempt {
            attempt.seat().vacate();
        }
    }
}
