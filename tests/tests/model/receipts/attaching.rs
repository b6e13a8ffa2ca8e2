//! A worker from the queued run to the first poll of its body, step for step as the runtime makes it:
//! `receipt/worker.rs`, `receipt/store.rs`.

use super::mutants::Mutant;
use super::properties::{Rule, Situation};
use super::run::{RunState, Seen};
use super::state::{Doing, Place};
use super::turn::Turn;
use crate::message::{Command, Reply};
use crate::record::{Id, Rec};
use crate::time::Tick;

/// How often a receipt is begun that was lost before it was completed.
const ROUNDS: u8 = 2;

impl Turn<'_> {
    /// The queue hands a run to a worker: `Attach::run`.
    pub(crate) fn hand(&mut self, actor: usize, run: Id) {
        let queued =
            self.world.queue.iter().position(|queued| *queued == run).expect("in the queue");
        self.world.queue.remove(queued);
        self.actor(actor).owners += 1;
        self.set(actor, Doing::Fetch { run });
    }

    pub(crate) fn asks_for_run(&self, actor: usize) -> (Place, Command, Tick) {
        let setting = self.setting;
        let me = self.me(actor);
        let number = self.world.actors[actor].held.as_ref().map_or(1, |held| held.number);
        match self.world.actors[actor].doing {
            Doing::Fetch { run } | Doing::Look { run } => (Place::Run(run), Command::Peek, 0),
            Doing::Take { run, seen } => {
                let by = self.reservation(actor, run, number_after(seen));
                let life = setting.lease + by.retention;
                (Place::Run(run), Command::Replace { seen, by, life, if_lapsed: None }, 0)
            }
            Doing::SeeTo { run, .. } => self.receipt_of(run),
            Doing::SeeBegin { run, .. } => {
                (Place::Receipt, Command::Begin(Rec::reservation(run, 0)), 0)
            }
            Doing::Renew { run } | Doing::Start { run } => {
                let retention = setting.retention(self.hold_of(run));
                (Place::Run(run), Command::Renew { owner: me, retention }, 0)
            }
            Doing::Skip { run } => {
                let skipped = RunState::Skipped.completed(me, number);
                (Place::Run(run), Command::Complete(skipped), setting.life_of_end())
            }
            Doing::End { run, state } if state.is_end() => {
                let ended = state.completed(me, number);
                (Place::Run(run), Command::Complete(ended), setting.life_of_end())
            }
            Doing::End { run, state } | Doing::GiveBack { run, state } => {
                let seen = self.reservation(actor, run, number);
                let by = state.completed(me, number);
                let life = setting.life_of_state();
                (Place::Run(run), Command::Replace { seen, by, life, if_lapsed: None }, 0)
            }
            Doing::Cancel { run, seen } => {
                let by = RunState::Cancelled.completed(me, seen.attempt);
                let life = setting.life_of_end();
                (Place::Run(run), Command::Replace { seen, by, life, if_lapsed: None }, 0)
            }
            doing => panic!("nothing to ask: {doing:?}"),
        }
    }

    /// The reservation of this worker's attempt at a run.
    pub(crate) fn reservation(&self, actor: usize, run: Id, number: u8) -> Rec {
        let retention = self.setting.retention(self.hold_of(run));
        Rec { retention, attempt: number, ..Rec::reservation(self.me(actor), 0) }
    }

    /// `Worker::reserve`.
    pub(crate) fn hear_of_attach(&mut self, actor: usize, reply: Reply) {
        match (self.actor(actor).doing, reply) {
            (Doing::Fetch { run }, reply) => match self.seen(reply) {
                Seen::Stands { record, .. } if !RunState::of(record).is_end() => {
                    self.set(actor, Doing::Take { run, seen: record });
                }
                Seen::Held { record, lapsed: Some(_) } if self.setting.is(Mutant::TakesLapsed) => {
                    self.set(actor, Doing::Take { run, seen: record });
                }
                _ => self.let_go(actor, run, Situation::NotStarted),
            },
            (Doing::Take { run, seen }, Reply::Replaced) => {
                let (lease, ttl) = (self.setting.lease, self.setting.life_of_end());
                self.hold(actor, number_after(seen), lease, ttl);
                let polls = self.setting.is(Mutant::PollsBeforeReceipt);
                let see_to = Doing::SeeTo { run, round: 0 };
                self.set(actor, if polls { Doing::Renew { run } } else { see_to });
            }
            (Doing::Take { run, .. }, _) => self.let_go(actor, run, Situation::NotStarted),
            (Doing::SeeTo { run, .. }, Reply::Stored | Reply::AlreadyStored) => {
                self.receipt_is_seen_to(actor, run);
            }
            (Doing::SeeTo { run, round }, Reply::Gone) if round < ROUNDS => {
                self.set(actor, Doing::SeeBegin { run, round: round + 1 });
            }
            (Doing::SeeTo { run, .. }, Reply::Gone) => {
                // Its own dispatcher has freed it twice, and one of them was a copy.
                self.actor(actor).disturbed = true;
                self.give_back(actor, run);
            }
            (Doing::SeeBegin { run, round }, Reply::Acquired) => {
                self.reach(Situation::ReceiptBegunAnew);
                self.set(actor, Doing::SeeTo { run, round });
            }
            (Doing::SeeBegin { run, .. }, Reply::Found(found))
                if found.completed && found.owner == run =>
            {
                self.receipt_is_seen_to(actor, run);
            }
            (Doing::SeeTo { run, .. } | Doing::SeeBegin { run, .. }, _) => self.skip(actor, run),
            (Doing::Renew { run } | Doing::Start { run }, Reply::Renewed) => {
                self.renewed(actor);
                self.set(actor, Doing::Start { run });
            }
            (Doing::Renew { run } | Doing::Start { run }, _) => {
                self.let_go(actor, run, Situation::Forfeited);
            }
            (doing, reply) => panic!("{doing:?} hears {reply:?}"),
        }
    }

    fn receipt_is_seen_to(&mut self, actor: usize, run: Id) {
        let next = match self.setting.mutant {
            Some(Mutant::NoRenewalAfterReceipt) => Doing::Start { run },
            Some(Mutant::PollsBeforeReceipt) => Doing::End { run, state: RunState::Succeeded },
            _ => Doing::Renew { run },
        };
        self.set(actor, next);
    }

    /// Another's reservation or receipt stands: this run is not to start.
    fn skip(&mut self, actor: usize, run: Id) {
        self.reach(Situation::Skipped);
        if self.setting.is(Mutant::SkippedNotStored) {
            return self.let_go(actor, run, Situation::NotStarted);
        }
        self.set(actor, Doing::Skip { run });
    }

    /// `GiveBack`: its body has not run here.
    pub(crate) fn give_back(&mut self, actor: usize, run: Id) {
        self.reach(Situation::GivenBack);
        self.set(actor, Doing::GiveBack { run, state: RunState::Queued });
    }

    /// `Attempt::try_start`, without its effect.
    pub(crate) fn may_start(&self, actor: usize) -> bool {
        let now = self.now();
        self.world.actors[actor].held.as_ref().is_some_and(|held| held.tenure.may_start(now))
    }

    /// The action of a dispatch, or the body of a run, is first polled.
    pub(crate) fn start(&mut self, actor: usize) {
        match self.actor(actor).doing {
            Doing::Ready { run, .. } => self.set(actor, Doing::Make { run }),
            Doing::Start { run } => {
                let since = self.world.now;
                self.may_run(actor, run);
                self.set(actor, Doing::Body { run, since });
            }
            doing => panic!("{doing:?} does not start"),
        }
    }

    fn may_run(&mut self, actor: usize, id: Id) {
        let (now, me) = (self.world.now, self.me(actor));
        let held = self.held(actor);
        let (number, excused) = (held.number, held.excused);
        let run = self.world.run(id);
        let own = run.record.is_some_and(|k| k.record.is_reservation_of(me) && !k.has_lapsed(now));
        let (past, bit) = (run.past, 1 << number);
        run.past.started |= bit;
        if past.started & bit != 0 {
            self.broke(Rule::OneBodyAnAttempt);
        }
        if past.refused {
            self.broke(Rule::RefusedNeverRuns);
        }
        if excused {
            return;
        }
        if !own {
            self.broke(Rule::StartsUnderOwnReservation);
        }
        self.one_at_a_time(id);
    }
}

/// The number of the attempt that takes a run which stands like this.
fn number_after(seen: Rec) -> u8 {
    seen.attempt + u8::from(RunState::of(seen) == RunState::Waiting)
}
