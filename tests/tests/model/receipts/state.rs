//! The state of the model: the two kinds of records, what is under way, and who does what.

use idem_runtime::protocol::Moment;
use idem_runtime::protocol::tenure::Tenure;

use super::properties::Rule;
use super::run::{Run, RunState};
use crate::message::Command;
use crate::record::{Id, Kept, Rec};
use crate::time::Tick;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct World {
    pub(crate) now: Tick,
    /// The operation's record: the reservation of a dispatch, or a receipt. Its owner is the run.
    pub(crate) receipt: Option<Kept>,
    /// All that were dispatched, each with its record.
    pub(crate) runs: Vec<Run>,
    /// The runs that the queue has still to hand out, some more than once.
    pub(crate) queue: Vec<Id>,
    /// The commands that the adversary holds back.
    pub(crate) network: Vec<Asked>,
    /// The callers, then the workers, then the canceller.
    pub(crate) actors: Vec<Actor>,
    /// What the adversary has left.
    pub(crate) faults: u8,
    /// The rule that the last step broke.
    pub(crate) broken: Option<Rule>,
}

/// Which record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Place {
    Receipt,
    Run(Id),
}

/// A command, where it goes, and who asks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Asked {
    pub(crate) actor: usize,
    pub(crate) place: Place,
    pub(crate) command: Command,
    /// How long the outcome of a complete is kept.
    pub(crate) life: Tick,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Actor {
    pub(crate) paused: bool,
    /// How often it may still call, or cancel.
    pub(crate) calls: u8,
    /// How many owners it has made up.
    pub(crate) owners: u8,
    pub(crate) doing: Doing,
    /// Its question was sent and not heard.
    pub(crate) tried: bool,
    /// When its question was first sent.
    pub(crate) first: Tick,
    /// Its question is not to be asked before this.
    pub(crate) next: Tick,
    pub(crate) held: Option<Held>,
    /// The caller has its answer: what is left is the keeper's.
    pub(crate) told: bool,
    // What the properties need to know.
    /// The runs that were over when it called, as bits.
    pub(crate) over: u16,
    /// The adversary has had to do with this stint.
    pub(crate) disturbed: bool,
}

/// What an attempt knows of its reservation: of the dispatch, or of the run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Held {
    pub(crate) tenure: Tenure,
    pub(crate) number: u8,
    pub(crate) renewal_due: Moment,
    pub(crate) again: Again,
    pub(crate) lost: bool,
    /// Cancelled between its renewal and its first poll, which nobody could know.
    pub(crate) excused: bool,
    /// The run was over when the keeper, or the complete, of its dispatch found nothing.
    pub(crate) gone_over: bool,
}

/// Where the keeper's begin after *gone* stands. A dispatch's reads the run first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Again {
    No,
    Reads,
    Begins,
}

/// What somebody is at; most of it is a question to the store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Doing {
    Idle,
    // A dispatch: `last`, where the call begins once more and takes whatever stands.
    Begin { run: Id, last: bool },
    Wait { since: Tick, last: bool },
    Ready { run: Id, last: bool },
    Make { run: Id },
    Enqueue { run: Id, pushed: bool, since: Tick },
    Refuse { run: Id },
    Complete { run: Id },
    ReadOwn { run: Id },
    Again { run: Id },
    ReadReceipt { run: Id },
    Release { run: Id },
    // A receipt that was found.
    Read { run: Id },
    ReadAgain { run: Id },
    Mark { run: Id, seen: Rec, most: Option<Tick> },
    Discard { run: Id },
    // A worker.
    Fetch { run: Id },
    Take { run: Id, seen: Rec },
    SeeTo { run: Id, round: u8 },
    SeeBegin { run: Id, round: u8 },
    Skip { run: Id },
    Renew { run: Id },
    Start { run: Id },
    Body { run: Id, since: Tick },
    End { run: Id, state: RunState },
    GiveBack { run: Id, state: RunState },
    // The canceller.
    Look { run: Id },
    Cancel { run: Id, seen: Rec },
}

impl Actor {
    pub(crate) fn new(calls: u8) -> Self {
        Self {
            paused: false,
            calls,
            owners: 0,
            doing: Doing::Idle,
            tried: false,
            first: 0,
            next: 0,
            held: None,
            told: false,
            over: 0,
            disturbed: false,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.doing == Doing::Idle
    }
}

impl World {
    pub(crate) fn run(&mut self, id: Id) -> &mut Run {
        self.runs.iter_mut().find(|run| run.id == id).expect("a run that was dispatched")
    }

    /// What stands there.
    pub(crate) fn kept(&self, place: Place) -> Option<Kept> {
        match place {
            Place::Receipt => self.receipt,
            Place::Run(id) => self.runs.iter().find(|run| run.id == id)?.record,
        }
    }

    /// Whether an owner was ever made use of, or may be yet.
    pub(crate) fn knows(&self, owner: Id) -> bool {
        let sent = |asked: &Asked| matches!(asked.command, Command::Begin(record) if record.owner == owner);
        self.runs.iter().any(|run| run.id == owner)
            || self.receipt.is_some_and(|kept| kept.record.owner == owner)
            || self.network.iter().any(sent)
    }
}
