//! A worker with a run: from the queued record to the end of the body, in the order of the protocol.
//!
//! The queued record is replaced by this worker's reservation; then the receipt is seen to; then the
//! reservation is renewed; then the body is polled. So a dispatcher that died, or is only slow, makes no
//! second run, and a run whose receipt's place another one has does not start.

use std::fmt::Display;
use std::future::{Future, poll_fn};
use std::sync::Arc;

use super::attach::Ran;
use super::body::{BodyEnd, run_body, text_of};
use super::end::End;
use super::give_back::GiveBack;
use super::run::RunStatus;
use super::run_id::RunId;
use super::run_record::{Dispatched, RunRecord, RunState, Seen};
use super::store::RunStore;
use crate::ask::ask;
use crate::attempt::{Attempt, Taken};
use crate::begin::Arrival;
use crate::bounds::Storable;
use crate::call::{Action, Answer, attend};
use crate::context;
use crate::error::{Error, ErrorKind};
use crate::event::EventKind;
use crate::flight::{Joined, Seat, join};
use crate::idem::Core;
use crate::policy::{OnCrash, OnDrop, OnGone, OnLost, Terms};
use crate::protocol::tenure::Tenure;
use crate::protocol::transition::{ReplaceReply, reservation_life};
use crate::record::Owner;
use crate::run::{Guard, renew_before_start};

/// The one worker of a run in this process.
pub(super) struct Worker {
    core: Arc<Core>,
    run: RunId,
    seat: Seat,
    on_lost: OnLost,
    /// What becomes of the run if it cannot be started here; `None`: it is as it was.
    back: Option<RunState>,
}

/// A run that is reserved for this worker, and whose receipt stands.
struct Reserved {
    action: Action,
    attempt: Arc<Attempt>,
    dispatch: Dispatched,
    /// Its way back until the body is first polled.
    back: GiveBack,
}

impl Worker {
    /// Of a run that is handed out again if it cannot be started; `None` if this process has a worker for
    /// it.
    pub(super) fn of_queued_run(core: &Arc<Core>, run: RunId) -> Option<Self> {
        Self::of(core, run, None)
    }

    /// Of a run whose body nobody else has.
    pub(super) fn of_new_run(core: &Arc<Core>, run: RunId) -> Option<Self> {
        Self::of(core, run, Some(RunState::Failed("it could not be started".to_owned())))
    }

    fn of(core: &Arc<Core>, run: RunId, back: Option<RunState>) -> Option<Self> {
        match join(core, &RunStore::of(core).key(run)) {
            Joined::Seat(seat) => {
                let (core, on_lost) = (Arc::clone(core), core.defaults.on_lost);
                Some(Self { core, run, seat, on_lost, back })
            }
            Joined::Place(_) => None,
        }
    }

    pub(super) fn on_lost(self, on_lost: OnLost) -> Self {
        Self { on_lost, ..self }
    }

    pub(super) async fn run<T, E, B>(self, body: B) -> Result<Ran<T, E>, Error>
    where
        B: Future<Output = Result<T, E>>,
        T: Storable,
        E: Display,
    {
        self.run_or_give_back(body, |_| false).await
    }

    pub(super) async fn run_or_give_back<T, E, B>(
        self,
        body: B,
        may_retry: impl FnOnce(&E) -> bool,
    ) -> Result<Ran<T, E>, Error>
    where
        B: Future<Output = Result<T, E>>,
        T: Storable,
        E: Display,
    {
        let (core, run) = (Arc::clone(&self.core), self.run);
        let max_result = core.max_result;
        let reserved = match self.reserve().await? {
            Ok(reserved) => reserved,
            Err(status) => return Ok(Ran::NotStarted(status)),
        };
        let Reserved { mut action, attempt, dispatch, back } = reserved;
        let ended = {
            let body = run_body(body, may_retry, max_result);
            let mut body = std::pin::pin!(Some(body));
            poll_fn(|task| attend(&mut action, body.as_mut(), task)).await
        };
        let store = RunStore::of(&core);
        let end = End { store, run, attempt: &attempt, dispatch };
        match ended {
            Ok(BodyEnd::Result(result, state)) => {
                end.store(&mut action, state).await?;
                Ok(Ran::Ended(result))
            }
            Ok(BodyEnd::ToBeRetried(error, reason)) => {
                end.give_back(back, RunState::Waiting(reason)).await?;
                Ok(Ran::GivenBack(error))
            }
            Ok(BodyEnd::Panicked(panic)) => {
                attempt.tell(EventKind::Panicked);
                // The panic is what its caller hears, whatever becomes of the record.
                let _ = end.store(&mut action, RunState::Failed(text_of(&*panic))).await;
                std::panic::resume_unwind(panic)
            }
            // Cancelled, or taken away, in the last moment.
            Err(_) if attempt.is_forfeited() && !attempt.has_started() => {
                back.disarm();
                Ok(Ran::NotStarted(store.read(run).await.map_err(|e| end.failed(e))?.status()))
            }
            Err(Answer::Refuse(error)) => Err(end.stopped(error.kind()).await),
            Err(Answer::Replay(_)) => unreachable!("a run is not begun anew"),
        }
    }

    /// Makes the run this worker's. `Ok(Err(…))`: it is not to be started, and stands like this.
    async fn reserve(self) -> Result<Result<Reserved, RunStatus>, Error> {
        let Self { core, run, seat, on_lost, back } = self;
        let store = RunStore::of(&core);
        let key = store.key(run);
        let shown = core.observers.shown();
        let failed = |error| Error::about(ErrorKind::Backend, &key, shown).because(error);
        let (seen, dispatch, number, state) = match store.read(run).await.map_err(failed)? {
            Seen::Stands { head, attempt, run, .. } if !run.state.is_end() => {
                let again = u32::from(matches!(run.state, RunState::Waiting(_)));
                (head, run.dispatch, attempt.saturating_add(again), run.state)
            }
            seen => return Ok(Err(seen.status())),
        };
        // Its own process has the body.
        if back.is_none() && state == RunState::Accepted {
            return Ok(Err(RunStatus::Accepted));
        }
        let receipt = dispatch.receipt_key(&key);
        let failed = |error| Error::about(ErrorKind::Backend, &receipt, shown).because(error);
        let terms = terms_of_run(&core.defaults, &dispatch, on_lost);
        let life = reservation_life(terms.lease, terms.retention);
        let reservation = RunRecord::new(dispatch.clone(), RunState::Running, life)
            .reservation(Owner::fresh(), number);
        let mut back =
            GiveBack::new(&core, &key, (seen, &reservation), &dispatch, back.unwrap_or(state));
        // Counted from before the first try, as for every owner.
        let sent = core.clock.now();
        let deadline = Tenure::taken(terms.lease, terms.ttl, sent).deadline();
        let until = store.until().min(deadline);
        let replace = || core.store.replace(&key, seen, &reservation, life, None);
        match ask(core.clock, until, replace).await.map_err(failed)? {
            ReplaceReply::Replaced => {}
            ReplaceReply::Stands(_) => {
                back.disarm();
                return Ok(Err(store.read(run).await.map_err(failed)?.status()));
            }
        }
        let arrival = Arrival {
            core: Arc::clone(&core),
            key: key.clone(),
            fingerprint: dispatch.fingerprint(),
            terms,
            at: sent,
            context: context::current(),
            slot: None,
        };
        let taken = Taken { takeover: true, ..Taken::first(sent, &reservation) };
        let attempt = arrival.attempt(seat, reservation.owner, taken);
        back.attempt(&attempt);
        let mut action = Action::held(arrival, Guard::new(Arc::clone(&attempt)));
        // Dropped before the action, whose end gives up the seat: until then a shutdown waits for it.
        let back = back;
        if !store.see_to_receipt(run, &dispatch).await.map_err(failed)? {
            back.disarm();
            let end = End { store, run, attempt: &attempt, dispatch };
            end.store(&mut action, RunState::Skipped).await?;
            return Ok(Err(RunStatus::Skipped));
        }
        renew_before_start(&attempt, store.until()).await.map_err(failed)?;
        if attempt.is_forfeited() {
            back.disarm();
            attempt.end();
            return Ok(Err(store.read(run).await.map_err(failed)?.status()));
        }
        Ok(Ok(Reserved { action, attempt, dispatch, back }))
    }
}

/// What an attempt at a run goes by. Its reservation is remembered once it has lapsed, its end outlives
/// its receipt, and it is never begun again.
fn terms_of_run(defaults: &Terms, dispatch: &Dispatched, on_lost: OnLost) -> Terms {
    let times = dispatch.times();
    Terms {
        lease: times.lease,
        ttl: times.life_of_end(),
        deadline: times.deadline,
        retention: times.retention(),
        // A run has one result, which everybody asks its record for.
        on_lost: if on_lost == OnLost::Ignore { OnLost::Finish } else { on_lost },
        on_drop: OnDrop::Hold,
        on_crash: OnCrash::Refuse,
        on_gone: OnGone::Stop,
        ..*defaults
    }
}
