//! The calls in flight in this process: one flight per key, with one seat.
//!
//! Whoever has the seat talks to the store for that key, or holds its lease; every other call of the
//! key in this process has a place beside it and waits for the seat to be given up or for the
//! outcome. That is how a thousand duplicates in one process cost the store one call.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashTable;

use crate::attempt::Attempt;
use crate::backend::BackendError;
use crate::fingerprint::Fingerprint;
use crate::protocol::Moment;
use crate::record::Record;
use crate::record_key::RecordKey;
use crate::sync::{Mutex, MutexGuard, Notified, Notify, Padded, lock};

mod seat;

pub(crate) use seat::{Joined, Place, Seat, join};

/// A power of two; enough that a few dozen threads rarely meet. Where a scheduler decides who goes on,
/// all are to meet, and a walk is to be short.
const SHARDS: usize = if cfg!(all(test, idem_interleave = "shuttle")) { 1 } else { 64 };

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

    /// The attempts of this process that hold a key.
    pub(crate) fn attempts(&self) -> Vec<Arc<Attempt>> {
        let mut attempts = Vec::new();
        for shard in &self.shards {
            for flight in lock(shard).iter() {
                if let Phase::Reserved { by: Holder::Here(attempt), .. } =
                    &lock(&flight.state).phase
                {
                    attempts.push(Arc::clone(attempt));
                }
            }
        }
        attempts
    }

    /// The attempts the keeper is to look at by `now`, and when it is to look again.
    pub(crate) fn due(&self, now: Moment) -> (Vec<Arc<Attempt>>, Moment) {
        let (mut due, mut next) = (Vec::new(), Moment::NEVER);
        for shard in &self.shards {
            for flight in lock(shard).iter() {
                let state = lock(&flight.state);
                let Phase::Reserved { by: Holder::Here(attempt), .. } = &state.phase else {
                    continue;
                };
                if attempt.due().has_come(now) {
                    due.push(Arc::clone(attempt));
                } else {
                    next = next.min(attempt.due().late());
                }
            }
        }
        (due, next)
    }
}
