//! A dispatch, step for step as the runtime makes it: `receipt/issue.rs`, and what it stands on:
//! `begin.rs`, `wait.rs`, `run.rs`, `settle.rs`.

use idem_runtime::protocol::tenure::Tenure;

use super::mutants::Mutant;
use super::properties::{Rule, Situation};
use super::run::{MADE, RunState};
use super::setting::Setting;
use super::state::{Again, Doing, Held, Place};
use super::turn::Turn;
use crate::message::{Command, Reply};
use crate::record::{Id, Rec};
use crate::time::{Tick, duration, sent};

impl Turn<'_> {
    /// `Dispatch::try_issue`.
    pub(crate) fn call(&mut self, actor: usize) {
        let now = self.world.now;
        let over = self.runs_that(|run| run.verdict(self.setting, now).gives_a_new_run());
        let who = self.actor(actor);
        who.calls -= 1;
        who.over = over;
        self.begin(actor, false);
    }

    /// `Arrival::begin`: the owner that takes the key is the run.
    pub(crate) fn begin(&mut self, actor: usize, last: bool) {
        let made_up = self.world.actors[actor].owners > 0;
        // An owner that was answered "found" is as good as a fresh one: nothing knows it.
        if !made_up || self.world.knows(self.me(actor)) {
            self.actor(actor).owners += 1;
        }
        let run = self.me(actor);
        self.set(actor, Doing::Begin { run, last });
    }

    pub(crate) fn asks_for_call(&self, actor: usize) -> (Place, Command, Tick) {
        let setting = self.setting;
        let replace = |seen, by, if_lapsed| {
            let life = setting.life_of_end();
            Command::Replace { seen, by, life, if_lapsed }
        };
        match self.world.actors[actor].doing {
            Doing::Begin { run, .. } | Doing::Again { run } => {
                (Place::Receipt, Command::Begin(Rec::reservation(run, 0)), 0)
            }
            Doing::Wait { .. } | Doing::ReadReceipt { .. } => (Place::Receipt, Command::Peek, 0),
            Doing::Ready { run, .. } => {
                (Place::Receipt, Command::Renew { owner: run, retention: 0 }, 0)
            }
            Doing::Make { run } => {
                let queued = RunState::Queued.completed(MADE, 1);
                (Place::Run(run), Command::Complete(queued), setting.life_of_state())
            }
            Doing::Refuse { run } => {
                let seen = RunState::Queued.completed(MADE, 1);
                let cancelled = RunState::Cancelled.completed(run, 1);
                (Place::Run(run), replace(seen, cancelled, None), 0)
            }
            Doing::Complete { run } => self.receipt_of(run),
            Doing::Release { run } => (Place::Receipt, Command::Release(run), 0),
            Doing::Read { run } | Doing::ReadAgain { run } | Doing::ReadOwn { run } => {
                (Place::Run(run), Command::Peek, 0)
            }
            Doing::Mark { run, seen, most } => {
                let failed = RunState::Failed.completed(self.me(actor), seen.attempt);
                (Place::Run(run), replace(seen, failed, most), 0)
            }
            Doing::Discard { run } => (Place::Receipt, Command::Discard(run), 0),
            doing => panic!("nothing to ask: {doing:?}"),
        }
    }

    pub(crate) fn hear_of_dispatch(&mut self, actor: usize, reply: Reply, stands: Option<Rec>) {
        let now = self.now();
        match (self.actor(actor).doing, reply) {
            (Doing::Begin { run, last }, Reply::Acquired) => {
                let (lease, ttl) = (self.setting.lease, self.setting.ttl);
                self.hold(actor, 1, lease, ttl);
                let ready = self.may_start(actor);
                self.set(
                    actor,
                    if ready { Doing::Make { run } } else { Doing::Ready { run, last } },
                );
            }
            (Doing::Begin { last, .. }, Reply::Found(found)) if found.completed => {
                self.found(actor, found.owner, last);
            }
            (Doing::Begin { last, .. }, Reply::Found(_)) => {
                self.set(actor, Doing::Wait { since: self.world.now, last });
            }
            (Doing::Wait { last, .. }, Reply::Seen(None)) => self.begin(actor, last),
            (Doing::Wait { since, last }, Reply::Seen(Some((found, _)))) => {
                if found.completed {
                    self.found(actor, found.owner, last);
                } else if self.world.now >= since + self.setting.lease * 2 {
                    self.reach(Situation::InProgress);
                    self.idle(actor);
                } else {
                    self.defer(actor, Doing::Wait { since, last });
                }
            }
            (Doing::Ready { run, last }, Reply::Renewed) => {
                self.renewed(actor);
                self.set(actor, Doing::Ready { run, last });
            }
            (Doing::Ready { last, .. }, _) => {
                self.actor(actor).held = None;
                self.begin(actor, last);
            }
            (Doing::Make { run }, Reply::Stored | Reply::AlreadyStored) => {
                let since = self.world.now;
                self.set(actor, Doing::Enqueue { run, pushed: false, since });
            }
            (Doing::Make { run }, _) => self.fail(actor, run),
            (Doing::Refuse { run }, reply) => match Self::replaced(reply, stands) {
                Err(Some(state)) if !state.is_end() || state == RunState::Succeeded => {
                    self.reach(Situation::RefusedTooLate);
                    self.set(actor, Doing::Complete { run });
                }
                _ => {
                    self.world.run(run).past.refused = true;
                    self.fail(actor, run);
                }
            },
            (Doing::Complete { .. }, Reply::Stored | Reply::AlreadyStored) => {
                if reply == Reply::Stored && self.held(actor).gone_over {
                    self.broke(Rule::GoneIsReadFirst);
                }
                if self.held(actor).tenure.window_is_open(now) {
                    self.issued(actor);
                } else {
                    self.fail(actor, self.me(actor));
                }
            }
            (Doing::Complete { run }, Reply::Gone) => {
                self.gone(actor, run);
                if !self.held(actor).tenure.gone(now) {
                    return self.fail(actor, run);
                }
                let unread = self.setting.is(Mutant::BeginsAgainUnread);
                self.set(actor, if unread { Doing::Again { run } } else { Doing::ReadOwn { run } });
            }
            (Doing::ReadOwn { run }, reply) => {
                let verdict = self.seen(reply).verdict(self.setting, self.hold_of(run));
                let over = verdict.gives_a_new_run();
                if over {
                    self.reach(Situation::ReadBeforeAgain);
                }
                self.set(
                    actor,
                    if over { Doing::ReadReceipt { run } } else { Doing::Again { run } },
                );
            }
            (Doing::Again { run }, Reply::Acquired) => self.set(actor, Doing::Complete { run }),
            (Doing::Again { run }, Reply::Found(found))
                if found.completed && found.owner == run =>
            {
                self.issued(actor);
            }
            (Doing::Complete { run } | Doing::Again { run }, _) => self.refused(actor, run),
            (Doing::ReadReceipt { run }, Reply::Seen(Some((found, _)))) if found.completed => {
                if found.owner == run {
                    self.issued(actor);
                } else {
                    self.reach(Situation::GivenAnothers);
                    self.idle(actor);
                }
            }
            (Doing::ReadReceipt { .. }, _) => self.idle(actor),
            (Doing::Release { .. }, _) => self.idle(actor),
            (doing, reply) => panic!("{doing:?} hears {reply:?}"),
        }
    }

    /// The key is this attempt's, counted from before its first command.
    pub(crate) fn hold(&mut self, actor: usize, number: u8, lease: Tick, ttl: Tick) {
        let first = self.world.actors[actor].first;
        let tenure = Tenure::taken(duration(lease), duration(ttl), sent(first));
        let renewal_due = tenure.first_renewal();
        self.actor(actor).held = Some(Held {
            tenure,
            number,
            renewal_due,
            again: Again::No,
            lost: false,
            excused: false,
            gone_over: false,
        });
    }

    pub(crate) fn push(&mut self, actor: usize) {
        let Doing::Enqueue { run, since, .. } = self.actor(actor).doing else { return };
        for _ in 0..self.setting.deliveries {
            self.world.queue.push(run);
        }
        self.world.queue.sort_unstable();
        // A queue that answers at once leaves no time for anything else.
        let Setting { enqueue, refusals, .. } = *self.setting;
        if enqueue == 0 && !refusals {
            return self.set(actor, Doing::Complete { run });
        }
        self.actor(actor).doing = Doing::Enqueue { run, pushed: true, since };
    }

    pub(crate) fn queue_answers(&mut self, actor: usize, taken: bool) {
        let Doing::Enqueue { run, .. } = self.actor(actor).doing else { return };
        if taken {
            self.set(actor, Doing::Complete { run });
        } else if self.setting.is(Mutant::RefusedOnlyReleases) {
            self.world.run(run).past.refused = true;
            self.fail(actor, run);
        } else {
            self.set(actor, Doing::Refuse { run });
        }
    }

    /// `Refused`: another's record stands, or the run is over.
    pub(crate) fn refused(&mut self, actor: usize, run: Id) {
        if self.actor(actor).told {
            return self.idle(actor);
        }
        self.set(actor, Doing::ReadReceipt { run });
    }

    /// The call fails, and its key is freed.
    pub(crate) fn fail(&mut self, actor: usize, run: Id) {
        self.reach(Situation::Failed);
        self.actor(actor).held = None;
        self.set(actor, Doing::Release { run });
    }

    /// The call gets the receipt of its own run.
    fn issued(&mut self, actor: usize) {
        self.reach(Situation::Issued);
        self.idle(actor);
    }

    /// A question was not heard, and its time is up.
    pub(crate) fn give_up(&mut self, actor: usize) {
        match self.actor(actor).doing {
            Doing::Begin { run, .. }
            | Doing::Ready { run, .. }
            | Doing::Make { run }
            | Doing::Refuse { run } => self.fail(actor, run),
            // The call has its receipt; the keeper goes on.
            Doing::Complete { run } | Doing::ReadOwn { run } | Doing::Again { run } => {
                self.actor(actor).told = true;
                self.defer(actor, Doing::Complete { run });
            }
            Doing::Read { run }
            | Doing::ReadAgain { run }
            | Doing::Mark { run, .. }
            | Doing::Discard { run } => self.given(actor, run, true),
            Doing::Wait { .. } | Doing::ReadReceipt { .. } | Doing::Release { .. } => {
                self.idle(actor);
            }
            _ => self.give_up_run(actor),
        }
    }
}
