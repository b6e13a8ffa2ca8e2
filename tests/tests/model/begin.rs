//! The begin of a call, step for step as the runtime makes it: `begin.rs`, `wait.rs`,
//! `takeover.rs`.

use idem_runtime::protocol::Moment;
use idem_runtime::protocol::judge::{Verdict, agree, judge};
use idem_runtime::protocol::tenure::Tenure;
use idem_runtime::protocol::transition::reservation_life;
use idem_runtime::record::{Found, Standing};
use idem_runtime::{OnCrash, OnLost};
use idem_tests::properties::Property;

use crate::message::{Ask, Command, Fate, Purpose, Reply};
use crate::mutants::Mutant;
use crate::properties::Situation;
use crate::record::{Id, Rec, fingerprint};
use crate::state::{Attempt, Call, Stage};
use crate::time::{Tick, duration, moment, sent, ticks};
use crate::turn::Turn;

impl Turn<'_> {
    /// `Arrival::begin`.
    pub(crate) fn arrive(&mut self, caller: usize) {
        let now = self.world.now;
        self.world.callers[caller].calls -= 1;
        self.world.callers[caller].arrived = now;
        self.begin(caller);
    }

    /// `Arrival::take`, with a fresh owner.
    pub(crate) fn begin(&mut self, caller: usize) {
        let owner = self.fresh_owner(caller);
        self.set(caller, Call::Taking { owner, ask: Ask::new(Purpose::Take, self.world.now) });
    }

    fn fresh_owner(&mut self, caller: usize) -> Id {
        let who = &mut self.world.callers[caller];
        who.owners += 1;
        who.robbed = false;
        Id::of(caller, who.owners)
    }

    /// The command that this caller's call is asking.
    pub(crate) fn send_for_begin(&mut self, caller: usize, fate: Fate) {
        let now = self.world.now;
        let policy = self.policy(caller);
        let call = &mut self.world.callers[caller].call;
        let (owner, ask, command) = match call {
            Call::Taking { owner, ask } => {
                *ask = ask.sending(now);
                let mut reservation = Rec::reservation(*owner, policy.fingerprint);
                if self.setting.is(Mutant::RememberedBeforeArmed) {
                    reservation.retention = policy.remembered();
                }
                (*owner, *ask, Command::Begin(reservation))
            }
            Call::Looking { ask } => {
                *ask = ask.sending(now);
                (Id(0), *ask, Command::Peek)
            }
            Call::TakingOver { owner, seen, ask } => {
                *ask = ask.sending(now);
                let command = if ask.purpose == Purpose::Discard {
                    Command::DiscardLapsed { seen: *seen }
                } else {
                    self.world.history.armed.add(*owner);
                    let by = takeover(*owner, policy.fingerprint, *seen);
                    let retention = duration(seen.retention);
                    let life = ticks(reservation_life(duration(self.setting.lease), retention));
                    let if_lapsed = Some(seen.retention);
                    Command::Replace { seen: *seen, by, life, if_lapsed }
                };
                (*owner, *ask, command)
            }
            Call::Forgetting { owner, ask } => {
                *ask = ask.sending(now);
                (*owner, *ask, Command::Release(*owner))
            }
            call => panic!("nothing to send: {call:?}"),
        };
        self.send((caller, owner), ask, command, fate);
    }

    /// When the time for this caller's question is up (`ask`'s `until`).
    pub(crate) fn until_of_begin(&self, caller: usize) -> Moment {
        let Self { setting, world, .. } = self;
        let who = &world.callers[caller];
        let Some((_, ask)) = who.call.ask() else { return Moment::NEVER };
        let timeout = moment(ask.first).after(duration(setting.store_timeout));
        match who.call {
            // Past the lease deadline the key could not be used any more.
            Call::Taking { .. } | Call::TakingOver { .. } => {
                timeout.min(self.taken(ask.first).deadline())
            }
            Call::Looking { .. } => moment(who.arrived).after(duration(setting.lease) * 2),
            // What was reserved has lapsed by then (`keeper::jobs::forget`).
            _ => moment(ask.since).after(duration(setting.lease)),
        }
    }

    pub(crate) fn taken(&self, first_sent: Tick) -> Tenure {
        let Self { setting, .. } = self;
        Tenure::taken(duration(setting.lease), duration(setting.ttl), sent(first_sent))
    }

    pub(crate) fn hear_of_begin(&mut self, caller: usize, reply: Reply) {
        match (self.world.callers[caller].call.clone(), reply) {
            (Call::Taking { owner, ask }, Reply::Acquired) => {
                let retention = self.retention_at_begin(caller);
                self.hold(caller, (owner, 1), ask, None, retention);
            }
            (Call::Taking { .. }, Reply::Found(stands)) if stands.completed => {
                self.replay(caller, stands);
            }
            (Call::Taking { .. }, Reply::Found(_)) => {
                self.set(caller, Call::Looking { ask: Ask::new(Purpose::Look, self.world.now) });
            }
            (Call::Looking { .. }, Reply::Seen(None)) => self.begin_anew(caller),
            (Call::Looking { ask }, Reply::Seen(Some((seen, left)))) => {
                self.meet(caller, ask, (seen, left));
            }
            (Call::TakingOver { owner, seen, ask }, Reply::Replaced) => {
                self.reach(Situation::TookOver);
                self.hold(caller, (owner, seen.attempt + 1), ask, Some(seen), seen.retention);
            }
            // The mutant's second half.
            (Call::TakingOver { .. }, Reply::Discarded) => self.begin(caller),
            // Somebody was faster, or the owner came back: look again.
            (Call::TakingOver { .. }, _) => self.begin_anew(caller),
            (call, reply) => panic!("{call:?} hears {reply:?}"),
        }
    }

    fn retention_at_begin(&self, caller: usize) -> Tick {
        let early = self.setting.is(Mutant::RememberedBeforeArmed);
        if early { self.policy(caller).remembered() } else { 0 }
    }

    /// `Step::Anew`: a record that comes and goes does not keep a call for ever.
    pub(crate) fn begin_anew(&mut self, caller: usize) {
        let wait = if self.policy(caller).waits { self.setting.lease * 2 } else { 0 };
        let arrived = self.world.callers[caller].arrived;
        if self.world.now >= arrived + wait + self.setting.store_timeout * 3 {
            return self.over(caller, Situation::InProgress);
        }
        self.begin(caller);
    }

    /// `Arrival::meet`: what to do about another's record.
    fn meet(&mut self, caller: usize, ask: Ask, (mut seen, left): (Rec, Tick)) {
        let policy = self.policy(caller);
        if self.setting.is(Mutant::RetentionOfTheReader) {
            seen.retention = policy.remembered();
        }
        let standing = Standing::Record(seen.real());
        let found = Found { standing, left: duration(left) };
        match judge(&found, fingerprint(policy.fingerprint)) {
            Verdict::Mismatch => self.mismatch(caller, seen),
            Verdict::Completed(_) => self.replay(caller, seen),
            Verdict::Lapsed(_) => self.crashed(caller, seen),
            Verdict::InProgress { .. } => {
                let waited_enough = self.now() >= self.until_of_begin(caller);
                if !policy.waits || waited_enough {
                    return self.over(caller, Situation::InProgress);
                }
                let ask = ask.after_a_pause(self.world.now);
                self.set(caller, Call::Looking { ask });
            }
        }
    }

    /// `Arrival::replay`.
    fn replay(&mut self, caller: usize, outcome: Rec) {
        let asked_for = fingerprint(self.policy(caller).fingerprint);
        if !agree(fingerprint(outcome.fingerprint), asked_for) {
            return self.mismatch(caller, outcome);
        }
        self.over(caller, Situation::Replayed);
    }

    fn mismatch(&mut self, caller: usize, seen: Rec) {
        if self.setting.is(Mutant::MismatchCleansUp) {
            let by = Id::of(caller, self.world.callers[caller].owners);
            let clean_up = if seen.completed {
                Command::Discard(seen.owner)
            } else {
                Command::Release(seen.owner)
            };
            self.carry_out(by, &clean_up);
        }
        self.over(caller, Situation::Mismatch);
    }

    /// `Arrival::crashed`.
    fn crashed(&mut self, caller: usize, lapsed: Rec) {
        // Told or asked of a crash: its body ran, or its owner stopped on the verge of that.
        if !self.world.history.armed.has(lapsed.owner) {
            self.broke(Property::NoCrashWithoutBody);
        }
        if self.policy(caller).on_crash == OnCrash::Refuse {
            return self.over(caller, Situation::Unknown);
        }
        let discards = self.setting.is(Mutant::TakeoverInTwoSteps);
        let purpose = if discards { Purpose::Discard } else { Purpose::TakeOver };
        let owner = self.fresh_owner(caller);
        let ask = Ask::new(purpose, self.world.now);
        self.set(caller, Call::TakingOver { owner, seen: lapsed, ask });
    }

    /// `Arrival::attempt`, and what `Action::go_on` makes of it.
    fn hold(
        &mut self,
        caller: usize,
        (owner, number): (Id, u8),
        ask: Ask,
        seen: Option<Rec>,
        remembered: Tick,
    ) {
        let now = self.world.now;
        let first = match self.setting.mutant {
            Some(Mutant::DeadlineFromReply) => now,
            Some(Mutant::DeadlineFromRepeat) => ask.sent.unwrap_or(now),
            _ => ask.first,
        };
        let takeover = seen.is_some();
        let asks = takeover && self.policy(caller).on_crash == OnCrash::Reconcile;
        let tenure = self.taken(first);
        let renewal_due = self.first_renewal(&tenure);
        self.set(
            caller,
            Call::Holding(Attempt {
                owner,
                number,
                tenure,
                stage: if asks { Stage::Asking } else { Stage::Starting },
                remembered,
                takeover,
                must_lapse: takeover,
                renewal_due,
                renewing: None,
                again: None,
                ask: None,
                lost: false,
                forfeited: false,
                told: false,
                started: now,
                misses: 0,
                disturbed: false,
                superseded: false,
                overlapped: false,
                done: false,
            }),
        );
    }

    /// The question's time is up without an answer.
    pub(crate) fn give_up_begin(&mut self, caller: usize) {
        match self.world.callers[caller].call {
            Call::Taking { owner, .. } => {
                self.reach(Situation::NoAnswer);
                self.forget(caller, owner);
            }
            // A takeover whose reply is lost is left to lapse.
            Call::Looking { .. } | Call::TakingOver { .. } => {
                self.over(caller, Situation::NoAnswer);
            }
            _ => self.set(caller, Call::Over),
        }
    }

    /// `begin::GivenUp`: a begin that may have taken effect leaves a release with the keeper.
    pub(crate) fn forget(&mut self, caller: usize, owner: Id) {
        let ask = Ask::new(Purpose::Release, self.world.now);
        self.set(caller, Call::Forgetting { owner, ask });
    }

    /// The call has its answer, and nothing is left to be done.
    pub(crate) fn over(&mut self, caller: usize, answer: Situation) {
        self.reach(answer);
        self.set(caller, Call::Over);
    }

    /// Whether the action's caller wants it dropped when its lease is at risk.
    pub(crate) fn cancels(&self, caller: usize) -> bool {
        self.policy(caller).on_lost == OnLost::Cancel
    }
}

/// The reservation of a takeover: the retention goes along, so that the crash stays remembered.
fn takeover(owner: Id, fingerprint: u8, seen: Rec) -> Rec {
    let attempt = seen.attempt + 1;
    Rec { retention: seen.retention, attempt, ..Rec::reservation(owner, fingerprint) }
}
