//! The end of an attempt, step for step as the runtime makes it: `settle.rs`, `call/settle.rs`,
//! `keeper/jobs.rs`.

use idem_runtime::OnLost;
use idem_runtime::protocol::Moment;
use idem_tests::properties::Property;

use crate::message::{Ask, Command, Fate, Purpose, Reply};
use crate::mutants::Mutant;
use crate::properties::Situation;
use crate::state::{Attempt, Call, Stage};
use crate::time::{duration, moment, sent};
use crate::turn::Turn;

impl Turn<'_> {
    /// `Attempt::start_settling`.
    pub(crate) fn settle(&mut self, caller: usize) {
        let (now, tick) = (self.now(), self.world.now);
        let attempt = self.attempt(caller);
        attempt.tenure.observe(now);
        attempt.stage = Stage::Settling;
        attempt.done = true;
        attempt.ask = Some(Ask::new(Purpose::Complete, tick));
    }

    /// Whether an outcome is settled without asking: lost, or its window has ended.
    pub(crate) fn settles_unasked(&self, attempt: &Attempt) -> bool {
        let asked = attempt.ask.is_some_and(|ask| ask.sent.is_some());
        attempt.lost && !asked
            || !attempt.tenure.clone().window_is_open(self.now()) && !self.ignores_window()
    }

    fn ignores_window(&self) -> bool {
        self.setting.is(Mutant::WritesAfterWindow)
    }

    /// The end of an attempt waits for the begin after *gone* that is under way.
    pub(crate) fn waits_for_again(&self, attempt: &Attempt) -> bool {
        attempt.again.is_some() && !self.setting.is(Mutant::AgainNotWaitedFor)
    }

    pub(crate) fn settle_unasked(&mut self, caller: usize) {
        if self.attempt(caller).lost {
            self.refused(caller);
        } else {
            self.too_late(caller);
        }
    }

    /// `settle::store_outcome`, or its `reserve_for_outcome`.
    pub(crate) fn send_outcome(&mut self, caller: usize, fate: Fate) {
        let tick = self.world.now;
        let reservation = self.reservation(caller);
        let attempt = self.attempt(caller);
        let Some(ask) = attempt.ask.map(|ask| ask.sending(tick)) else { return };
        attempt.ask = Some(ask);
        let command = if ask.purpose == Purpose::Complete {
            attempt.tenure.completing(sent(tick));
            Command::Complete(reservation.outcome())
        } else {
            Command::Begin(reservation)
        };
        let owner = attempt.owner;
        self.send((caller, owner), ask, command, fate);
    }

    /// When the time for the question of an attempt is up.
    pub(crate) fn until_of_attempt(&self, attempt: &Attempt) -> Moment {
        let Self { setting, .. } = self;
        let Some(ask) = attempt.ask else { return Moment::NEVER };
        let since = moment(ask.since);
        match attempt.stage {
            // Longer than what it frees can go on standing (`longest_life`).
            Stage::Releasing => since.after(duration(setting.lease + attempt.remembered)),
            Stage::Settling if !self.ignores_window() => {
                since.after(duration(setting.store_timeout)).min(attempt.tenure.window_end())
            }
            _ => since.after(duration(setting.store_timeout)),
        }
    }

    pub(crate) fn hear_of_outcome(&mut self, caller: usize, reply: Reply) {
        let (now, tick, ignores) = (self.now(), self.world.now, self.ignores_window());
        let attempt = self.attempt(caller);
        let Some(ask) = attempt.ask else { return };
        let next = |purpose| Some(Ask { since: ask.since, ..Ask::new(purpose, tick) });
        match reply {
            Reply::Gone => {
                attempt.disturbed = true;
                let open = attempt.tenure.gone(now) || ignores;
                self.reach(Situation::Gone);
                if open {
                    self.attempt(caller).ask = next(Purpose::AgainForOutcome);
                } else {
                    self.too_late(caller);
                }
            }
            Reply::Acquired => {
                attempt.ask = next(Purpose::Complete);
                self.confirmed(caller);
            }
            Reply::Found(stands) if stands.completed && stands.owner == attempt.owner => {
                self.stored(caller);
            }
            Reply::Stored | Reply::AlreadyStored => self.stored(caller),
            Reply::Found(_) | Reply::Refused(_) => self.refused(caller),
            reply => panic!("a completion hears {reply:?}"),
        }
    }

    /// The store has not answered in its time: the caller has its value, the keeper goes on.
    pub(crate) fn give_up_outcome(&mut self, caller: usize) {
        let (now, tick, ignores) = (self.now(), self.world.now, self.ignores_window());
        let attempt = self.attempt(caller);
        if !attempt.told {
            attempt.told = true;
            self.reach(Situation::Deferred);
        }
        let attempt = self.attempt(caller);
        if attempt.tenure.window_is_open(now) || ignores {
            attempt.ask = Some(Ask::new(Purpose::Complete, tick).after_a_pause(tick));
        } else {
            self.too_late(caller);
        }
    }

    /// `Settled::Stored`, unless the window has ended meanwhile.
    fn stored(&mut self, caller: usize) {
        let (now, ignores) = (self.now(), self.ignores_window());
        if !self.attempt(caller).tenure.window_is_open(now) && !ignores {
            return self.too_late(caller);
        }
        let stored = self.world.history.stored;
        let attempt = self.attempt(caller);
        let (owner, told) = (attempt.owner, attempt.told);
        let (superseded, overlapped) = (attempt.superseded, attempt.overlapped);
        let lapsed = attempt.tenure.has_lapsed();
        if !stored.has(owner) {
            self.broke(Property::StoredIsStored);
        }
        if superseded {
            self.broke(Property::ReplacedIsTold);
        }
        // Whose caller has gone is told by nobody.
        if overlapped && !lapsed && !told {
            self.broke(Property::LapsedIsTold);
        }
        self.reach(if lapsed { Situation::StoredLapsed } else { Situation::Stored });
        self.ended(caller);
    }

    /// `Settled::Refused`: another owner's record stands.
    fn refused(&mut self, caller: usize) {
        let ignores = self.policy(caller).on_lost == OnLost::Ignore;
        self.over(caller, if ignores { Situation::Ignored } else { Situation::LeaseLost });
    }

    /// `Settled::TooLate`: nothing but a release is sent any more, and where a crash is remembered not
    /// even that.
    fn too_late(&mut self, caller: usize) {
        self.reach(Situation::TooLate);
        let wanted = self.policy(caller).remembered();
        let forgets = self.setting.is(Mutant::ReleaseForgets);
        if forgets || self.attempt(caller).remembered.max(wanted) == 0 {
            self.release(caller);
        } else {
            self.set(caller, Call::Over);
        }
    }

    /// `settle::free`, by the call or by the keeper.
    pub(crate) fn release(&mut self, caller: usize) {
        let tick = self.world.now;
        let attempt = self.attempt(caller);
        attempt.stage = Stage::Releasing;
        attempt.told = true;
        attempt.renewing = None;
        attempt.ask = Some(Ask::new(Purpose::Release, tick));
    }

    pub(crate) fn send_release(&mut self, caller: usize, fate: Fate) {
        let tick = self.world.now;
        let attempt = self.attempt(caller);
        let Some(ask) = attempt.ask.map(|ask| ask.sending(tick)) else { return };
        attempt.ask = Some(ask);
        let owner = attempt.owner;
        self.send((caller, owner), ask, Command::Release(owner), fate);
    }

    pub(crate) fn hear_of_release(&mut self, caller: usize) {
        if self.world.callers[caller].call.attempt().is_some() {
            self.ended(caller);
        } else {
            self.set(caller, Call::Over);
        }
    }

    /// The attempt is over, by an answer: unless something of it that it gave up on is still under
    /// way, nothing of it stands from now on.
    fn ended(&mut self, caller: usize) {
        let attempt = self.attempt(caller);
        let owner = attempt.owner;
        let strays = self.world.network.iter().any(|message| {
            message.ask.owner == owner
                && message.command().is_some()
                && !self.world.expects(message.ask)
        });
        if !strays {
            self.world.history.ended.add(owner);
        }
        self.set(caller, Call::Over);
    }
}
