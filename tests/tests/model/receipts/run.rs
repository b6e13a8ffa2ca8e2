//! A run, its record, and what is said of it: `run_record.rs` and `liveness.rs` of the runtime.

use super::setting::Setting;
use crate::record::{Id, Kept, Rec};
use crate::time::Tick;

/// Who has made the record of a run; no other record of it has this owner.
pub(crate) const MADE: Id = Id(6 << 3 | 7);

/// How a run stands, as its record's payload says it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub(crate) enum RunState {
    /// Of a reservation.
    Running,
    Queued,
    Waiting,
    Succeeded,
    Failed,
    Cancelled,
    Skipped,
}

impl RunState {
    pub(crate) fn of(record: Rec) -> Self {
        let all = [
            Self::Running,
            Self::Queued,
            Self::Waiting,
            Self::Succeeded,
            Self::Failed,
            Self::Cancelled,
            Self::Skipped,
        ];
        all[usize::from(record.says)]
    }

    pub(crate) fn is_end(self) -> bool {
        self == Self::Succeeded || self.is_lost()
    }

    /// Whether it has ended without a result.
    pub(crate) fn is_lost(self) -> bool {
        matches!(self, Self::Failed | Self::Cancelled | Self::Skipped)
    }

    /// The record of a run in this state, by `owner`: a revision of its own, or the attempt that ends it.
    pub(crate) fn completed(self, owner: Id, attempt: u8) -> Rec {
        let says = self as u8;
        Rec { completed: true, attempt, says, ..Rec::reservation(owner, 0) }
    }
}

/// A run that was dispatched, its record, and what has to be remembered of its past.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Run {
    pub(crate) id: Id,
    /// What its dispatch said, and its record says.
    pub(crate) hold: Tick,
    pub(crate) record: Option<Kept>,
    pub(crate) past: Past,
}

/// What the properties need to know. No step depends on it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Past {
    pub(crate) receipt: ReceiptPast,
    /// The attempts whose bodies have started, as bits.
    pub(crate) started: u8,
    pub(crate) ended: Option<RunState>,
    /// Its dispatcher was told that it is not to run.
    pub(crate) refused: bool,
}

/// Whether the receipt of a run was stored, and its ttl is over.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ReceiptPast {
    #[default]
    Never,
    Stored,
    Expired,
}

/// What was found of a run (`run_record::Seen`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    Gone,
    Unreadable,
    Stands { record: Rec, since: Tick },
    Held { record: Rec, lapsed: Option<Tick> },
}

/// `liveness::Verdict`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Live,
    Succeeded,
    MaybeAlive,
    Indeterminate,
    Ended,
    Gone,
}

impl Seen {
    pub(crate) fn of(found: Option<(Rec, Tick)>, setting: &Setting) -> Self {
        let Some((record, left)) = found else { return Self::Gone };
        if record.is_reservation_of(MADE) {
            return Self::Unreadable;
        }
        if !record.completed {
            let lapsed = (left <= record.retention).then(|| record.retention - left);
            return Self::Held { record, lapsed };
        }
        let ended = RunState::of(record).is_end();
        let life = if ended { setting.life_of_end() } else { setting.life_of_state() };
        Self::Stands { record, since: life - left }
    }

    /// The table of the page; `hold` is the one that the record says.
    pub(crate) fn verdict(self, setting: &Setting, hold: Tick) -> Verdict {
        match self {
            Self::Gone => Verdict::Gone,
            Self::Unreadable => Verdict::Indeterminate,
            Self::Held { lapsed: None, .. } => Verdict::Live,
            Self::Held { lapsed: Some(since), .. } if since < hold => Verdict::MaybeAlive,
            Self::Held { .. } => Verdict::Ended,
            Self::Stands { record, since } => match RunState::of(record) {
                RunState::Succeeded => Verdict::Succeeded,
                state if state.is_lost() => Verdict::Ended,
                _ if since < setting.queue_timeout => Verdict::Live,
                _ => Verdict::Ended,
            },
        }
    }
}

impl Verdict {
    pub(crate) fn gives_a_new_run(self) -> bool {
        matches!(self, Self::Ended | Self::Gone)
    }
}

impl Run {
    pub(crate) fn new(id: Id, hold: Tick) -> Self {
        Self { id, hold, record: None, past: Past::default() }
    }

    pub(crate) fn state(&self) -> Option<RunState> {
        self.record.map(|kept| RunState::of(kept.record))
    }

    /// The verdict of somebody who reads it right now.
    pub(crate) fn verdict(&self, setting: &Setting, now: Tick) -> Verdict {
        let found = self.record.map(|kept| (kept.record, kept.left(now)));
        Seen::of(found, setting).verdict(setting, self.hold)
    }

    /// Whether it has a claim to the key and can still succeed, or has: it had its receipt, whose ttl is
    /// not over, or runs without one, and nobody has ended it.
    pub(crate) fn can_succeed(&self) -> bool {
        let claims = match self.past.receipt {
            ReceiptPast::Never => self.past.started != 0,
            ReceiptPast::Stored => true,
            ReceiptPast::Expired => false,
        };
        claims && self.state().is_some_and(|state| !state.is_lost())
    }

    /// Whether its record says that it has ended without a result, or there is none any more.
    pub(crate) fn is_lost(&self) -> bool {
        self.state().is_none_or(RunState::is_lost)
    }
}
