//! The end of a call whose action has run.

use std::sync::Arc;

use super::action::Action;
use crate::attempt::Attempt;
use crate::begin::Arrival;
use crate::error::{Error, ErrorKind};
use crate::event::EventKind;
use crate::keeper::Job;
use crate::observe::{Facts, Source, at_ms};
use crate::policy::OnLost;
use crate::protocol::Moment;
use crate::record::{Flags, Record};
use crate::run::stopped;
use crate::settle::{Settled, free, settled, store_outcome};
use crate::time::wall_ms;
use crate::value::{Encoded, Ending};

/// The codec's id and the `version` under which a value is stored.
type Coding = (u8, u32);

impl Action {
    /// Settles the key by what the action ended with, and says whether its outcome is stored by now.
    /// `Err`: its value is not the outcome.
    pub(crate) async fn settle(
        &mut self,
        source: Source,
        ending: Ending,
        coding: Coding,
    ) -> Result<bool, Error> {
        let error = match &ending {
            Ending::Free => true,
            Ending::Store(encoded) => encoded.flags.contains(Flags::ERROR),
        };
        let Self { arrival, guard, .. } = self;
        let Some(guard) = guard else {
            unprotected(arrival, error);
            return Ok(false);
        };
        let attempt = guard.attempt();
        let now = arrival.now();
        attempt.start_settling(now).map_err(|stop| stopped(attempt, stop))?;
        // That it is done is stored all the same, but nothing to replay.
        let kept = matches!(&ending, Ending::Store(Encoded { not_kept: None, .. }));
        let stored = match ending {
            Ending::Free => {
                // Boxed, as what is not the common way is: it keeps the call small.
                Box::pin(free_key(attempt, now)).await;
                false
            }
            Ending::Store(encoded) => store(attempt, encoded, coding, now).await? && kept,
        };
        arrival.report(Facts {
            source,
            attempt: attempt.taken().number,
            first_at: at_ms(attempt.taken().first_reserved_at_ms),
            stored,
            lapsed: attempt.has_lapsed(),
            protected: true,
        });
        tell(arrival, source, stored, error);
        Ok(stored)
    }
}

async fn free_key(attempt: &Arc<Attempt>, now: Moment) {
    attempt.end();
    let mut handover = Handover { attempt, outcome: None, is_done: false };
    handover.is_done = free(&*attempt.core().store, attempt, now).await.is_ok();
}

/// Says whether the outcome is stored, as far as is known by now.
async fn store(
    attempt: &Arc<Attempt>,
    encoded: Encoded,
    (codec, version): Coding,
    now: Moment,
) -> Result<bool, Error> {
    let Encoded { flags, payload, not_kept } = encoded;
    if let Some(reason) = not_kept {
        attempt.tell(EventKind::NotKept { reason: &reason });
    }
    let record = attempt.outcome(flags, codec, version, payload);
    let mut handover = Handover { attempt, outcome: Some(&record), is_done: false };
    let Ok(how) = store_outcome(&*attempt.core().store, attempt, &record, now).await else {
        attempt.tell(EventKind::CompletionDeferred);
        return Ok(false);
    };
    handover.is_done = true;
    drop(handover);
    settled(attempt, record, how, false);
    match how {
        Settled::Stored => Ok(true),
        Settled::Refused | Settled::TooLate if attempt.terms().on_lost == OnLost::Ignore => {
            Ok(false)
        }
        Settled::Refused | Settled::TooLate => Err(attempt.error(ErrorKind::LeaseLost)),
    }
}

fn unprotected(arrival: &Arrival, error: bool) {
    arrival.report(Facts {
        source: Source::Fresh,
        attempt: 1,
        first_at: at_ms(wall_ms()),
        stored: false,
        lapsed: false,
        protected: false,
    });
    tell(arrival, Source::Fresh, false, error);
}

fn tell(arrival: &Arrival, source: Source, stored: bool, error: bool) {
    let took = arrival.now().since(arrival.at);
    arrival.tell(match source {
        Source::Reconciled => EventKind::Reconciled,
        _ => EventKind::Executed { stored, error, took },
    });
}

/// What a call leaves undone, also by being dropped, goes to the keeper: an outcome to be stored, or
/// else a key to be freed.
struct Handover<'a> {
    attempt: &'a Arc<Attempt>,
    outcome: Option<&'a Record>,
    is_done: bool,
}

impl Drop for Handover<'_> {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let attempt = Arc::clone(self.attempt);
        let core = Arc::clone(attempt.core());
        let job = match self.outcome {
            Some(outcome) => Job::Complete(attempt, outcome.clone()),
            None => Job::Release(attempt),
        };
        core.keeper.hand(&core, job);
    }
}
