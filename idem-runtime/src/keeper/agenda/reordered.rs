//! No moment is missed, in whatever order processors carry the accesses out: under loom.

use std::sync::Arc;

use loom::thread;

use super::Agenda;
use crate::attempt::Due;
use crate::protocol::Moment;
use crate::sync::atomic::{AtomicBool, Ordering};

/// What calls and the keeper share here: the agenda, each attempt's own moment, and whether the
/// keeper was woken.
struct Desk {
    agenda: Agenda,
    dues: Vec<Due>,
    woken: AtomicBool,
}

impl Desk {
    fn of(calls: usize) -> Arc<Self> {
        Arc::new(Self {
            agenda: Agenda::new(),
            dues: std::iter::repeat_with(Due::never).take(calls).collect(),
            woken: AtomicBool::new(false),
        })
    }

    /// A call has the keeper look at its attempt by `late`.
    fn attend(&self, call: usize, late: Moment) {
        self.dues[call].set(late, late);
        if self.agenda.is_news(late) {
            self.woken.swap(true, Ordering::AcqRel);
        }
    }

    /// The keeper's tick, with nothing due yet; gives when it would look next.
    fn tick(&self) -> Moment {
        self.agenda.open();
        let next = self.dues.iter().map(Due::late).min().unwrap_or(Moment::NEVER);
        self.agenda.close(next)
    }

    /// The keeper, up to `ticks` of them: sleeps when it was not woken.
    fn keep(&self, ticks: usize) -> Moment {
        let mut next = self.tick();
        for _ in 1..ticks {
            if self.woken.swap(false, Ordering::AcqRel) {
                next = self.tick();
            }
        }
        next
    }

    /// Whether the keeper that sleeps until `next` looks at every attempt in time.
    fn misses_none(&self, next: Moment) -> bool {
        self.woken.load(Ordering::Acquire) || self.dues.iter().all(|due| next <= due.late())
    }
}

fn at(nanos: u64) -> Moment {
    Moment::from_nanos(nanos)
}

/// Explores calls that write these moments, one after the other each, against a keeper.
fn explore(calls: &'static [&'static [u64]], ticks: usize, preemptions: Option<usize>) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions;
    let executions = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&executions);
    model.check(move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let desk = Desk::of(calls.len());
        let threads: Vec<_> = (0..calls.len())
            .map(|call| {
                let desk = Arc::clone(&desk);
                thread::spawn(move || calls[call].iter().for_each(|&late| desk.attend(call, at(late))))
            })
            .collect();
        let next = desk.keep(ticks);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(desk.misses_none(next), "the keeper sleeps until {next:?}");
    });
    let executions = executions.load(std::sync::atomic::Ordering::Relaxed);
    println!("agenda, {calls:?} against {ticks} ticks: {executions} executions");
}

#[test]
fn a_moment_written_beside_a_tick_is_not_missed() {
    explore(&[&[20]], 2, None);
}

#[test]
fn a_moment_that_is_moved_is_not_missed() {
    explore(&[&[50, 20]], 2, None);
    explore(&[&[20, 50]], 2, None);
}

#[test]
fn two_calls_beside_a_tick_miss_nothing() {
    explore(&[&[20], &[10]], 1, Some(3));
    explore(&[&[20], &[10]], 2, Some(3));
}
