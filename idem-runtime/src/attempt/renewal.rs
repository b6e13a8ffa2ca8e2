//! The keeper's side of an attempt: what is due, and what a renewal's answer means.

use std::time::Duration;

use super::{Attempt, Progress, Stage, Stop};
use crate::backend::{BackendError, Renewal};
use crate::event::{EventKind, Phase};
use crate::policy::{OnGone, OnLost};
use crate::protocol::Moment;
use crate::protocol::transition::{BeginReply, RenewReply};
use crate::record::{Head, Standing, State};
use crate::sync::atomic::Ordering;
use crate::sync::lock;

/// A renewal may leave this part of an interval before it is due, to go with others.
const SLACK: u32 = 16;
/// A renewal that leaves more than this part of an interval late is reported.
const LATE: u32 = 10;

/// A renewal to send now.
pub(crate) struct DueRenewal {
    pub(crate) renewal: Renewal,
    pub(crate) sent: Moment,
    /// How much later than planned it leaves.
    pub(crate) late: Duration,
    /// How long the attempt at it may take.
    pub(crate) bound: Duration,
}

/// What an attempt needs of the keeper now.
pub(crate) struct Needs {
    pub(crate) renewal: Option<DueRenewal>,
    /// Its action has run past its deadline.
    pub(crate) too_long: bool,
    /// When the keeper is to look again.
    pub(crate) next: Moment,
}

/// What the keeper does after a renewal's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterReply {
    Nothing,
    /// The store has no record of the lease: begin again with the same owner.
    ReserveAgain,
}

impl Attempt {
    /// From when, and by when, the keeper is to look at this attempt.
    pub(super) fn next_look(&self, progress: &Progress) -> (Moment, Moment) {
        if matches!(progress.stage, Stage::Starting | Stage::Over) {
            return (Moment::NEVER, Moment::NEVER);
        }
        let (early, late) = if self.renews_nothing(progress) {
            (Moment::NEVER, Moment::NEVER)
        } else {
            (earliest(progress), progress.renewal_due)
        };
        let at_risk = if progress.told_at_risk || progress.lost {
            Moment::NEVER
        } else {
            progress.tenure.deadline().after(Duration::from_nanos(1))
        };
        let other = at_risk.min(progress.action_deadline);
        (early.min(other), late.min(other))
    }

    /// Takes note of the time, and says what this attempt needs now.
    pub(crate) fn look(&self, now: Moment) -> Needs {
        let mut progress = lock(&self.progress);
        if matches!(progress.stage, Stage::Starting | Stage::Over) {
            return Needs { renewal: None, too_long: false, next: Moment::NEVER };
        }
        let mut stopped = false;
        let at_risk = !progress.told_at_risk && !progress.lost && progress.tenure.at_risk(now);
        if at_risk {
            progress.told_at_risk = true;
            progress.tenure.observe(now);
            if self.terms.on_lost == OnLost::Cancel {
                stopped = self.set_stop(&mut progress, Stop::LeaseLost);
            }
        }
        let too_long = now >= progress.action_deadline;
        if too_long {
            progress.action_deadline = Moment::NEVER;
            self.set_stop(&mut progress, Stop::Deadline);
        }
        let renewal = if too_long { None } else { self.take_renewal(&mut progress, now) };
        let (early, next) = self.next_look(&progress);
        self.due.set(early, next);
        drop(progress);
        if at_risk || too_long {
            self.cancel_token();
        }
        // Past its deadline the key is settled first.
        if stopped && !too_long {
            self.wake();
        }
        if at_risk {
            self.tell(EventKind::LeaseAtRisk);
        }
        Needs { renewal, too_long, next }
    }

    /// The deadline of an action whose key is another's: its flight is not this attempt's any more,
    /// so the keeper has to watch it apart.
    pub(crate) fn deadline_of_its_own(&self) -> Option<Moment> {
        let progress = lock(&self.progress);
        let deadline = progress.lost.then_some(progress.action_deadline);
        deadline.filter(|deadline| *deadline != Moment::NEVER)
    }

    /// Whether no renewal is to be sent, however late it is: the last one has to be answered first, or
    /// a begin after *gone*; or the key is another's.
    fn renews_nothing(&self, progress: &Progress) -> bool {
        progress.renewing || progress.lost || self.has_begin_under_way()
    }

    fn take_renewal(&self, progress: &mut Progress, now: Moment) -> Option<DueRenewal> {
        if self.renews_nothing(progress) || earliest(progress) > now {
            return None;
        }
        let due = progress.renewal_due;
        progress.renewing = true;
        progress.renewal_due = progress.tenure.next_renewal(due, now);
        Some(DueRenewal {
            renewal: Renewal {
                key: self.key().clone(),
                owner: self.owner,
                lease: self.terms.lease,
                retention: progress.remembered,
            },
            sent: now,
            late: now.since(due),
            bound: progress.tenure.attempt_bound(),
        })
    }

    /// Takes note of the answer to a renewal sent at `sent`.
    pub(crate) fn renewal_answered(
        &self,
        reply: &Result<RenewReply, BackendError>,
        (sent, late): (Moment, Duration),
        now: Moment,
    ) -> AfterReply {
        let mut progress = lock(&self.progress);
        progress.renewing = false;
        let mut after = AfterReply::Nothing;
        match reply {
            Ok(RenewReply::Renewed) => {
                progress.tenure.renewed(sent, now);
                progress.told_at_risk &= progress.tenure.at_risk(now);
            }
            Ok(RenewReply::Gone) => {
                let may_begin = progress.tenure.gone(now);
                progress.forfeited |= matches!(progress.stage, Stage::Starting | Stage::Asking);
                // Only as long as the action runs: an end that has begun sees to it by itself.
                if progress.runs_on() && may_begin && self.terms.on_gone != OnGone::Stop {
                    self.reserving_again.store(true, Ordering::SeqCst);
                    after = AfterReply::ReserveAgain;
                }
            }
            // Its worker has seen to the receipt already.
            Ok(RenewReply::Completed) if self.terms.on_gone == OnGone::ReadRun => {
                progress.renewal_due = Moment::NEVER;
                progress.told_at_risk = true;
            }
            Ok(RenewReply::Taken | RenewReply::Completed) | Err(_) => {}
        }
        let (stage, interval) = (progress.stage, progress.tenure.interval());
        self.attend(&progress);
        drop(progress);
        if stage != Stage::Over {
            self.tell_answer(reply, stage, (late, late > interval / LATE));
        }
        after
    }

    fn tell_answer(
        &self,
        reply: &Result<RenewReply, BackendError>,
        stage: Stage,
        (late, report): (Duration, bool),
    ) {
        match reply {
            Ok(RenewReply::Renewed) => {
                self.tell(EventKind::Renewed { late });
                if report {
                    self.tell(EventKind::RenewedLate { late });
                }
            }
            Ok(RenewReply::Gone) => {
                self.tell(EventKind::LeaseGone);
                if self.terms.on_gone == OnGone::Stop && stage == Stage::Running {
                    self.lost(Phase::Running);
                }
            }
            Ok(RenewReply::Completed) if self.terms.on_gone == OnGone::ReadRun => {}
            // The completion finds out by itself: it may be its own outcome that stands.
            Ok(_) if stage == Stage::Settling => {}
            Ok(_) if stage == Stage::Running => self.lost(Phase::Running),
            Ok(_) => self.lost(Phase::Starting),
            Err(error) => self.tell(EventKind::RenewalFailed { error }),
        }
    }

    /// Takes note of the answer to a begin after *gone*. It does not move the deadline; the renewal
    /// that follows at once does.
    pub(crate) fn reserved_again(&self, reply: &BeginReply, now: Moment) {
        let mut progress = lock(&self.progress);
        self.reserving_again.store(false, Ordering::SeqCst);
        let lost = match reply {
            BeginReply::Acquired => {
                progress.renewal_due = now;
                false
            }
            BeginReply::Found(standing) => !self.is_my_outcome(standing),
        };
        self.attend(&progress);
        drop(progress);
        if lost {
            self.lost(Phase::Running);
        }
        self.reserved_again.notify_waiters();
    }

    /// Gives up a begin after *gone* that was not answered while it could matter.
    pub(crate) fn not_reserved_again(&self) {
        let progress = lock(&self.progress);
        self.reserving_again.store(false, Ordering::SeqCst);
        self.attend(&progress);
        drop(progress);
        self.reserved_again.notify_waiters();
    }

    /// Whether a completed record is this attempt's own.
    pub(crate) fn is_my_outcome(&self, standing: &Standing) -> bool {
        standing.matches(Head { state: State::Completed, owner: self.owner })
    }
}

fn earliest(progress: &Progress) -> Moment {
    progress.renewal_due.before(progress.tenure.interval() / SLACK)
}
