//! What a proxy and its connections share: the faults that are set, and what has passed.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::sleep;

use super::fault::{Aim, Command, Fault, Trap, Way};

/// How far a command has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// From the client, whole.
    Came,
    /// On to the server, whole.
    Passed,
    /// Its last reply has gone to the client.
    Answered,
}

/// How far a request or a reply goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Goes {
    On,
    /// So many bytes of it; then the connection ends.
    Part(usize),
    /// Something else in its place.
    Other(Arc<[u8]>),
    /// Nothing of it, nor of what comes after it.
    Nowhere,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) traps: Mutex<Vec<Trap>>,
    /// What happened to which command, in order.
    noted: Mutex<Vec<(Arc<Command>, Stage)>>,
    /// Changes when all connections are cut.
    pub(super) cut: watch::Sender<()>,
    /// New connections are closed at once.
    pub(super) refuses: AtomicBool,
    /// The first thing that was neither a request nor a reply.
    pub(super) broken: Mutex<Option<String>>,
}

impl Shared {
    pub(super) fn note(&self, command: &Arc<Command>, stage: Stage) {
        lock(&self.noted).push((Arc::clone(command), stage));
    }

    pub(super) fn forget(&self) {
        lock(&self.noted).clear();
    }

    /// How many of these commands have come so far.
    pub(super) fn count(&self, aim: &Aim, stage: Stage) -> usize {
        let meets =
            |(command, came): &&(Arc<Command>, Stage)| *came == stage && aim.meets(Some(command));
        lock(&self.noted).iter().filter(meets).count()
    }

    /// How far something goes by the faults that are set, once it may. `None` comes unasked.
    pub(super) async fn fault_at(&self, way: Way, command: Option<&Command>) -> Goes {
        let Some(trap) = self.trap_for(way, command) else { return Goes::On };
        match trap.strike() {
            Fault::Cut(bytes) => return Goes::Part(bytes),
            Fault::Swallow => return Goes::Nowhere,
            Fault::Instead(bytes) => return Goes::Other(bytes),
            Fault::Delay(by) => sleep(by).await,
            Fault::Hold => trap.lifted().await,
        }
        Goes::On
    }

    /// The first fault for this; all of them count it.
    fn trap_for(&self, way: Way, command: Option<&Command>) -> Option<Trap> {
        let traps = lock(&self.traps);
        let mut meant = None;
        for trap in traps.iter() {
            if trap.is_for(way, command) {
                meant = meant.or(Some(trap));
            }
        }
        meant.cloned()
    }
}

pub(super) fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
