//! An operator who decides a crash, and one who cancels an action: `operator.rs` of the runtime, and
//! the protocol's replace without *if lapsed*, as the cancelling of a run needs it.

use crate::message::{Command, Reply};
use crate::properties::Situation;
use crate::record::{Id, Rec};
use crate::time::Tick;
use crate::turn::Turn;

/// Where the operator stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Operator {
    Absent,
    Ready,
    /// Has looked, and seen a reservation; lapsed or not.
    Saw {
        seen: Rec,
        lapsed: bool,
    },
    /// Has replaced it by a reservation of its own, to free that.
    Frees,
    Done,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    Look,
    /// A value is the outcome.
    Decide,
    /// The action is to run again.
    RunAgain,
    Free,
    /// An outcome in the place of a reservation that runs.
    Cancel,
}

impl Operator {
    /// Whether it has more to do that matters.
    pub(crate) fn is_at_it(self) -> bool {
        matches!(self, Self::Saw { .. } | Self::Frees)
    }

    pub(crate) fn operations(self) -> &'static [Operation] {
        match self {
            Self::Absent | Self::Done => &[],
            Self::Ready => &[Operation::Look],
            Self::Saw { lapsed: true, .. } => {
                &[Operation::Decide, Operation::RunAgain, Operation::Cancel]
            }
            Self::Saw { lapsed: false, .. } => &[Operation::Cancel],
            Self::Frees => &[Operation::Free],
        }
    }
}

impl Turn<'_> {
    pub(crate) fn operate(&mut self, operation: Operation) {
        let mine = Rec { owner: Id::OPERATOR, retention: 0, ..self.seen() };
        let ttl = self.setting.ttl;
        match operation {
            Operation::Look => {
                let now = self.world.now;
                let reserved = self.world.store.filter(|kept| !kept.record.completed);
                if let Some(kept) = reserved {
                    let lapsed = kept.has_lapsed(now);
                    self.world.operator = Operator::Saw { seen: kept.record, lapsed };
                }
            }
            Operation::Decide => self.replace(mine.outcome(), ttl, true, Operator::Done),
            Operation::RunAgain => self.replace(mine, self.setting.lease, true, Operator::Frees),
            Operation::Cancel => {
                let owner = self.world.store.map(|kept| kept.record.owner);
                // A lease longer than another outcome: one that was taken over a lease after its last
                // renewal has to find it as long as its window lasts, so has one that was cancelled.
                let life = ttl + self.setting.lease;
                self.replace(mine.outcome(), life, false, Operator::Done);
                // It takes the key from an owner that runs: that is what it is for.
                for caller in &mut self.world.callers {
                    caller.robbed |= caller.call.owner().is_some() && caller.call.owner() == owner;
                }
            }
            Operation::Free => {
                self.carry_out(Id::OPERATOR, &Command::Release(Id::OPERATOR));
                self.world.operator = Operator::Done;
            }
        }
    }

    fn seen(&self) -> Rec {
        match self.world.operator {
            Operator::Saw { seen, .. } => seen,
            _ => Rec::reservation(Id::OPERATOR, 0),
        }
    }

    fn replace(&mut self, by: Rec, life: Tick, if_lapsed: bool, then: Operator) {
        let seen = self.seen();
        let if_lapsed = if_lapsed.then_some(seen.retention);
        let command = Command::Replace { seen, by, life, if_lapsed };
        if self.carry_out(Id::OPERATOR, &command) == Reply::Replaced {
            self.reach(Situation::Decided);
            self.world.operator = then;
        } else {
            self.world.operator = Operator::Done;
        }
    }
}
