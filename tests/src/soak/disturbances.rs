//! What went wrong in a history, and whom it may have struck.

use super::history::{Disturbance, Micros};

/// For what a disturbance may still be the reason after its end: connections have to be opened again,
/// commands under way to be given up, and leases that ended meanwhile to be found out. In the soak each
/// takes less than half a second; a busy machine takes twice as long.
const TAIL: Micros = 3_000_000;
/// The same after a stall of the machine, which at worst has a command given up.
const STALL_TAIL: Micros = 1_000_000;

/// Whom a disturbance strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// The leases of a process. Its keeper has a thread of its own: actions that hold theirs do nothing.
    LeasesOf(u64),
    /// The calls of a process.
    CallsOf(u64),
    /// The code of a process, while it asks nobody for anything.
    CodeOf(u64),
    /// Anybody.
    Anybody,
}

/// What went wrong, and when.
#[derive(Debug, Default)]
pub struct Disturbances {
    /// Since when, until when, what; in the order of their begins.
    all: Vec<(Micros, Micros, Disturbance)>,
    /// How long the longest took: what began earlier than that before a moment was over by then.
    longest: Micros,
}

impl Disturbances {
    /// These, each with its begin and its end.
    #[must_use]
    pub fn of(mut all: Vec<(Micros, Micros, Disturbance)>) -> Self {
        all.sort_by_key(|(since, ..)| *since);
        let took = all.iter().map(|(since, over, _)| over.saturating_sub(*since));
        Self { longest: took.max().unwrap_or(0), all }
    }

    /// Those that were at work between two moments.
    pub fn between(
        &self,
        from: Micros,
        until: Micros,
    ) -> impl Iterator<Item = (Micros, Micros, Disturbance)> {
        let first = self.all.partition_point(|(since, ..)| since + self.longest < from);
        let begun = self.all[first..].iter().take_while(move |(since, ..)| *since <= until);
        begun.copied().filter(move |(_, over, _)| from <= *over)
    }

    /// Whether the store lost everything between two moments.
    #[must_use]
    pub fn emptied(&self, from: Micros, until: Micros) -> bool {
        self.between(from, until).any(|(_, _, by)| by == Disturbance::ServerEmptied)
    }

    /// Whether nothing came between these and the store in this time, nor so shortly before that it
    /// could still be felt, but for stalls of the machine that are shorter together than `bearable`.
    #[must_use]
    pub fn are_quiet(&self, whom: Whom, from: Micros, until: Micros, bearable: Micros) -> bool {
        let mut struck = self.between(from.saturating_sub(TAIL), until);
        if struck.any(|(_, _, by)| by.strikes(whom) && !by.is_a_stall()) {
            return false;
        }
        let from = from.saturating_sub(STALL_TAIL);
        let stalls = self.between(from, until).filter(|(.., by)| by.strikes(whom));
        let stalled: Micros = stalls.map(|(since, over, _)| over.saturating_sub(since)).sum();
        stalled < bearable
    }
}

impl Disturbance {
    /// Whether it comes between these and the store.
    fn strikes(self, whom: Whom) -> bool {
        let process = match whom {
            Whom::Anybody => return !matches!(self, Self::Blocked(_)),
            Whom::LeasesOf(process) | Whom::CallsOf(process) | Whom::CodeOf(process) => process,
        };
        let asks = !matches!(whom, Whom::CodeOf(_));
        match self {
            Self::Killed { process: at, .. } | Self::Paused(at) | Self::Stalled(at) => {
                at == process
            }
            Self::Way(at) => asks && at == process,
            Self::Blocked(at) => at == process && !matches!(whom, Whom::LeasesOf(_)),
            Self::ServerRestarted
            | Self::ServerEmptied
            | Self::ServerPaused
            | Self::ServerForgot => asks,
            // That may be the whole machine.
            Self::ServerStalled => true,
        }
    }

    fn is_a_stall(self) -> bool {
        matches!(self, Self::Stalled(_) | Self::ServerStalled)
    }
}
