//! The end of a call whose body has run.

use std::sync::Arc;

use super::Running;
use crate::attempt::Attempt;
use crate::error::{Error, ErrorKind};
use crate::event::EventKind;
use crate::keeper::Job;
use crate::observe::{Facts, Source, at_ms};
use crate::policy::OnLost;
use crate::protocol::Moment;
use crate::record::Flags;
use crate::run::stopped;
use crate::settle::{Handover, Settled, free, settled, store_outcome};
use crate::time::wall_ms;
use crate::value::{Encoded, Ending};

impl<R, W: Copy> Running<R, W> {
    /// Settles the key by the body's result and gives that to the caller.
    ///
    /// If the store does not answer within the store's time, the caller has its value all the same
    /// and the keeper goes on. Dropped, the keeper goes on as well: an outcome once reached is
    /// always stored.
    pub async fn complete(self, outcome: R) -> R {
        self.complete_as(Source::Fresh, outcome).await
    }

    pub(super) async fn complete_as(mut self, source: Source, outcome: R) -> R {
        let Some(guard) = &mut self.guard else {
            self.report_unprotected();
            let is_error = matches!(self.table.ending(&outcome, usize::MAX), Ending::Free);
            let took = self.arrival.now().since(self.arrival.at);
            self.arrival.tell(EventKind::Executed { stored: false, error: is_error, took });
            return outcome;
        };
        let attempt = Arc::clone(guard.attempt());
        let core = Arc::clone(attempt.core());
        // The user's code may panic while it is serialised: that ends the attempt as a panic.
        let ending = guard.in_users_code(|| self.table.ending(&outcome, core.max_result));
        let now = core.clock.now();
        if let Err(stop) = attempt.start_settling(now) {
            return self.refuse(stopped(&attempt, stop));
        }
        let is_error = match &ending {
            Ending::Free => true,
            Ending::Store(encoded) => encoded.flags.contains(Flags::ERROR),
        };
        let stored = match ending {
            Ending::Free => {
                self.free(&attempt, now).await;
                false
            }
            Ending::Store(encoded) => match self.store(&attempt, encoded, now).await {
                Ok(stored) => stored,
                Err(lost) => return self.refuse(lost),
            },
        };
        self.arrival.report(Facts {
            source,
            attempt: attempt.taken().number,
            first_at: at_ms(attempt.taken().first_reserved_at_ms),
            stored,
            lapsed: attempt.has_lapsed(),
            protected: true,
        });
        let took = core.clock.now().since(self.arrival.at);
        attempt.tell(match source {
            Source::Reconciled => EventKind::Reconciled,
            _ => EventKind::Executed { stored, error: is_error, took },
        });
        outcome
    }

    async fn free(&self, attempt: &Arc<Attempt>, now: Moment) {
        let core = attempt.core();
        attempt.end();
        let handover = Handover::new(core, Job::Release(Arc::clone(attempt)));
        if free(&*core.store, attempt, now).await.is_ok() {
            handover.disarm();
        }
    }

    /// Says whether the outcome is stored, as far as is known by now.
    async fn store(
        &self,
        attempt: &Arc<Attempt>,
        encoded: Encoded,
        now: Moment,
    ) -> Result<bool, Error> {
        let core = attempt.core();
        let Encoded { flags, payload, not_kept } = encoded;
        if let Some(reason) = not_kept {
            attempt.tell(EventKind::NotKept { reason: &reason });
        }
        let record = attempt.outcome(flags, self.table.codec, self.table.version, payload);
        let handover = Handover::new(core, Job::Complete(Arc::clone(attempt), record.clone()));
        let Ok(how) = store_outcome(&*core.store, attempt, &record, now).await else {
            attempt.tell(EventKind::CompletionDeferred);
            return Ok(false);
        };
        handover.disarm();
        settled(attempt, record, how, false);
        match how {
            Settled::Stored => Ok(true),
            Settled::Refused | Settled::TooLate if attempt.terms().on_lost == OnLost::Ignore => {
                Ok(false)
            }
            Settled::Refused | Settled::TooLate => Err(self.arrival.error(ErrorKind::LeaseLost)),
        }
    }

    fn report_unprotected(&self) {
        self.arrival.report(Facts {
            source: Source::Fresh,
            attempt: 1,
            first_at: at_ms(wall_ms()),
            stored: false,
            lapsed: false,
            protected: false,
        });
    }
}
