//! The calls in flight in this process: one flight per key, with one seat.
//!
//! Whoever has the seat talks to the store for that key, or holds its lease; every other call of the
//! key in this process has a place beside it and waits for the seat to be given up or for the
//! outcome. That is how a thousand duplicates in one process cost the store one call.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use hashbrown::HashTable;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::attempt::Attempt;
use crate::backend::BackendError;
use crate::fingerprint::Fingerprint;
use crate::idem::Core;
use crate::protocol::Moment;
use crate::record::Record;
use crate::record_key::RecordKey;
use crate::sync::{Padded, lock};

/// A power of two; enough that a few dozen threads rarely meet.
const SHARDS: usize = 64;

type Shard = HashTable<Arc<Flight>>;

/// All flights of one `Idem`.
pub(crate) struct Flights {
    shards: Box<[Padded<Mutex<Shard>>]>,
    /// Told whenever a flight ends, for `shutdown`.
    ended: Notify,
}

/// One key's flight.
pub(crate) struct Flight {
    key: RecordKey,
    /// Told to one when the seat is given up, to all when more is known.
    turn: Notify,
    state: Mutex<State>,
    due: Due,
}

struct State {
    /// The seat and the places: the flight leaves the map with the last of them.
    members: usize,
    phase: Phase,
}

enum Phase {
    /// Nobody has the seat.
    Vacant,
    /// The seat asks the store; what stands there is not known yet.
    Asking,
    /// A reservation stands, ours or another process's.
    Reserved { fingerprint: Fingerprint, by: Holder },
    /// What was found out; the flight has left the map.
    Answered(Answer),
}

/// Whose reservation stands.
pub(crate) enum Holder {
    /// An attempt of this process.
    Here(Arc<Attempt>),
    /// Another process's, which lapses at this moment unless it is renewed.
    Elsewhere { lapses_at: Moment },
}

/// What the seat found out for everybody on the flight.
#[derive(Clone)]
pub(crate) enum Answer {
    Outcome(Record),
    Failed(BackendError),
}

/// What a place sees of its flight.
pub(crate) enum Look {
    Vacant,
    Asking,
    Reserved { fingerprint: Fingerprint, lapses_in: Duration },
    Answered(Answer),
}

/// When the keeper is to look at a flight: from `early` on, as it passes, and by `late`.
struct Due {
    early: AtomicU64,
    late: AtomicU64,
}

impl Flights {
    pub(crate) fn new() -> Self {
        let shards = std::iter::repeat_with(Padded::default).take(SHARDS).collect();
        Self { shards, ended: Notify::new() }
    }

    fn shard(&self, key: &RecordKey) -> MutexGuard<'_, Shard> {
        lock(&self.shards[(key.local_hash() >> 32) as usize & (SHARDS - 1)].0)
    }

    /// How many keys are in flight.
    pub(crate) fn count(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    /// Resolves when a flight has ended after this was enabled, while the `Idem` closes.
    pub(crate) fn ended(&self) -> Notified<'_> {
        self.ended.notified()
    }

    /// The attempts the keeper is to look at by `now`, and when it is to look again.
    pub(crate) fn due(&self, now: Moment) -> (Vec<Arc<Attempt>>, Moment) {
        let (mut due, mut next) = (Vec::new(), Moment::NEVER);
        for shard in &self.shards {
            for flight in lock(shard).iter() {
                if flight.due.is_early(now) {
                    due.extend(flight.attempt());
                } else {
                    next = next.min(flight.due.late());
                }
            }
        }
        (due, next)
    }
}

impl Flight {
    fn attempt(&self) -> Option<Arc<Attempt>> {
        match &lock(&self.state).phase {
            Phase::Reserved { by: Holder::Here(attempt), .. } => Some(Arc::clone(attempt)),
            _ => None,
        }
    }
}

impl Due {
    const fn never() -> Self {
        Self { early: AtomicU64::new(u64::MAX), late: AtomicU64::new(u64::MAX) }
    }

    fn set(&self, early: Moment, late: Moment) {
        self.early.store(early.as_nanos(), Ordering::Relaxed);
        // Sequentially consistent with the keeper's agenda: see there.
        self.late.store(late.as_nanos(), Ordering::SeqCst);
    }

    fn is_early(&self, now: Moment) -> bool {
        self.early.load(Ordering::Relaxed) <= now.as_nanos()
    }

    fn late(&self) -> Moment {
        Moment::from_nanos(self.late.load(Ordering::SeqCst))
    }
}

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
        due: Due::never(),
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

    /// Sets when the keeper is to look at the attempt that holds this seat.
    pub(crate) fn due(&self, early: Moment, late: Moment) {
        self.flight.due.set(early, late);
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
    let mut shard = core.flights.shard(&flight.key);
    if seat.as_ref().is_some_and(|(left, _)| left.swap(true, Ordering::Relaxed)) {
        return;
    }
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
    let mut old = None;
    if let Some((_, answer)) = seat {
        let is_answer = answer.is_some();
        old = Some(std::mem::replace(
            &mut state.phase,
            answer.map_or(Phase::Vacant, Phase::Answered),
        ));
        flight.due.set(Moment::NEVER, Moment::NEVER);
        if others && is_answer {
            flight.turn.notify_waiters();
        } else if others {
            flight.turn.notify_one();
        }
    }
    drop(state);
    drop(shard);
    // Outside the locks: the attempt in the old phase may be dropped with it.
    drop(old);
    if ends && core.is_closing() {
        core.flights.ended.notify_waiters();
    }
}
