//! The keeper's side of a dispatch and of a run, step for step as the runtime makes it:
//! `attempt/renewal.rs`, `keeper/renew.rs`.

use super::mutants::Mutant;
use super::properties::Situation;
use super::run::Run;
use super::state::{Again, Doing, Place};
use super::steps::NEVER;
use super::turn::Turn;
use crate::message::{Command, Reply};
use crate::record::{Id, Rec};
use crate::time::{Tick, sent};

/// The stages of an attempt that the keeper knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Dispatching(Id),
    /// A dispatch that stores its receipt.
    Completing(Id),
    Running(Id),
    /// A run whose end is stored.
    Ending(Id),
}

impl Turn<'_> {
    fn stage(&self, actor: usize) -> Option<Stage> {
        match self.world.actors[actor].doing {
            Doing::Make { run } | Doing::Enqueue { run, .. } | Doing::Refuse { run } => {
                Some(Stage::Dispatching(run))
            }
            Doing::Complete { run } | Doing::ReadOwn { run } | Doing::Again { run } => {
                Some(Stage::Completing(run))
            }
            Doing::Body { run, .. } => Some(Stage::Running(run)),
            Doing::Skip { run } | Doing::End { run, .. } => Some(Stage::Ending(run)),
            _ => None,
        }
    }

    /// Whether the keeper renews it.
    pub(crate) fn is_kept(&self, actor: usize) -> bool {
        let lost = self.world.actors[actor].held.as_ref().is_none_or(|held| held.lost);
        !lost && self.stage(actor).is_some()
    }

    pub(crate) fn asks_for_keeping(&self, actor: usize) -> (Place, Command, Tick) {
        let held = self.world.actors[actor].held.as_ref().expect("a reservation");
        match self.stage(actor) {
            Some(Stage::Dispatching(run) | Stage::Completing(run)) => {
                let renewal = Command::Renew { owner: run, retention: 0 };
                match held.again {
                    Again::No => (Place::Receipt, renewal, 0),
                    Again::Reads => (Place::Run(run), Command::Peek, 0),
                    Again::Begins => (Place::Receipt, Command::Begin(Rec::reservation(run, 0)), 0),
                }
            }
            Some(Stage::Running(run) | Stage::Ending(run)) => {
                let reservation = self.reservation(actor, run, held.number);
                let Rec { owner, retention, .. } = reservation;
                let command = match held.again {
                    Again::No => Command::Renew { owner, retention },
                    _ => Command::Begin(reservation),
                };
                (Place::Run(run), command, 0)
            }
            None => panic!("nothing to keep"),
        }
    }

    /// A renewal was confirmed.
    pub(crate) fn renewed(&mut self, actor: usize) {
        let (now, tick) = (self.now(), self.world.now);
        let held = self.held(actor);
        held.tenure.renewed(sent(tick), now);
    }

    pub(crate) fn hear_of_keeping(&mut self, actor: usize, reply: Reply) {
        let now = self.now();
        let stage = self.stage(actor);
        match self.held(actor).again {
            Again::No => {}
            Again::Reads => return self.hear_of_own_run(actor, reply),
            Again::Begins => return self.hear_of_again(actor, stage, reply),
        }
        match (stage, reply) {
            (_, Reply::Renewed) => self.renewed(actor),
            (Some(Stage::Dispatching(run)), Reply::Gone) => {
                self.gone(actor, run);
                let unread = self.setting.is(Mutant::KeeperBeginsAgainUnread);
                let held = self.held(actor);
                if held.tenure.gone(now) {
                    held.again = if unread { Again::Begins } else { Again::Reads };
                }
            }
            (Some(Stage::Running(_)), Reply::Gone) => {
                self.reach(Situation::GoneWhileRunning);
                let begins = self.setting.is(Mutant::WorkerBeginsAgain);
                let held = self.held(actor);
                held.tenure.gone(now);
                if begins {
                    held.again = Again::Begins;
                }
                held.lost = !begins;
            }
            (Some(Stage::Completing(_)), Reply::Gone) => {
                self.held(actor).tenure.gone(now);
            }
            // Its worker has seen to the receipt already.
            (Some(Stage::Dispatching(_) | Stage::Completing(_)), Reply::Completed) => {
                self.held(actor).renewal_due = NEVER;
            }
            (Some(Stage::Dispatching(_) | Stage::Running(_)), _) => self.held(actor).lost = true,
            // The completion finds out by itself.
            _ => {}
        }
    }

    /// `keeper::renew::reserve_again`: no receipt is to name a run that is over.
    fn hear_of_own_run(&mut self, actor: usize, reply: Reply) {
        let run = self.me(actor);
        let verdict = self.seen(reply).verdict(self.setting, self.hold_of(run));
        let over = verdict.gives_a_new_run();
        self.held(actor).again = if over { Again::No } else { Again::Begins };
    }

    /// `Attempt::reserved_again`.
    fn hear_of_again(&mut self, actor: usize, stage: Option<Stage>, reply: Reply) {
        let now = self.now();
        let held = self.held(actor);
        held.again = Again::No;
        match reply {
            Reply::Acquired => held.renewal_due = now,
            Reply::Found(found) => {
                let receipt = match stage {
                    Some(Stage::Dispatching(run) | Stage::Completing(run)) => Some(run),
                    _ => None,
                };
                held.lost = !(found.completed && receipt == Some(found.owner));
            }
            reply => panic!("a begin hears {reply:?}"),
        }
    }

    /// A dispatcher is told *gone*.
    pub(crate) fn gone(&mut self, actor: usize, run: Id) {
        self.reach(Situation::Gone);
        // Where it is gone before its run is made, nothing is over yet.
        let own = self.world.runs.iter().find(|other| other.id == run);
        let over = own.is_some_and(Run::is_lost);
        self.held(actor).gone_over |= over;
    }

    /// The end of an attempt waits for the begin after *gone* that is under way.
    pub(crate) fn waits_for_again(&self, actor: usize) -> bool {
        let who = &self.world.actors[actor];
        let again = who.held.as_ref().is_some_and(|held| held.again != Again::No);
        again && !matches!(self.stage(actor), Some(Stage::Dispatching(_)) | None)
    }

    /// The keeper takes note of the time.
    pub(crate) fn observe_time(&mut self, actor: usize) {
        let now = self.now();
        if self.stage(actor).is_some()
            && let Some(held) = &mut self.actor(actor).held
        {
            held.tenure.observe(now);
        }
    }
}
