//! The end of an attempt at a run, step for step as the runtime makes it: `receipt/end.rs`,
//! `receipt/give_back.rs`, and `settle.rs` under the terms of a run.

use super::mutants::Mutant;
use super::properties::{Rule, Situation};
use super::run::RunState;
use super::state::{Again, Doing};
use super::turn::Turn;
use crate::message::Reply;
use crate::record::Id;
use crate::time::sent;

impl Turn<'_> {
    pub(crate) fn body_ends(&mut self, actor: usize, state: RunState) {
        let now = self.now();
        let Doing::Body { run, .. } = self.actor(actor).doing else { return };
        self.held(actor).tenure.observe(now);
        let late = self.setting.is(Mutant::PollsBeforeReceipt);
        let end = Doing::End { run, state };
        self.set(actor, if late { Doing::SeeTo { run, round: 0 } } else { end });
    }

    /// Whether what is to be stored is given up without asking: lost, or its window has ended.
    pub(crate) fn settles_unasked(&self, actor: usize) -> bool {
        let who = &self.world.actors[actor];
        let settles = matches!(who.doing, Doing::Complete { .. } | Doing::Skip { .. })
            || matches!(who.doing, Doing::End { state, .. } if state.is_end());
        let Some(held) = who.held.as_ref().filter(|_| settles) else { return false };
        held.lost && !who.tried || !held.tenure.clone().window_is_open(self.now())
    }

    pub(crate) fn settle_unasked(&mut self, actor: usize) {
        let lost = self.held(actor).lost;
        match self.actor(actor).doing {
            Doing::Complete { run } if lost => self.refused(actor, run),
            Doing::Complete { run } => self.fail(actor, run),
            Doing::Skip { run } | Doing::End { run, .. } => {
                self.let_go(actor, run, if lost { Situation::Told } else { Situation::TooLate });
            }
            doing => panic!("{doing:?} does not settle"),
        }
    }

    /// A command of this actor's is about to be sent.
    pub(crate) fn sending(&mut self, actor: usize, channel: super::steps::Channel) {
        let (tick, now) = (self.world.now, self.now());
        let settles = matches!(
            self.actor(actor).doing,
            Doing::Complete { .. } | Doing::Skip { .. } | Doing::End { .. }
        );
        let Some(held) = &mut self.actor(actor).held else { return };
        if channel == super::steps::Channel::Own {
            if settles {
                held.tenure.completing(sent(tick));
            }
        } else if held.again == Again::No {
            held.renewal_due = held.tenure.next_renewal(held.renewal_due, now);
        }
    }

    pub(crate) fn hear_of_end(&mut self, actor: usize, reply: Reply) {
        let now = self.now();
        match (self.actor(actor).doing, reply) {
            (Doing::End { run, state: RunState::Waiting }, Reply::Replaced) => {
                // Whoever gave it back has the queue hand it out again.
                self.world.queue.push(run);
                self.world.queue.sort_unstable();
                self.let_go(actor, run, Situation::ToBeRetried);
            }
            (Doing::End { run, state }, Reply::Stored | Reply::AlreadyStored) => {
                let lapsed = self.held(actor).tenure.has_lapsed();
                let success = state == RunState::Succeeded;
                self.let_go(
                    actor,
                    run,
                    match (success, lapsed) {
                        (true, true) => Situation::SucceededLate,
                        (true, false) => Situation::Succeeded,
                        (false, _) => Situation::Ended,
                    },
                );
            }
            (Doing::End { run, .. } | Doing::Skip { run }, Reply::Gone) => {
                // It is not begun again.
                self.held(actor).tenure.gone(now);
                self.let_go(actor, run, Situation::Told);
            }
            (Doing::End { run, .. }, _) => self.let_go(actor, run, Situation::Told),
            (Doing::Skip { run } | Doing::GiveBack { run, .. }, _) => {
                self.let_go(actor, run, Situation::NotStarted);
            }
            (doing, reply) => panic!("{doing:?} hears {reply:?}"),
        }
    }

    pub(crate) fn give_up_run(&mut self, actor: usize) {
        match self.actor(actor).doing {
            Doing::Take { run, seen } => {
                let (lease, ttl) = (self.setting.lease, self.setting.life_of_end());
                self.hold(actor, seen.attempt, lease, ttl);
                self.give_back(actor, run);
            }
            Doing::SeeTo { run, .. } | Doing::SeeBegin { run, .. } | Doing::Renew { run } => {
                self.give_back(actor, run);
            }
            // The keeper goes on.
            doing @ (Doing::Skip { .. } | Doing::End { .. }) => self.defer(actor, doing),
            Doing::Fetch { run } | Doing::Start { run } | Doing::GiveBack { run, .. } => {
                self.let_go(actor, run, Situation::NotStarted);
            }
            doing => panic!("{doing:?} is not given up"),
        }
    }

    /// The worker has nothing to do with this run any more. One that met with nothing untoward leaves it
    /// neither waiting nor reserved.
    pub(crate) fn let_go(&mut self, actor: usize, id: Id, how: Situation) {
        self.reach(how);
        let me = self.me(actor);
        let record = self.world.run(id).record.map(|kept| kept.record);
        let left = record.is_some_and(|record| {
            record.is_reservation_of(me) || RunState::of(record) == RunState::Queued
        });
        if left && !self.actor(actor).disturbed {
            self.broke(Rule::HandedOutIsSeenTo);
        }
        self.idle(actor);
    }
}
