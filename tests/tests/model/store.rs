//! The store: the runtime's own transitions on what stands, a clock, and the rules about what a
//! step may change.

use std::time::Duration;

use idem_runtime::protocol::transition::{
    self, BeginReply, Change, CompleteReply, DiscardReply, Entry, ReleaseReply, RenewReply,
    ReplaceReply, reservation_life,
};
use idem_runtime::record::Standing;
use idem_tests::properties::Property;

use crate::message::{Command, Reply};
use crate::record::{Id, Kept, Rec, entry};
use crate::state::{Attempt, Call};
use crate::time::{Tick, duration, ticks};
use crate::turn::Turn;

impl Turn<'_> {
    /// Carries out a command that the attempt of `by` has sent.
    pub(crate) fn carry_out(&mut self, by: Id, command: &Command) -> Reply {
        let now = self.world.now;
        let before = self.world.store;
        let stands = before.map(|kept| kept.record);
        let seen = match self.setting.mutant {
            Some(mutant) => mutant.as_seen_by(command, stands),
            None => stands,
        };
        let standing = seen.map(|record| Standing::Record(record.real()));
        let left = before.map_or(0, |kept| kept.left(now));
        let entry = entry(standing.as_ref(), left);
        let (reply, change) = self
            .setting
            .mutant
            .and_then(|mutant| mutant.in_the_store(self.setting, command, stands))
            .unwrap_or_else(|| transition(entry, command, self.setting.lease, self.setting.ttl));
        self.may_change(by, before, (command, reply), &change);
        if change != Change::Keep {
            self.settles(by, before, command);
            self.forgets(by, before, command);
            self.apply(change);
        }
        reply
    }

    /// What a step may change, whoever sent it.
    fn may_change(
        &mut self,
        by: Id,
        before: Option<Kept>,
        (command, reply): (&Command, Reply),
        change: &Change,
    ) {
        let now = self.world.now;
        if let (Reply::Acquired, Some(kept)) = (reply, before)
            && !kept.record.is_reservation_of(by)
        {
            self.broke(Property::AcquiredIsReserved);
        }
        let takes = match command {
            Command::Begin(record) => Some(record.owner),
            Command::Replace { by, .. } => Some(by.owner),
            _ => None,
        };
        if reply.is_refusal()
            && takes.is_some_and(|me| before.is_some_and(|kept| kept.record.is_reservation_of(me)))
        {
            self.broke(Property::RepeatKnowsItself);
        }
        if *change == Change::Keep {
            return;
        }
        if reply.is_refusal() {
            self.broke(Property::RefusalChangesNothing);
        }
        if let Change::Put { record, .. } = change {
            let put = Rec::of(record);
            if put.completed && self.world.history.expired.has(put.owner) {
                self.broke(Property::ExpiredStaysExpired);
            }
            if !put.completed && self.world.history.ended.has(put.owner) {
                self.broke(Property::EndedHoldsNothing);
            }
        }
        let Some(kept) = before else { return };
        if kept.record.completed {
            self.broke(Property::OutcomeIsFinal);
        } else if kept.record.owner != by && !takes_over(command, kept, now) {
            self.broke(Property::StaleChangesNothing);
        }
    }

    fn apply(&mut self, change: Change) {
        let now = self.world.now;
        let until = |life: Duration| now + ticks(life);
        match change {
            Change::Keep => {}
            Change::Put { record, life } => {
                let record = Rec::of(&record);
                self.world.store = Some(Kept { record, ends: until(life) });
                if record.completed {
                    self.outcome_stored(record.owner);
                }
            }
            Change::Extend { retention_ms, life } => {
                if let Some(kept) = &mut self.world.store {
                    kept.record.retention = ticks(Duration::from_millis(retention_ms));
                    kept.ends = until(life);
                }
            }
            // Fences are not part of this model.
            Change::Fence(_) => {}
            Change::Remove => self.world.store = None,
        }
        // Promise 5: nothing that an owner sends makes its reservation outlive it by more than a
        // lease and what it is remembered for.
        if let Some(kept) = self.world.store.filter(|kept| !kept.record.completed) {
            let lease = duration(self.setting.lease);
            let life = reservation_life(lease, duration(kept.record.retention));
            if duration(kept.left(now)) > life {
                self.broke(Property::LivesForALease);
            }
        }
    }

    /// An owner that comes back settles what its own lapse left open, unless it only took over and
    /// has not asked, or frees what its body has done; so does an operator.
    fn settles(&mut self, by: Id, before: Option<Kept>, command: &Command) {
        let now = self.world.now;
        let frees = matches!(command, Command::Release(_));
        let leaves_open = |attempt: &Attempt| {
            attempt.owner == by && (attempt.must_lapse || frees && attempt.done)
        };
        let mut attempts = self.world.callers.iter().filter_map(|caller| caller.call.attempt());
        let comes_back = before.is_some_and(|kept| kept.record.owner == by && kept.has_lapsed(now));
        if by == Id::OPERATOR || comes_back && !attempts.any(leaves_open) {
            self.world.history.unsettled = false;
        }
    }

    /// An owner that frees what its body has done leaves an effect that nobody has on record.
    fn forgets(&mut self, by: Id, before: Option<Kept>, command: &Command) {
        let remembered =
            before.is_some_and(|kept| kept.record.owner == by && kept.record.retention > 0);
        let done = |attempt: &Attempt| attempt.owner == by && attempt.done;
        let mut attempts = self.world.callers.iter().filter_map(|caller| caller.call.attempt());
        if matches!(command, Command::Release(_)) && remembered && attempts.any(done) {
            self.world.history.unsettled = true;
        }
    }

    fn outcome_stored(&mut self, owner: Id) {
        self.world.history.stored.add(owner);
        for caller in &mut self.world.callers {
            if let Call::Holding(attempt) = &mut caller.call
                && attempt.owner != owner
            {
                attempt.superseded = true;
            }
        }
    }

    /// A tick of the store's clock.
    pub(crate) fn store_ages(&mut self) {
        let now = self.world.now;
        let Some(kept) = self.world.store else { return };
        if kept.ends > now {
            // From its lapse on it says that somebody crashed.
            self.world.history.unsettled |= kept.has_lapsed(now);
            return;
        }
        self.world.store = None;
        if kept.record.completed {
            self.world.history.expired.add(kept.record.owner);
            // The other one came by the key less than a lease after this one's last renewal, since
            // the store had lost that: it is told as long as the outcome stands, and no longer.
            for caller in self.world.callers.iter_mut().filter(|caller| caller.robbed) {
                if let Call::Holding(attempt) = &mut caller.call {
                    attempt.superseded = false;
                }
            }
        } else {
            // Nothing is remembered for longer than its retention.
            self.world.history.unsettled = false;
        }
    }

    /// The store forgets what stands, before its time.
    pub(crate) fn store_forgets(&mut self) {
        let Some(kept) = self.world.store.take() else { return };
        self.world.history.unsettled = false;
        for caller in &mut self.world.callers {
            caller.robbed |= caller.call.owner() == Some(kept.record.owner);
            // An outcome that is lost binds nobody.
            if let (true, Call::Holding(attempt)) = (kept.record.completed, &mut caller.call) {
                attempt.superseded = false;
            }
        }
    }
}

/// Whether a command may replace another owner's reservation: a takeover or a decision where it has
/// lapsed, or an operator's cancel.
fn takes_over(command: &Command, kept: Kept, now: Tick) -> bool {
    match command {
        Command::Replace { if_lapsed: Some(_), .. } | Command::DiscardLapsed { .. } => {
            kept.has_lapsed(now)
        }
        Command::Replace { if_lapsed: None, .. } => true,
        _ => false,
    }
}

/// The real transition that a command is for; an outcome is stored for `ttl`.
pub(crate) fn transition(
    entry: Option<Entry<'_>>,
    command: &Command,
    lease: Tick,
    ttl: Tick,
) -> (Reply, Change) {
    let lease = duration(lease);
    match *command {
        Command::Begin(record) => {
            let (reply, change) = transition::begin(entry, &record.real(), lease);
            let reply = match reply {
                BeginReply::Acquired => Reply::Acquired,
                BeginReply::Found(standing) => Reply::Found(Rec::of_standing(&standing)),
            };
            (reply, change)
        }
        Command::Peek => {
            let seen = entry.map(|e| (Rec::of_standing(e.standing), ticks(e.left)));
            (Reply::Seen(seen), Change::Keep)
        }
        Command::Renew { owner, retention } => {
            let retention = duration(retention);
            let (reply, change) = transition::renew(entry, owner.owner(), lease, retention);
            let reply = match reply {
                RenewReply::Renewed => Reply::Renewed,
                RenewReply::Gone => Reply::Gone,
                RenewReply::Taken => Reply::Taken,
                RenewReply::Completed => Reply::Completed,
            };
            (reply, change)
        }
        Command::Complete(record) => complete(entry, record, ttl),
        Command::Release(owner) => {
            let (reply, change) = transition::release(entry, owner.owner());
            let reply = match reply {
                ReleaseReply::Released => Reply::Released,
                ReleaseReply::NotMine => Reply::NotMine,
            };
            (reply, change)
        }
        Command::Replace { seen, by, life, if_lapsed } => {
            let if_lapsed = if_lapsed.map(duration);
            let (reply, change) =
                transition::replace(entry, seen.head(), &by.real(), duration(life), if_lapsed);
            let reply = match reply {
                ReplaceReply::Replaced => Reply::Replaced,
                ReplaceReply::Stands(_) => Reply::Stands,
            };
            (reply, change)
        }
        Command::Discard(owner) => {
            let (reply, change) = transition::discard(entry, owner.owner());
            let reply = match reply {
                DiscardReply::Discarded => Reply::Discarded,
                DiscardReply::NotThere => Reply::NotMine,
            };
            (reply, change)
        }
        // Only its mutant sends it, and carries it out.
        Command::DiscardLapsed { .. } => (Reply::NotMine, Change::Keep),
    }
}

fn complete(entry: Option<Entry<'_>>, record: Rec, ttl: Tick) -> (Reply, Change) {
    let (reply, change) = transition::complete(entry, &record.real(), duration(ttl));
    let reply = match reply {
        CompleteReply::Stored => Reply::Stored,
        CompleteReply::AlreadyStored => Reply::AlreadyStored,
        CompleteReply::Gone => Reply::Gone,
        CompleteReply::Refused(standing) => Reply::Refused(Rec::of_standing(&standing)),
    };
    (reply, change)
}
