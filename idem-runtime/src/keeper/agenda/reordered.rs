//! No moment is missed, in whatever order processors carry the accesses out: under loom.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

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
    /// The keeper sleeps until `planned`, for an attempt that has ended since.
    fn of(calls: usize, planned: Moment) -> Arc<Self> {
        let agenda = Agenda::new();
        agenda.close(planned);
        let dues = std::iter::repeat_with(Due::never).take(calls).collect();
        Arc::new(Self { agenda, dues, woken: AtomicBool::new(false) })
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

/// Explores calls that write these moments, one after the other each, against a keeper whose next
/// tick was `planned`.
fn explore(
    calls: &'static [&'static [u64]],
    planned: Moment,
    ticks: usize,
    preemptions: Option<usize>,
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions;
    let executions = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&executions);
    model.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        let desk = Desk::of(calls.len(), planned);
        let threads: Vec<_> = (0..calls.len())
            .map(|call| {
                let desk = Arc::clone(&desk);
                thread::spawn(move || {
                    for &late in calls[call] {
                        desk.attend(call, at(late));
                    }
                })
            })
            .collect();
        let next = desk.keep(ticks);
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(desk.misses_none(next), "the keeper sleeps until {next:?}");
    });
    let executions = executions.load(Ordering::Relaxed);
    println!("agenda, {calls:?} against {ticks} ticks: {executions} executions");
}

#[test]
fn a_moment_written_beside_a_tick_is_not_missed() {
    explore(&[&[20]], Moment::NEVER, 2, None);
}

/// The call sees the plan that the keeper is about to make anew, and does not wake it.
#[test]
fn a_moment_after_the_planned_tick_is_not_missed() {
    explore(&[&[20]], at(10), 1, None);
    explore(&[&[20]], at(10), 2, None);
}

#[test]
fn a_moment_that_is_moved_is_not_missed() {
    explore(&[&[50, 20]], Moment::NEVER, 2, Some(3));
    explore(&[&[20, 50]], at(30), 2, Some(3));
}

#[test]
fn two_calls_beside_a_tick_miss_nothing() {
    explore(&[&[20], &[10]], Moment::NEVER, 2, Some(3));
    explore(&[&[20], &[40]], at(30), 1, Some(3));
}
