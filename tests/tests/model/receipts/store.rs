//! The store: the runtime's own transitions on a receipt or a run's record, a clock, and the rules
//! about what a step may change.

use std::time::Duration;

use idem_runtime::protocol::transition::{Change, ReplaceReply, replace};
use idem_runtime::record::Standing;

use super::properties::Rule;
use super::run::{MADE, ReceiptPast, Run, RunState};
use super::state::{Asked, Doing, Place};
use super::turn::Turn;
use crate::message::{Command, Reply};
use crate::record::{Id, Kept, Rec, entry};
use crate::store::transition;
use crate::time::{duration, ticks};

impl Turn<'_> {
    pub(crate) fn carry_out(&mut self, asked: &Asked) -> Reply {
        let Asked { place, command, life, .. } = *asked;
        if let (Place::Run(run), Command::Complete(made)) = (place, command)
            && made.owner == MADE
        {
            self.make(run, asked);
        }
        let now = self.world.now;
        let before = self.world.kept(place);
        let stands = before.map(|kept| kept.record);
        let seen = self.setting.mutant.map_or(stands, |mutant| mutant.as_seen_by(&command, stands));
        let standing = seen.map(|record| Standing::Record(record.real()));
        let entry = entry(standing.as_ref(), before.map_or(0, |kept| kept.left(now)));
        let lease = self.setting.lease;
        let (reply, change) = self
            .setting
            .mutant
            .and_then(|mutant| mutant.in_the_store(&command, stands))
            .unwrap_or_else(|| transition(entry, &command, lease, life));
        if change == Change::Keep {
            return reply;
        }
        if reply.is_refusal() {
            self.broke(Rule::RefusalChangesNothing);
        }
        match place {
            Place::Receipt => self.may_change_receipt(&command, before, &change),
            Place::Run(id) => self.may_change_run(id, asked.actor, before, &change),
        }
        self.apply(place, change);
        reply
    }

    /// `RunStore::create`: the record of a new run is begun before it is completed. Nobody else knows the
    /// run yet, so that both are one step here.
    fn make(&mut self, id: Id, asked: &Asked) {
        if self.world.runs.iter().any(|run| run.id == id) {
            return;
        }
        let hold = self.setting.callers[usize::from(id.0 >> 3)].hold;
        self.world.runs.push(Run::new(id, hold));
        let command = Command::Begin(Rec::reservation(MADE, 0));
        self.carry_out(&Asked { command, ..*asked });
    }

    fn may_change_receipt(&mut self, command: &Command, before: Option<Kept>, change: &Change) {
        let stands = before.map(|kept| kept.record);
        match change {
            Change::Put { record, .. } => {
                let put = Rec::of(record);
                let another = |run: &Run| run.id != put.owner && run.can_succeed();
                if !put.completed && self.world.runs.iter().any(another) {
                    self.broke(Rule::NewRunOnlyOnceOver);
                }
            }
            Change::Remove => {
                let Some(receipt) = stands else { return };
                if !receipt.completed {
                    if *command != Command::Release(receipt.owner) {
                        self.broke(Rule::OneNewRun);
                    }
                    return;
                }
                let over = |run: &Run| run.id != receipt.owner || run.is_lost();
                if !self.world.runs.iter().all(over) {
                    self.broke(Rule::RemovedOnlyOnceOver);
                }
            }
            _ => {}
        }
    }

    fn may_change_run(&mut self, id: Id, by: usize, before: Option<Kept>, change: &Change) {
        let now = self.world.now;
        let dispatcher = by < self.setting.callers.len();
        let Change::Put { record, .. } = change else { return };
        let put = Rec::of(record);
        let state = RunState::of(put);
        let run = self.world.run(id);
        let (past, hold) = (run.past, run.hold);
        if past.ended.is_some() {
            self.broke(Rule::OneEnd);
        }
        if state.is_end() {
            self.world.run(id).past.ended = Some(state);
        }
        match (state, before) {
            (RunState::Failed, Some(kept)) if dispatcher && !kept.record.completed => {
                let lapsed = kept.has_lapsed(now);
                if !lapsed || kept.record.retention - kept.left(now) < hold {
                    self.broke(Rule::HoldCounts);
                }
            }
            (RunState::Skipped, _) if past.started & 1 << put.attempt != 0 => {
                self.broke(Rule::SkippedNeverRan);
            }
            (RunState::Cancelled, _) => self.excuse(id),
            (RunState::Succeeded, _) => self.one_at_a_time(id),
            _ => {}
        }
    }

    /// Nobody can know of a cancel that comes between the renewal and the first poll.
    fn excuse(&mut self, id: Id) {
        for actor in &mut self.world.actors {
            if actor.doing == (Doing::Start { run: id })
                && let Some(held) = &mut actor.held
            {
                held.excused = true;
            }
        }
    }

    /// This run starts, or succeeds: no other of its key can.
    pub(crate) fn one_at_a_time(&mut self, id: Id) {
        let expired = self.world.run(id).past.receipt == ReceiptPast::Expired;
        let other = self.world.runs.iter().any(|run| run.id != id && run.can_succeed());
        if other && !expired {
            self.broke(Rule::OneRunAtATime);
        }
    }

    fn apply(&mut self, place: Place, change: Change) {
        let now = self.world.now;
        let before = self.world.kept(place);
        let until = |life: Duration| now + ticks(life);
        let after = match change {
            Change::Keep | Change::Fence(_) => before,
            Change::Put { record, life } => {
                Some(Kept { record: Rec::of(&record), ends: until(life) })
            }
            Change::Extend { retention_ms, life } => before.map(|kept| {
                let retention = ticks(Duration::from_millis(retention_ms));
                Kept { record: Rec { retention, ..kept.record }, ends: until(life) }
            }),
            Change::Remove => None,
        };
        self.put(place, after);
    }

    fn put(&mut self, place: Place, kept: Option<Kept>) {
        match place {
            Place::Run(id) => self.world.run(id).record = kept,
            Place::Receipt => {
                self.world.receipt = kept;
                if let Some(receipt) = kept.filter(|kept| kept.record.completed) {
                    self.world.run(receipt.record.owner).past.receipt = ReceiptPast::Stored;
                }
            }
        }
    }

    /// A tick of the store's clock.
    pub(crate) fn store_ages(&mut self) {
        let now = self.world.now;
        if let Some(kept) = self.world.receipt.filter(|kept| kept.ends <= now) {
            self.world.receipt = None;
            if kept.record.completed {
                self.world.run(kept.record.owner).past.receipt = ReceiptPast::Expired;
            }
        }
        for run in &mut self.world.runs {
            run.record = run.record.filter(|kept| kept.ends > now);
        }
    }

    /// What a replace says that stands.
    pub(crate) fn replaced(reply: Reply, stands: Option<Rec>) -> Result<(), Option<RunState>> {
        match reply {
            Reply::Replaced => Ok(()),
            Reply::Stands => Err(stands.map(RunState::of)),
            reply => panic!("a replace hears {reply:?}"),
        }
    }
}

/// The answer of a mutant that puts `record` wherever it finds something.
pub(crate) fn replaces_anything(stands: Rec, by: Rec, life: u8) -> (Reply, Change) {
    let standing = Standing::Record(stands.real());
    let entry = entry(Some(&standing), 0);
    match replace(entry, stands.head(), &by.real(), duration(life), None) {
        (ReplaceReply::Replaced, change) => (Reply::Replaced, change),
        (ReplaceReply::Stands(_), change) => (Reply::Stands, change),
    }
}
