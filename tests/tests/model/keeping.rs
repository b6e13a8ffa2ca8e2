//! The keeper's side of an attempt, step for step as the runtime makes it: `attempt/renewal.rs`,
//! `keeper/renew.rs`.

use idem_runtime::protocol::Moment;

use crate::message::{Ask, Command, Fate, Purpose, Reply};
use crate::mutants::Mutant;
use crate::properties::Situation;
use crate::record::Rec;
use crate::state::{Attempt, Call, Stage};
use crate::time::{duration, moment, sent};
use crate::turn::Turn;

impl Attempt {
    /// Whether the keeper renews it.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.stage, Stage::Asking | Stage::Running | Stage::Settling)
    }

    /// Whether a renewal is to be sent (`Attempt::take_renewal`).
    pub(crate) fn renewal_is_due(&self, now: Moment) -> bool {
        self.is_kept()
            && !self.lost
            && self.renewing.is_none()
            && self.again.is_none()
            && self.renewal_due <= now
    }

    /// Whether the renewal under way has had its time.
    pub(crate) fn renewal_is_unanswered(&self, now: Moment) -> bool {
        self.renewing.is_some_and(|sent| now >= moment(sent).after(self.tenure.attempt_bound()))
    }

    /// Whether the begin after *gone* that is under way is to be sent, again or for the first time.
    pub(crate) fn again_is_due(&self, now: Moment) -> bool {
        let bound = self.tenure.attempt_bound();
        self.again.is_some_and(|ask| ask.sent.is_none_or(|sent| now >= moment(sent).after(bound)))
    }

    /// Whether the keeper goes on with it: only as long as the action runs.
    pub(crate) fn again_goes_on(&self, now: Moment) -> bool {
        self.stage == Stage::Running && self.tenure.clone().window_is_open(now)
    }
}

impl Turn<'_> {
    /// `Attempt::take_renewal`.
    pub(crate) fn send_renewal(&mut self, caller: usize, fate: Fate) {
        let (tick, now) = (self.world.now, self.now());
        let third = self.setting.is(Mutant::RenewsAtAThird).then_some(self.setting.lease);
        let attempt = self.attempt(caller);
        let due = attempt.renewal_due;
        attempt.renewing = Some(tick);
        attempt.renewal_due = match third {
            Some(lease) => due.after(duration(lease) / 3).max(now.after(duration(lease) / 6)),
            None => attempt.tenure.next_renewal(due, now),
        };
        let (owner, retention) = (attempt.owner, attempt.remembered);
        let ask = Ask::new(Purpose::Renew, tick).sending(tick);
        self.send((caller, owner), ask, Command::Renew { owner, retention }, fate);
    }

    /// `Attempt::renewal_answered`.
    pub(crate) fn hear_of_renewal(&mut self, caller: usize, reply: Reply) {
        let now = self.now();
        let from_reply = self.setting.is(Mutant::DeadlineFromReply);
        let tick = self.world.now;
        let attempt = self.attempt(caller);
        let Some(first) = attempt.renewing.take() else { return };
        match reply {
            Reply::Renewed => {
                attempt.tenure.renewed(if from_reply { now } else { sent(first) }, now);
                attempt.misses = 0;
                self.confirmed(caller);
            }
            Reply::Gone => {
                let may_begin = attempt.tenure.gone(now);
                attempt.disturbed = true;
                attempt.forfeited |= attempt.stage == Stage::Asking;
                if attempt.stage == Stage::Running && may_begin {
                    attempt.again = Some(Ask::new(Purpose::Again, tick));
                }
                self.reach(Situation::Gone);
            }
            Reply::Taken | Reply::Completed => {
                // A completion finds out by itself.
                let lost = attempt.stage != Stage::Settling;
                attempt.lost |= lost;
                if lost {
                    self.reach(Situation::Lost);
                }
            }
            reply => panic!("a renewal hears {reply:?}"),
        }
    }

    pub(crate) fn renewal_unanswered(&mut self, caller: usize) {
        let attempt = self.attempt(caller);
        attempt.renewing = None;
        attempt.misses += 1;
    }

    /// `keeper::renew::reserve_again`.
    pub(crate) fn send_again(&mut self, caller: usize, fate: Fate) {
        let now = self.world.now;
        let reservation = self.reservation(caller);
        let attempt = self.attempt(caller);
        let Some(ask) = attempt.again.map(|ask| ask.sending(now)) else { return };
        attempt.again = Some(ask);
        let owner = attempt.owner;
        self.send((caller, owner), ask, Command::Begin(reservation), fate);
    }

    /// `Attempt::reservation`: with the retention the record is known to have had.
    pub(crate) fn reservation(&mut self, caller: usize) -> Rec {
        let fingerprint = self.policy(caller).fingerprint;
        let attempt = self.attempt(caller);
        Rec {
            retention: attempt.remembered,
            attempt: attempt.number,
            ..Rec::reservation(attempt.owner, fingerprint)
        }
    }

    /// `Attempt::reserved_again`.
    pub(crate) fn hear_of_again(&mut self, caller: usize, reply: Reply) {
        let now = self.now();
        let moves = self.setting.is(Mutant::AgainMovesDeadline);
        let attempt = self.attempt(caller);
        let Some(ask) = attempt.again.take() else { return };
        match reply {
            Reply::Acquired => {
                attempt.renewal_due = now;
                if let (true, Some(last)) = (moves, ask.sent) {
                    attempt.tenure.renewed(sent(last), now);
                }
                self.confirmed(caller);
                self.reach(Situation::ReservedAgain);
            }
            Reply::Found(stands) => {
                let mine = stands.completed && stands.owner == attempt.owner;
                attempt.lost |= !mine;
            }
            reply => panic!("a begin hears {reply:?}"),
        }
    }

    /// `Attempt::not_reserved_again`.
    pub(crate) fn give_up_again(&mut self, caller: usize) {
        self.attempt(caller).again = None;
    }

    /// `Attempt::look`: the keeper takes note of the time.
    pub(crate) fn observe_time(&mut self, caller: usize) {
        let now = self.now();
        if let Call::Holding(attempt) = &mut self.world.callers[caller].call
            && attempt.is_kept()
        {
            attempt.tenure.observe(now);
        }
    }
}
