//! The begin of a call: from its arrival to an action that may run, or an answer.

use std::sync::Arc;

use crate::ask::ask;
use crate::attempt::{Attempt, Taken};
use crate::backend::BackendError;
use crate::context::Context;
use crate::error::{Error, ErrorKind};
use crate::event::EventKind;
use crate::fingerprint::Fingerprint;
use crate::flight::{Answer, Holder, Joined, Place, Seat, join};
use crate::idem::Core;
use crate::keeper::Job;
use crate::observe::{Facts, Slot, Source};
use crate::policy::{OnOutage, Terms};
use crate::protocol::Moment;
use crate::protocol::judge::differ;
use crate::protocol::tenure::Tenure;
use crate::protocol::transition::BeginReply;
use crate::record::{Owner, Record, Standing, State};
use crate::record_key::RecordKey;
use crate::time::wall_ms;
use crate::wait::Awaited;

/// A call on its way: what it asks for, and since when.
#[derive(Clone)]
pub(crate) struct Arrival {
    pub(crate) core: Arc<Core>,
    pub(crate) key: RecordKey,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) terms: Terms,
    pub(crate) at: Moment,
    /// What surrounded the call; its observation slot is this call's from now on.
    pub(crate) context: Context,
    pub(crate) slot: Option<Slot>,
}

/// How a call goes on.
pub(crate) enum Start {
    /// It is answered from an outcome.
    Replay { outcome: Record, source: Source },
    /// Its action may run, under this attempt.
    Run(Arc<Attempt>),
    /// It took over from an owner that vanished and is to ask what became of that one's effect.
    Reconcile(Arc<Attempt>),
    /// Its action may run without protection.
    Unprotected,
}

/// What a look at another's reservation led to.
pub(crate) enum Step {
    /// The record that stood is gone: begin anew.
    Anew(Seat),
    /// An outcome stands.
    Outcome(Seat, Record),
    /// It was taken over.
    Start(Start),
}

impl Arrival {
    /// Takes the key, or waits for who has it, by the call's terms.
    ///
    /// Dropped, it gives up its place; a begin that may have taken effect is left to the keeper to
    /// release.
    pub(crate) async fn begin(&self) -> Result<Start, Error> {
        if self.core.is_closing() {
            return Err(self.error(ErrorKind::ShuttingDown));
        }
        if self.context.runs_under(&self.core, &self.key) {
            return Err(self.error(ErrorKind::Reentrant));
        }
        let joined = join(&self.core, &self.key);
        // Looked at again with a place on the flight: a shutdown that began meanwhile and has not
        // seen that place is seen here.
        if self.core.is_closing() {
            return Err(self.error(ErrorKind::ShuttingDown));
        }
        match joined {
            Joined::Seat(seat) => self.take(seat, false).await,
            // Boxed, as every wait is, so that a call which need not wait stays small.
            Joined::Place(place) => Box::pin(self.take_turn(place)).await,
        }
    }

    /// Waits beside the seat, for the answer or for the seat itself.
    async fn take_turn(&self, place: Place) -> Result<Start, Error> {
        match self.await_seat(place).await? {
            Awaited::Seat(seat) => self.take(seat, true).await,
            Awaited::Answer(Answer::Outcome(outcome)) => self.replay(outcome, true),
            Awaited::Answer(Answer::Failed(error)) => self.outage(error),
        }
    }

    /// Takes the key with the seat of its flight in hand.
    async fn take(&self, mut seat: Seat, mut waited: bool) -> Result<Start, Error> {
        let patience =
            self.at.after(self.terms.wait().unwrap_or_default()).after(self.core.store_timeout * 3);
        loop {
            let owner = self.terms.fresh_owner();
            // Counting from the arrival is early, and saves the common call a look at the clock.
            let sent = if waited { self.now() } else { self.at };
            let reservation = Record::reservation(owner, self.fingerprint, wall_ms());
            let standing = match self.send_begin(&reservation, sent).await {
                Ok(BeginReply::Acquired) => {
                    let taken = Taken::first(sent, &reservation);
                    return Ok(Start::Run(self.attempt(seat, owner, taken)));
                }
                Ok(BeginReply::Found(standing)) => standing,
                Err(error) => {
                    seat.answer(Answer::Failed(error.clone()));
                    return self.outage(error);
                }
            };
            let step = match standing {
                Standing::Record(outcome) if outcome.state == State::Completed => {
                    Step::Outcome(seat, outcome)
                }
                // Read again, with what is left of its life: it may have lapsed.
                _ => {
                    waited = true;
                    Box::pin(self.meet(seat)).await?
                }
            };
            seat = match step {
                // A record that comes and goes does not keep a call for ever.
                Step::Anew(_) if self.now() >= patience => return Err(self.wait_ended(None)),
                Step::Anew(seat) => {
                    seat.asking();
                    seat
                }
                Step::Outcome(seat, outcome) => {
                    // Each looks by itself whether it is one for its arguments.
                    seat.answer(Answer::Outcome(outcome.clone()));
                    return self.replay(outcome, waited);
                }
                Step::Start(start) => return Ok(start),
            };
        }
    }

    async fn send_begin(
        &self,
        reservation: &Record,
        sent: Moment,
    ) -> Result<BeginReply, BackendError> {
        let core = &self.core;
        // Past the lease deadline the key could not be used any more.
        let deadline = Tenure::taken(self.terms.lease, self.terms.ttl, sent).deadline();
        let until = sent.after(core.store_timeout).min(deadline);
        let mut given_up = GivenUp { arrival: self, owner: reservation.owner, unknown: true };
        let reply =
            ask(core.clock, until, || core.store.begin(&self.key, reservation, self.terms.lease))
                .await;
        given_up.unknown = reply.as_ref().is_err_and(|error| !error.is_answer());
        reply
    }

    /// Makes the seat's key this call's own.
    pub(crate) fn attempt(&self, seat: Seat, owner: Owner, taken: Taken) -> Arc<Attempt> {
        let outer = self.context.attempt().map(Arc::downgrade);
        let attempt =
            Arc::new(Attempt::new(seat, (owner, self.fingerprint, self.terms), taken, outer));
        attempt.seat().reserved(self.fingerprint, Holder::Here(Arc::clone(&attempt)));
        attempt
    }

    /// Answers the call from an outcome, if that is one for its arguments.
    fn replay(&self, outcome: Record, waited: bool) -> Result<Start, Error> {
        if differ(&outcome, self.fingerprint) {
            return Err(self.mismatch());
        }
        let source = if waited { Source::Waited } else { Source::Replayed };
        Ok(Start::Replay { outcome, source })
    }

    /// The store did not do its part at begin.
    fn outage(&self, error: BackendError) -> Result<Start, Error> {
        if self.terms.on_outage == OnOutage::Run && !error.is_answer() {
            self.tell(EventKind::RunUnprotected { error: &error });
            return Ok(Start::Unprotected);
        }
        Err(self.failed(error))
    }

    pub(crate) fn now(&self) -> Moment {
        self.core.clock.now()
    }

    pub(crate) fn tell(&self, kind: EventKind<'_>) {
        self.core.observers.tell(&self.key, kind);
    }

    pub(crate) fn error(&self, kind: ErrorKind) -> Error {
        Error::about(kind, &self.key, self.core.observers.shown())
    }

    pub(crate) fn mismatch(&self) -> Error {
        self.tell(EventKind::Mismatch);
        self.error(ErrorKind::FingerprintMismatch)
    }

    pub(crate) fn failed(&self, error: BackendError) -> Error {
        self.tell(EventKind::Failed { kind: ErrorKind::Backend, error: &error });
        self.error(ErrorKind::Backend).because(error)
    }

    /// Fills in what `observe` around the call reports.
    pub(crate) fn report(&self, facts: Facts) {
        if let Some(slot) = &self.slot {
            slot.fill(facts);
        }
    }
}

/// A begin that is given up for good, also by being dropped, may have taken effect: it leaves a
/// release with the keeper.
struct GivenUp<'a> {
    arrival: &'a Arrival,
    owner: Owner,
    unknown: bool,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if self.unknown {
            let Arrival { core, key, terms, .. } = self.arrival;
            let forget = Job::Forget { key: key.clone(), owner: self.owner, lease: terms.lease };
            core.keeper.hand(core, forget);
        }
    }
}
