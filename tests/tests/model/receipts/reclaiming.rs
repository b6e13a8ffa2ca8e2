//! A receipt that was found, step for step as the runtime looks at it: `receipt/issue.rs`,
//! `liveness.rs`, `reclaim.rs`. And the cancelling of a run: `run.rs`.

use super::mutants::Mutant;
use super::properties::{Rule, Situation};
use super::run::{RunState, Seen, Verdict};
use super::state::Doing;
use super::turn::Turn;
use crate::message::Reply;
use crate::record::{Id, Rec};
use crate::time::Tick;

impl Turn<'_> {
    /// A receipt stands: the first one is looked at, what the call finds the second time is its answer.
    pub(crate) fn found(&mut self, actor: usize, run: Id, last: bool) {
        if last {
            self.reach(Situation::FoundNext);
            return self.idle(actor);
        }
        if self.setting.is(Mutant::GivesUnread) {
            return self.given(actor, run, false);
        }
        self.set(actor, Doing::Read { run });
    }

    /// The call gets the receipt that it found first; out of doubt, where its store did not answer.
    pub(crate) fn given(&mut self, actor: usize, run: Id, doubt: bool) {
        let now = self.world.now;
        let over = self.runs_that(|other| {
            other.id == run && other.verdict(self.setting, now).gives_a_new_run()
        });
        if !doubt && self.actor(actor).over & over != 0 {
            self.broke(Rule::DeadIsNotGiven);
        }
        self.reach(if doubt { Situation::Doubt } else { Situation::Replayed });
        self.idle(actor);
    }

    /// How long this caller takes a run for held.
    fn hold_for(&self, actor: usize, run: Id) -> Tick {
        if self.setting.is(Mutant::HoldOfTheReader) {
            return self.setting.callers[actor].hold.min(self.hold_of(run));
        }
        self.hold_of(run)
    }

    pub(crate) fn hear_of_reclaim(&mut self, actor: usize, reply: Reply, stands: Option<Rec>) {
        match self.actor(actor).doing {
            Doing::Read { run } => {
                let hold = self.hold_for(actor, run);
                let mut verdict = self.seen(reply).verdict(self.setting, hold);
                if verdict == Verdict::MaybeAlive {
                    self.reach(Situation::MaybeAlive);
                    if self.setting.is(Mutant::ReclaimsMaybeAlive) {
                        verdict = Verdict::Ended;
                    }
                }
                if verdict.gives_a_new_run() {
                    return self.set(actor, Doing::ReadAgain { run });
                }
                self.given(actor, run, verdict == Verdict::Indeterminate);
            }
            Doing::ReadAgain { run } => self.see_to_end(actor, run, reply),
            Doing::Mark { run, .. } => match Self::replaced(reply, stands) {
                Err(Some(state)) if !state.is_lost() => {
                    self.reach(Situation::AliveAfterAll);
                    self.given(actor, run, false);
                }
                _ => {
                    self.reach(Situation::Marked);
                    self.set(actor, Doing::Discard { run });
                }
            },
            Doing::Discard { .. } => {
                self.reach(Situation::Reclaimed);
                self.begin(actor, true);
            }
            doing => panic!("{doing:?} hears {reply:?}"),
        }
    }

    /// `RunStore::see_to_end`: marks a run as failed that has not ended by itself.
    fn see_to_end(&mut self, actor: usize, run: Id, reply: Reply) {
        let hold = self.hold_for(actor, run);
        let unmarked = self.setting.is(Mutant::VerdictWithoutReplace);
        match self.seen(reply) {
            Seen::Gone => self.set(actor, Doing::Discard { run }),
            Seen::Unreadable => self.given(actor, run, true),
            Seen::Held { lapsed: None, .. } => self.given(actor, run, false),
            Seen::Held { .. } if unmarked => self.set(actor, Doing::Discard { run }),
            // It is the store that looks whether the hold is over.
            Seen::Held { record, .. } => {
                let most = match self.setting.mutant {
                    Some(Mutant::HoldNotInReplace | Mutant::ReclaimsMaybeAlive) => record.retention,
                    _ => record.retention - hold,
                };
                self.set(actor, Doing::Mark { run, seen: record, most: Some(most) });
            }
            Seen::Stands { record, since } => match RunState::of(record) {
                state if state.is_lost() => self.set(actor, Doing::Discard { run }),
                RunState::Succeeded => self.given(actor, run, false),
                _ if since < self.setting.queue_timeout => self.given(actor, run, false),
                _ if unmarked || self.setting.is(Mutant::QueueTimeoutDiscards) => {
                    self.set(actor, Doing::Discard { run });
                }
                _ => self.set(actor, Doing::Mark { run, seen: record, most: None }),
            },
        }
    }

    /// `Run::cancel`: refused, it reads again.
    pub(crate) fn hear_of_cancel(&mut self, actor: usize, reply: Reply) {
        match self.actor(actor).doing {
            Doing::Look { run } => match self.seen(reply) {
                Seen::Stands { record, .. } if RunState::of(record).is_end() => self.idle(actor),
                Seen::Stands { record, .. } | Seen::Held { record, .. } => {
                    self.set(actor, Doing::Cancel { run, seen: record });
                }
                Seen::Gone | Seen::Unreadable => self.idle(actor),
            },
            Doing::Cancel { run, .. } if reply == Reply::Stands => {
                self.reach(Situation::CancelRefused);
                self.set(actor, Doing::Look { run });
            }
            _ => {
                self.reach(Situation::Cancelled);
                self.idle(actor);
            }
        }
    }
}
