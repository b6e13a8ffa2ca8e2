//! A setting: who dispatches, how long things take in ticks, and what the adversary may do.

use super::mutants::Mutant;
use crate::setting::Fault;
use crate::time::Tick;

/// One that dispatches: how long the runs of its dispatches are held, and how often it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) hold: Tick,
    pub(crate) calls: u8,
}

/// What one run of the checker explores.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) callers: Vec<Caller>,
    pub(crate) workers: usize,
    /// How often somebody cancels the run that the receipt names, or one before it.
    pub(crate) cancels: u8,
    pub(crate) lease: Tick,
    /// Of the receipt.
    pub(crate) ttl: Tick,
    pub(crate) queue_timeout: Tick,
    /// How long a body takes: at least, and at most.
    pub(crate) body: (Tick, Tick),
    /// Whether a body may fail.
    pub(crate) failures: bool,
    /// How often a run is given back for another attempt.
    pub(crate) retries: u8,
    /// How long a queue may take to answer.
    pub(crate) enqueue: Tick,
    /// Whether it may refuse a run, which it may have taken all the same.
    pub(crate) refusals: bool,
    /// How often it hands a run out, at most.
    pub(crate) deliveries: u8,
    pub(crate) faults: u8,
    pub(crate) kinds: Vec<Fault>,
    /// From here on there are no new faults, nobody is paused, and all have called.
    pub(crate) calm: Tick,
    /// What is held back, or waits in a queue, arrives before this, or never.
    pub(crate) late_until: Tick,
    /// By now everything is over.
    pub(crate) end: Tick,
    pub(crate) mutant: Option<Mutant>,
}

impl Setting {
    /// Two callers, one of which calls again, and a worker. A lease is two ticks, so that renewals are sent
    /// each tick and a pause of two is one for longer than the lease; the hold is as long.
    pub(crate) fn of(name: &'static str) -> Self {
        Self {
            name,
            callers: vec![Caller { hold: 2, calls: 1 }; 2],
            workers: 1,
            cancels: 0,
            lease: 2,
            ttl: 20,
            queue_timeout: 20,
            body: (1, 1),
            failures: true,
            retries: 0,
            enqueue: 0,
            refusals: false,
            deliveries: 1,
            faults: 1,
            kinds: Vec::new(),
            calm: 5,
            late_until: 7,
            end: 20,
            mutant: None,
        }
    }

    pub(crate) fn faults(mut self, faults: u8, kinds: &[Fault]) -> Self {
        self.faults = faults;
        self.kinds = kinds.to_vec();
        self
    }

    pub(crate) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// `Times::life_of_state`.
    pub(crate) fn life_of_state(&self) -> Tick {
        (self.ttl + self.lease) * 2
    }

    /// `Times::life_of_end`.
    pub(crate) fn life_of_end(&self) -> Tick {
        self.ttl + self.lease
    }

    /// `Times::retention`.
    pub(crate) fn retention(&self, hold: Tick) -> Tick {
        hold + self.ttl
    }
}
