//! The state of the model: the store, the network, the callers, and what has to be remembered of
//! the past to judge the present.

use idem_runtime::protocol::Moment;
use idem_runtime::protocol::tenure::Tenure;
use idem_tests::properties::Property;

use crate::message::{Ask, AskId, Message, Purpose};
use crate::operator::Operator;
use crate::record::{Id, Kept, Owners, Rec};
use crate::time::Tick;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct World {
    pub(crate) now: Tick,
    pub(crate) store: Option<Kept>,
    /// The store cannot be reached.
    pub(crate) away: bool,
    pub(crate) network: Vec<Message>,
    pub(crate) callers: Vec<Caller>,
    pub(crate) operator: Operator,
    /// What the adversary has left.
    pub(crate) faults: u8,
    pub(crate) history: History,
    /// The property that the last step broke.
    pub(crate) broken: Option<Property>,
}

/// What the properties need to know of the past. No step depends on it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) struct History {
    /// Whose outcome was stored.
    pub(crate) stored: Owners,
    /// Whose outcome was stored and has reached the end of its ttl.
    pub(crate) expired: Owners,
    /// Who has sent the renewal that arms its reservation, or taken over.
    pub(crate) armed: Owners,
    /// Whose attempt has come to its end with nothing of it under way.
    pub(crate) ended: Owners,
    /// A remembered crash that nobody has decided.
    pub(crate) unsettled: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Caller {
    pub(crate) paused: bool,
    /// How often it may still call.
    pub(crate) calls: u8,
    pub(crate) arrived: Tick,
    /// How many owners it has made up.
    pub(crate) owners: u8,
    /// Its reservation was taken away by the store itself, and has not been confirmed since.
    pub(crate) robbed: bool,
    pub(crate) call: Call,
}

/// Where a call stands. `Over` is also a process that will not call again.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Call {
    Away,
    Taking {
        owner: Id,
        ask: Ask,
    },
    Looking {
        ask: Ask,
    },
    /// Also the first half of the mutant that discards and begins.
    TakingOver {
        owner: Id,
        seen: Rec,
        ask: Ask,
    },
    Holding(Attempt),
    /// The begin was given up: the keeper releases what it may have reserved.
    Forgetting {
        owner: Id,
        ask: Ask,
    },
    Over,
}

/// Where an attempt stands. `Releasing`: over, but the keeper frees its key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Stage {
    Starting,
    Asking,
    Running,
    Settling,
    Releasing,
}

/// An attempt, as `attempt::Progress` has it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Attempt {
    pub(crate) owner: Id,
    pub(crate) number: u8,
    pub(crate) tenure: Tenure,
    pub(crate) stage: Stage,
    pub(crate) remembered: Tick,
    pub(crate) takeover: bool,
    pub(crate) must_lapse: bool,
    pub(crate) renewal_due: Moment,
    /// When the renewal under way was sent.
    pub(crate) renewing: Option<Tick>,
    /// The begin after *gone* that is under way.
    pub(crate) again: Option<Ask>,
    /// What the call itself is asking, or the keeper in its place.
    pub(crate) ask: Option<Ask>,
    pub(crate) lost: bool,
    pub(crate) forfeited: bool,
    /// The caller has its answer, or is gone: what is left is the keeper's, or a detached body.
    pub(crate) told: bool,
    /// When its body, or the question of `reconcile`, was first polled.
    pub(crate) started: Tick,
    // What the properties need to know.
    /// Renewals in a row that were not answered in time.
    pub(crate) misses: u8,
    /// It was paused, or lost its record: more than misses explain a late renewal.
    pub(crate) disturbed: bool,
    /// Another owner's outcome was stored meanwhile.
    pub(crate) superseded: bool,
    /// Another body started after this one.
    pub(crate) overlapped: bool,
    /// Its body has come to a value.
    pub(crate) done: bool,
}

impl World {
    /// The current question of a caller's call that a message can answer.
    pub(crate) fn expects(&self, ask: AskId) -> bool {
        let Some(caller) = self.callers.get(usize::from(ask.caller)) else { return false };
        let own = caller.call.ask().filter(|(_, own)| own.sent.is_some());
        own.is_some_and(|(owner, own)| own.id(ask.caller, owner) == ask)
            || caller.call.attempt().is_some_and(|attempt| {
                let again = attempt.again.filter(|again| again.sent.is_some());
                ask.owner == attempt.owner
                    && (again.is_some_and(|again| again.id(ask.caller, attempt.owner) == ask)
                        || (ask.purpose == Purpose::Renew && attempt.renewing == Some(ask.first)))
            })
    }

    /// How many commands of this owner are held back.
    pub(crate) fn held_back(&self, owner: Id) -> usize {
        self.network.iter().filter(|message| message.is_command_of(owner)).count()
    }

    /// What an owner may believe: it runs, or has run, and is inside its own deadline.
    pub(crate) fn believers(&self, now: Moment) -> usize {
        let believes = |caller: &&Caller| {
            let Some(attempt) = caller.call.attempt() else { return false };
            let owns = matches!(attempt.stage, Stage::Asking | Stage::Running | Stage::Settling);
            owns && !attempt.lost && !caller.robbed && !attempt.tenure.at_risk(now)
        };
        self.callers.iter().filter(believes).count()
    }

    pub(crate) fn calls_are_over(&self) -> bool {
        self.callers.iter().all(|caller| caller.call == Call::Over)
    }

    /// Whether the next caller would not find the key taken.
    pub(crate) fn key_is_free(&self) -> bool {
        self.store.is_none_or(|kept| kept.record.completed || kept.has_lapsed(self.now))
    }

    /// Brings equal states to equal forms: replies that nobody waits for are forgotten.
    pub(crate) fn normalise(&mut self, late_until: Tick) {
        if self.now >= late_until {
            self.network.clear();
        }
        if self.network.is_empty() {
            return;
        }
        let mut network = std::mem::take(&mut self.network);
        network.retain(|message| message.command().is_some() || self.expects(message.ask));
        network.sort_unstable();
        self.network = network;
    }
}

impl Message {
    pub(crate) fn command(&self) -> Option<crate::message::Command> {
        match self.body {
            crate::message::Body::Command(command) => Some(command),
            crate::message::Body::Reply(_) => None,
        }
    }

    fn is_command_of(&self, owner: Id) -> bool {
        self.ask.owner == owner && self.command().is_some()
    }
}

impl Call {
    pub(crate) fn attempt(&self) -> Option<&Attempt> {
        match self {
            Self::Holding(attempt) => Some(attempt),
            _ => None,
        }
    }

    /// Whose commands this call sends.
    pub(crate) fn owner(&self) -> Option<Id> {
        match self {
            Self::Taking { owner, .. }
            | Self::TakingOver { owner, .. }
            | Self::Forgetting { owner, .. } => Some(*owner),
            Self::Holding(attempt) => Some(attempt.owner),
            Self::Away | Self::Looking { .. } | Self::Over => None,
        }
    }

    /// What the call, or the keeper in its place, is asking.
    pub(crate) fn ask(&self) -> Option<(Id, Ask)> {
        match self {
            Self::Taking { owner, ask }
            | Self::TakingOver { owner, ask, .. }
            | Self::Forgetting { owner, ask } => Some((*owner, *ask)),
            Self::Looking { ask } => Some((Id(0), *ask)),
            Self::Holding(attempt) => attempt.ask.map(|ask| (attempt.owner, ask)),
            Self::Away | Self::Over => None,
        }
    }
}
