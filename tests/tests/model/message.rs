//! Commands and replies, and those of them that are under way.

use crate::record::{Id, Rec};
use crate::time::Tick;

/// What a caller asks the store for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Purpose {
    /// The begin of a call.
    Take,
    /// A look at another's record.
    Look,
    /// The replace of a lapsed reservation.
    TakeOver,
    /// The mutant of it that discards first.
    Discard,
    /// A renewal before the body's first poll.
    Ready,
    /// A renewal by the keeper.
    Renew,
    /// The keeper's begin after *gone*.
    Again,
    Complete,
    /// The begin of a completion that found nothing.
    AgainForOutcome,
    Release,
}

/// A question that one caller has open: repeated until it is answered or its time is up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Ask {
    pub(crate) purpose: Purpose,
    /// Since when the caller has been trying.
    pub(crate) since: Tick,
    /// When it was first sent.
    pub(crate) first: Tick,
    /// When it was last sent, or a question before it in the place of which it is asked.
    pub(crate) sent: Option<Tick>,
    /// Whether it was sent itself.
    pub(crate) tried: bool,
}

impl Ask {
    pub(crate) fn new(purpose: Purpose, since: Tick) -> Self {
        Self { purpose, since, first: since, sent: None, tried: false }
    }

    /// This question, to be sent again only after a pause.
    pub(crate) fn after_a_pause(self, now: Tick) -> Self {
        Self { sent: Some(now), tried: false, ..self }
    }

    pub(crate) fn sending(self, now: Tick) -> Self {
        Self {
            first: if self.sent.is_none() { now } else { self.first },
            sent: Some(now),
            tried: true,
            ..self
        }
    }

    pub(crate) fn id(self, caller: u8, owner: Id) -> AskId {
        AskId { caller, owner, purpose: self.purpose, first: self.first }
    }
}

/// Which question a message belongs to. A reply counts for that one only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct AskId {
    pub(crate) caller: u8,
    /// Who sends: the attempt's owner.
    pub(crate) owner: Id,
    pub(crate) purpose: Purpose,
    pub(crate) first: Tick,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Command {
    Begin(Rec),
    Peek,
    Renew {
        owner: Id,
        retention: Tick,
    },
    Complete(Rec),
    Release(Id),
    Replace {
        seen: Rec,
        by: Rec,
        life: Tick,
        if_lapsed: Option<Tick>,
    },
    Discard(Id),
    /// Only of the mutant whose takeover is a discard and a begin.
    DiscardLapsed {
        seen: Rec,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Reply {
    Acquired,
    Found(Rec),
    Seen(Option<(Rec, Tick)>),
    Renewed,
    Gone,
    Taken,
    Completed,
    Stored,
    AlreadyStored,
    Refused(Rec),
    Released,
    NotMine,
    Replaced,
    Stands,
    Discarded,
}

impl Reply {
    /// Whether it says that nothing was to be done.
    pub(crate) fn is_refusal(self) -> bool {
        use Reply::{Completed, Found, Gone, NotMine, Refused, Seen, Stands, Taken};
        matches!(
            self,
            Found(_) | Seen(_) | Gone | Taken | Completed | Refused(_) | NotMine | Stands
        )
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Body {
    Command(Command),
    Reply(Reply),
}

/// A message that the adversary holds back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Message {
    pub(crate) ask: AskId,
    pub(crate) body: Body,
}

/// What becomes of a command that is sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Fate {
    /// Carried out and answered at once.
    Answered,
    /// Never carried out.
    Lost,
    /// Carried out; the reply is lost.
    ReplyLost,
    /// Carried out later, if at all.
    Late,
    /// Carried out; the reply is heard later, if at all.
    ReplyLate,
    /// Carried out and answered, and carried out a second time later.
    Twice,
    /// The store is away.
    Unheard,
}
