//! The end of a run: stored over the worker's reservation, or told why it could not be.

use std::sync::Arc;

use super::give_back::{GiveBack, move_run};
use super::run_id::RunId;
use super::run_record::{Dispatched, RunRecord, RunState};
use super::store::RunStore;
use crate::ask::ask;
use crate::attempt::Attempt;
use crate::backend::BackendError;
use crate::call::Action;
use crate::codec::OWN;
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, RunMove};
use crate::observe::Source;
use crate::protocol::transition::{CompleteReply, ReplaceReply};
use crate::record::{Flags, Head, State};
use crate::run::stopped;
use crate::value::{Encoded, Ending};

/// A run whose body has ended, or is not to be polled any more.
pub(super) struct End<'a> {
    pub(super) store: RunStore<'a>,
    pub(super) run: RunId,
    pub(super) attempt: &'a Arc<Attempt>,
    pub(super) dispatch: Dispatched,
}

impl End<'_> {
    /// Stores the end of the run. A store that does not answer in time is left to the keeper.
    pub(super) async fn store(&self, action: &mut Action, state: RunState) -> Result<(), Error> {
        let ended = state.moved();
        let record = RunRecord::ended(self.dispatch.clone(), state);
        let (flags, payload) = (Flags::default(), record.payload());
        let ending = Ending::Store(Encoded { flags, payload, not_kept: None });
        match action.settle(Source::Fresh, ending, (OWN, 0)).await {
            Ok(stored) => {
                if stored {
                    self.tell(ended);
                }
                Ok(())
            }
            Err(error) => Err(self.error(error.kind()).await),
        }
    }

    /// Puts the run into a state from which it may be tried again.
    pub(super) async fn give_back(&self, back: GiveBack, state: RunState) -> Result<(), Error> {
        let core = self.attempt.core();
        let name = state.moved();
        let settling = self.attempt.start_settling(core.clock.now());
        if let Err(stop) = settling {
            back.disarm();
            return Err(self.error(stopped(self.attempt, stop).kind()).await);
        }
        let record = RunRecord::waiting(self.dispatch.clone(), state.clone());
        let by = record.completed(crate::record::Owner::fresh(), self.attempt.taken().number);
        let seen = self.attempt.reservation().head();
        let replace = || core.store.replace(self.attempt.key(), seen, &by, record.life(), None);
        let replaced = ask(core.clock, self.store.until(), replace).await;
        self.attempt.end();
        match &replaced {
            Ok(_) => back.disarm(),
            // Not known to be given back: the keeper goes on.
            Err(_) => back.hand(state),
        }
        self.attempt.seat().vacate();
        match replaced {
            Ok(ReplaceReply::Replaced) => {
                self.tell(name);
                Ok(())
            }
            Ok(ReplaceReply::Stands(_)) => Err(self.error(ErrorKind::LeaseLost).await),
            Err(_) => Ok(()),
        }
    }

    /// The body was stopped. Past its deadline the run has failed, and as its body is dropped there is
    /// nothing to hold it for; a lease that was lost has nothing to store.
    pub(super) async fn stopped(&self, kind: ErrorKind) -> Error {
        if kind != ErrorKind::DeadlineExceeded {
            return self.error(kind).await;
        }
        let core = self.attempt.core();
        let state = RunState::Failed("it ran past its deadline".to_owned());
        let name = state.moved();
        let (key, number) = (self.attempt.key(), self.attempt.taken().number);
        let record = RunRecord::ended(self.dispatch.clone(), state.clone());
        let outcome = record.completed(self.attempt.owner(), number);
        let complete = || core.store.complete(key, &outcome, record.life());
        match ask(core.clock, self.store.until(), complete).await {
            Ok(CompleteReply::Stored | CompleteReply::AlreadyStored) => self.tell(name),
            Ok(CompleteReply::Gone | CompleteReply::Refused(_)) => {}
            Err(_) => {
                let reserved = Head { state: State::Reserved, owner: self.attempt.owner() };
                let failed = move_run(key, [reserved; 2], number, self.dispatch.clone(), state);
                core.keeper.hand(core, failed);
            }
        }
        self.error(kind).await
    }

    pub(super) fn failed(&self, error: BackendError) -> Error {
        self.about(ErrorKind::Backend).because(error)
    }

    /// An error with what became of the run, as far as the store says.
    async fn error(&self, kind: ErrorKind) -> Error {
        match self.store.read(self.run).await {
            Ok(seen) => self.about(kind).detail(format!("the run: {}", seen.status())),
            Err(_) => self.about(kind),
        }
    }

    /// An error under the operation that was dispatched.
    fn about(&self, kind: ErrorKind) -> Error {
        let key = self.dispatch.receipt_key(self.attempt.key());
        Error::about(kind, &key, self.attempt.core().observers.shown())
    }

    fn tell(&self, state: RunMove) {
        let key = self.dispatch.receipt_key(self.attempt.key());
        self.attempt.core().observers.tell(&key, EventKind::RunMoved { state });
    }
}
