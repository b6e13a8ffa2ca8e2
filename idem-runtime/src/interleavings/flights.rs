//! The flights: one seat per key, an answer for everybody, and nobody who waits for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use shuttle::thread;

use super::memory::key;
use super::stage::idem;
use super::store::Store;
use super::{dawdle, drawn, explore};
use crate::backend::BackendError;
use crate::begin::Arrival;
use crate::context;
use crate::fingerprint::Fingerprint;
use crate::flight::{Answer, Holder, Joined, Seat, join};
use crate::idem::Idem;
use crate::sync::scheduled::{block_on, task};
use crate::wait::Awaited;

/// Who sits, and how calls ended. Not shared state of the product: no steps.
#[derive(Default)]
struct Tally {
    seated: AtomicUsize,
    seats: AtomicUsize,
    answered: AtomicUsize,
}

fn arrival(idem: &Idem) -> Arrival {
    let core = Arc::clone(idem.core());
    let (terms, at) = (core.defaults, core.clock.now());
    let (key, context) = (key("a"), context::current());
    Arrival { core, key, fingerprint: Fingerprint::NONE, terms, at, context, slot: None }
}

/// A call up to its seat or its answer.
async fn come(idem: &Idem) -> Option<Seat> {
    let arrival = arrival(idem);
    match join(&arrival.core, &arrival.key) {
        Joined::Seat(seat) => Some(seat),
        Joined::Place(place) => match arrival.await_seat(place).await.unwrap() {
            Awaited::Seat(seat) => Some(seat),
            Awaited::Answer(_) => None,
        },
    }
}

/// A call that has the seat for a while, and then leaves it with or without an answer.
async fn call(idem: Idem, tally: Arc<Tally>, answers: bool) {
    let Some(seat) = come(&idem).await else {
        tally.answered.fetch_add(1, Ordering::Relaxed);
        return;
    };
    assert_eq!(tally.seated.fetch_add(1, Ordering::Relaxed), 0, "two have the seat");
    tally.seats.fetch_add(1, Ordering::Relaxed);
    if drawn(2) == 0 {
        let lapses_at = idem.core().clock.now();
        seat.reserved(Fingerprint::NONE, Holder::Elsewhere { lapses_at });
    }
    assert_eq!(idem.core().flights.count(), 1, "a flight has left before its seat");
    tally.seated.fetch_sub(1, Ordering::Relaxed);
    if answers {
        seat.answer(Answer::Failed(BackendError::answered("refused")));
    }
}

fn calls(ends: &'static [bool]) {
    let idem = idem(&Store::new());
    let tally = Arc::new(Tally::default());
    let threads: Vec<_> = ends
        .iter()
        .map(|&answers| {
            let (idem, tally) = (idem.clone(), Arc::clone(&tally));
            thread::spawn(move || block_on(call(idem, tally, answers)))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(idem.core().flights.count(), 0, "a flight is left");
    let seats = tally.seats.load(Ordering::Relaxed);
    assert_eq!(seats + tally.answered.load(Ordering::Relaxed), ends.len());
    if !ends.contains(&true) {
        assert_eq!(seats, ends.len(), "nobody answered");
    }
}

#[test]
fn a_seat_that_is_given_up_goes_from_one_to_the_next() {
    explore("flights, seats given up", 2_000, || calls(&[false, false, false]));
}

#[test]
fn an_answer_reaches_every_place() {
    explore("flights, an answer", 2_000, || calls(&[true, true, true]));
}

#[test]
fn answers_and_seats_given_up_leave_no_flight_behind() {
    explore("flights, answers and seats given up", 2_000, || calls(&[true, false, true, false]));
}

#[test]
fn a_waiter_that_is_dropped_passes_its_turn_on() {
    explore("flights, waiters dropped at any point", 3_000, || {
        let idem = idem(&Store::new());
        let tally = Arc::new(Tally::default());
        let stays = |answers| task(call(idem.clone(), Arc::clone(&tally), answers));
        let staying = [stays(false), stays(false), stays(true)];
        // It may be dropped with the seat in hand.
        let leaving =
            [idem.clone(), idem.clone()].map(|idem| task(async move { drop(come(&idem).await) }));
        for task in &leaving {
            dawdle(60);
            task.abort();
        }
        for task in staying {
            block_on(task).unwrap();
        }
        for task in leaving {
            let _ = block_on(task);
        }
        assert_eq!(idem.core().flights.count(), 0, "a flight is left");
    });
}
