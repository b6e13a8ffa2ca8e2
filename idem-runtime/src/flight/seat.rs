//! Coming onto a flight and leaving it: the seat, and the places beside it.

use std::sync::Arc;

use super::{Answer, Flight, Holder, Look, Phase, State};
use crate::fingerprint::Fingerprint;
use crate::idem::Core;
use crate::protocol::Moment;
use crate::record_key::RecordKey;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, Notified, Notify, lock};

/// A call's way onto the flight of its key.
pub(crate) enum Joined {
    Seat(Seat),
    Place(Place),
}

/// Takes the seat of a key's flight if it is free, a place beside it otherwise.
pub(crate) fn join(core: &Arc<Core>, key: &RecordKey) -> Joined {
    let mut shard = core.flights.shard(key);
    let found = shard.find(key.local_hash(), |flight| flight.key == *key);
    if let Some(flight) = found {
        let flight = Arc::clone(flight);
        let mut state = lock(&flight.state);
        state.members += 1;
        let vacant = matches!(state.phase, Phase::Vacant);
        if vacant {
            state.phase = Phase::Asking;
        }
        drop(state);
        let place = Place { core: Arc::clone(core), flight, moved: false };
        return if vacant { Joined::Seat(place.into_seat()) } else { Joined::Place(place) };
    }
    let flight = Arc::new(Flight {
        key: key.clone(),
        turn: Notify::new(),
        state: Mutex::new(State { members: 1, phase: Phase::Asking }),
    });
    shard.insert_unique(key.local_hash(), Arc::clone(&flight), |flight| flight.key.local_hash());
    Joined::Seat(Seat { core: Arc::clone(core), flight, left: AtomicBool::new(false) })
}

/// A place beside the seat. Dropping it leaves nothing.
pub(crate) struct Place {
    core: Arc<Core>,
    flight: Arc<Flight>,
    /// The membership has gone over to a seat.
    moved: bool,
}

impl Place {
    /// Resolves when there may be something new to see. Made before looking, so that nothing that
    /// happens after the look is missed.
    pub(crate) fn turn(&self) -> Notified<'_> {
        self.flight.turn.notified()
    }

    pub(crate) fn look(&self, now: Moment) -> Look {
        match &lock(&self.flight.state).phase {
            Phase::Vacant => Look::Vacant,
            Phase::Asking => Look::Asking,
            Phase::Reserved { fingerprint, by } => {
                let lapses_in = match by {
                    Holder::Here(attempt) => attempt.time_left(now),
                    Holder::Elsewhere { lapses_at } => lapses_at.since(now),
                };
                Look::Reserved { fingerprint: *fingerprint, lapses_in }
            }
            Phase::Answered(answer) => Look::Answered(answer.clone()),
        }
    }

    /// Takes the seat if it is still free.
    pub(crate) fn take_seat(self) -> Result<Seat, Self> {
        let mut state = lock(&self.flight.state);
        if !matches!(state.phase, Phase::Vacant) {
            drop(state);
            return Err(self);
        }
        state.phase = Phase::Asking;
        drop(state);
        Ok(self.into_seat())
    }

    /// The membership goes on as the seat's.
    fn into_seat(mut self) -> Seat {
        self.moved = true;
        let (core, flight) = (Arc::clone(&self.core), Arc::clone(&self.flight));
        Seat { core, flight, left: AtomicBool::new(false) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.moved {
            leave(&self.core, &self.flight, None);
        }
    }
}

/// The seat of a flight. Dropping it gives it up.
pub(crate) struct Seat {
    core: Arc<Core>,
    flight: Arc<Flight>,
    left: AtomicBool,
}

impl Seat {
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn key(&self) -> &RecordKey {
        &self.flight.key
    }

    /// Lets the others know whose reservation stands.
    pub(crate) fn reserved(&self, fingerprint: Fingerprint, by: Holder) {
        let mut state = lock(&self.flight.state);
        // Those who wait know already, unless it is the first reservation or one for other
        // arguments.
        let news = !matches!(state.phase, Phase::Reserved { fingerprint: known, .. } if known == fingerprint);
        state.phase = Phase::Reserved { fingerprint, by };
        let others = state.members > 1;
        drop(state);
        if news && others {
            self.flight.turn.notify_waiters();
        }
    }

    /// The reservation that stood is gone: the seat asks the store again.
    pub(crate) fn asking(&self) {
        lock(&self.flight.state).phase = Phase::Asking;
    }

    /// Gives everybody on the flight this answer and ends the flight.
    pub(crate) fn answer(&self, answer: Answer) {
        leave(&self.core, &self.flight, Some((&self.left, Some(answer))));
    }

    /// Gives up the seat, to one that waits if any does.
    pub(crate) fn vacate(&self) {
        leave(&self.core, &self.flight, Some((&self.left, None)));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.vacate();
    }
}

/// Ends one membership: a place's, or a seat's with or without an answer (once).
fn leave(core: &Core, flight: &Arc<Flight>, seat: Option<(&AtomicBool, Option<Answer>)>) {
    if seat.as_ref().is_some_and(|(left, _)| left.swap(true, Ordering::AcqRel)) {
        return;
    }
    let mut shard = core.flights.shard(&flight.key);
    let mut state = lock(&flight.state);
    state.members -= 1;
    let answered = matches!(state.phase, Phase::Answered(_));
    let ends = !answered && (state.members == 0 || matches!(seat, Some((_, Some(_)))));
    if ends
        && let Ok(entry) =
            shard.find_entry(flight.key.local_hash(), |other| Arc::ptr_eq(other, flight))
    {
        entry.remove();
    }
    let others = state.members > 0;
    let is_answer = matches!(seat, Some((_, Some(_))));
    let given_up = seat.map(|(_, answer)| {
        std::mem::replace(&mut state.phase, answer.map_or(Phase::Vacant, Phase::Answered))
    });
    drop(state);
    drop(shard);
    // Outside the locks: a waker may run anything, and the attempt in the old phase may be dropped
    // with it.
    if given_up.is_some() && others {
        if is_answer {
            flight.turn.notify_waiters();
        } else {
            flight.turn.notify_one();
        }
    }
    drop(given_up);
    if ends && core.is_closing() {
        core.flights.ended.notify_waiters();
    }
}
