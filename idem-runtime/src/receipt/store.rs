//! The records of runs, and the receipts that name them, as the protocol's operations move them.

use std::sync::Arc;
use std::time::Duration;

use super::receipt_record::ReceiptRecord;
use super::run_id::RunId;
use super::run_record::{Dispatched, RunRecord, RunState, Seen, run_key};
use crate::ask::ask;
use crate::attempt::Attempt;
use crate::backend::{BackendError, DynBackend};
use crate::idem::Core;
use crate::protocol::Moment;
use crate::protocol::transition::{BeginReply, CompleteReply, DiscardReply, ReplaceReply};
use crate::record::{Head, Owner, Record, Standing, State};
use crate::record_key::RecordKey;

/// The store of an `Idem`, for as long as it is asked one thing.
#[derive(Clone, Copy)]
pub(super) struct RunStore<'a> {
    core: &'a Arc<Core>,
}

/// What became of a replace of a run's record.
pub(super) enum Replaced {
    /// The new state stands.
    Yes,
    /// Nothing stands, or another state does.
    No(Option<RunState>),
    /// What stands cannot be read.
    Unreadable,
}

impl<'a> RunStore<'a> {
    pub(super) const fn of(core: &'a Arc<Core>) -> Self {
        Self { core }
    }

    pub(super) fn key(self, run: RunId) -> RecordKey {
        run_key(self.core.prefix.as_ref(), run)
    }

    pub(super) async fn read(self, run: RunId) -> Result<Seen, BackendError> {
        let Core { clock, store, .. } = &**self.core;
        let key = self.key(run);
        ask(*clock, self.until(), || store.peek(&key)).await.map(Seen::of)
    }

    /// Makes the record of a run, in its first state.
    pub(super) async fn create(self, run: RunId, record: &RunRecord) -> Result<Head, BackendError> {
        let Core { clock, store, .. } = &**self.core;
        let (key, revision) = (self.key(run), Owner::fresh());
        let completed = record.completed(revision, 1);
        let lease = record.dispatch.times().lease;
        let reservation =
            Record::reservation(revision, completed.fingerprint, record.dispatch.at_ms);
        let begun = ask(*clock, self.until(), || store.begin(&key, &reservation, lease)).await?;
        if begun != BeginReply::Acquired {
            return Err(BackendError::answered("a record stands under the id of a new run"));
        }
        match ask(*clock, self.until(), || store.complete(&key, &completed, record.life())).await? {
            CompleteReply::Stored | CompleteReply::AlreadyStored => Ok(completed.head()),
            CompleteReply::Gone | CompleteReply::Refused(_) => {
                Err(BackendError::unanswered("the record of a new run was lost"))
            }
        }
    }

    /// Moves a run from what was seen of it, head and attempt, to another state; with `if_lapsed`, only from a
    /// reservation that has lapsed and has at most that much of its life left.
    pub(super) async fn replace(
        self,
        run: RunId,
        seen: (Head, u32),
        by: &RunRecord,
        if_lapsed: Option<Duration>,
    ) -> Result<Replaced, BackendError> {
        let Core { clock, store, .. } = &**self.core;
        let (seen, attempt) = seen;
        let (key, record) = (self.key(run), by.completed(Owner::fresh(), attempt));
        let reply =
            ask(*clock, self.until(), || store.replace(&key, seen, &record, by.life(), if_lapsed))
                .await?;
        Ok(match reply {
            ReplaceReply::Replaced => Replaced::Yes,
            ReplaceReply::Stands(None) => Replaced::No(None),
            ReplaceReply::Stands(Some(standing)) => match standing.record().and_then(RunRecord::of)
            {
                Some(run) => Replaced::No(Some(run.state)),
                None => Replaced::Unreadable,
            },
        })
    }

    /// Removes a receipt, as long as it names this run.
    pub(super) async fn discard(
        self,
        receipt: &RecordKey,
        run: RunId,
    ) -> Result<DiscardReply, BackendError> {
        let Core { clock, store, .. } = &**self.core;
        ask(*clock, self.until(), || store.discard(receipt, run.owner())).await
    }

    /// What stands in the place of a receipt.
    pub(super) async fn receipt(self, receipt: &RecordKey) -> Result<Option<Record>, BackendError> {
        let Core { clock, store, .. } = &**self.core;
        let found = ask(*clock, self.until(), || store.peek(receipt)).await?;
        Ok(found.and_then(|found| match found.standing {
            Standing::Record(record) if record.state == State::Completed => Some(record),
            _ => None,
        }))
    }

    /// Sees to it that the receipt of a run stands: completes the dispatch's reservation, or begins and
    /// completes where there is none. `false`: another's record stands there.
    pub(super) async fn see_to_receipt(
        self,
        run: RunId,
        dispatch: &Dispatched,
    ) -> Result<bool, BackendError> {
        let Core { clock, store, .. } = &**self.core;
        let times = dispatch.times();
        let key = dispatch.receipt_key(&self.key(run));
        let receipt = ReceiptRecord::of(dispatch).completed(run, dispatch);
        let reservation = Record::reservation(run.owner(), receipt.fingerprint, dispatch.at_ms);
        let mut begun = 0;
        loop {
            match ask(*clock, self.until(), || store.complete(&key, &receipt, times.ttl)).await? {
                CompleteReply::Stored | CompleteReply::AlreadyStored => return Ok(true),
                CompleteReply::Refused(_) => return Ok(false),
                // A dispatcher that gives up late frees what was begun here: both are the run's.
                CompleteReply::Gone if begun < 2 => begun += 1,
                CompleteReply::Gone => {
                    return Err(BackendError::unanswered(
                        "the receipt of a run was lost twice in a row",
                    ));
                }
            }
            match ask(*clock, self.until(), || store.begin(&key, &reservation, times.lease)).await?
            {
                BeginReply::Acquired => {}
                BeginReply::Found(standing) => return Ok(standing.matches(receipt.head())),
            }
        }
    }

    /// How long one question is asked.
    pub(super) fn until(self) -> Moment {
        self.core.clock.now().after(self.core.store_timeout)
    }
}

/// Whether the run that the receipt of this attempt names is over, as far as its record says.
pub(crate) async fn run_is_over(
    store: &dyn DynBackend,
    dispatch: &Attempt,
    until: Moment,
) -> Result<bool, BackendError> {
    let core = dispatch.core();
    let key = run_key(core.prefix.as_ref(), RunId::of(dispatch.owner()));
    let found = ask(core.clock, until, || store.peek(&key)).await?;
    Ok(Seen::of(found).verdict().gives_a_new_run())
}
