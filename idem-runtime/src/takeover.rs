//! What a call does about an owner that vanished without an outcome.

use std::sync::Arc;

use crate::ask::ask;
use crate::attempt::Taken;
use crate::begin::{Arrival, Start, Step};
use crate::error::{Error, ErrorKind};
use crate::event::EventKind;
use crate::flight::Seat;
use crate::policy::OnCrash;
use crate::protocol::tenure::Tenure;
use crate::protocol::transition::{ReplaceReply, reservation_life};
use crate::record::{Owner, Record};

impl Arrival {
    /// By `on_crash`: runs, refuses, or takes over to reconcile.
    pub(crate) async fn crashed(&self, seat: Seat, lapsed: &Record) -> Result<Step, Error> {
        if self.terms.on_crash == OnCrash::Refuse {
            return Err(self.outcome_unknown());
        }
        self.take_over(seat, lapsed).await
    }

    pub(crate) fn outcome_unknown(&self) -> Error {
        self.tell(EventKind::OutcomeUnknown);
        self.error(ErrorKind::OutcomeUnknown)
    }

    /// Reconcile failed: the takeover lapses, and the next call asks again.
    pub(crate) fn not_reconciled(&self, why: &str) -> Error {
        let detail = format!("{why}; the next call asks again");
        self.outcome_unknown().detail(detail).after(self.terms.lease)
    }

    /// Puts this call's reservation in the place of the lapsed one, in one step: a discard followed
    /// by a begin would forget, in between, that somebody crashed. The retention goes along for the
    /// same reason, and a takeover whose reply is lost is left to lapse, not released.
    async fn take_over(&self, seat: Seat, lapsed: &Record) -> Result<Step, Error> {
        let core = &self.core;
        let owner = Owner::fresh();
        let reservation = Record {
            first_reserved_at_ms: lapsed.first_reserved_at_ms,
            attempt: lapsed.attempt.saturating_add(1),
            ..Record::reservation(owner, self.fingerprint, lapsed.first_reserved_at_ms)
        }
        .remembered_for(lapsed.retention());
        let life = reservation_life(self.terms.lease, lapsed.retention());
        let sent = self.now();
        let deadline = Tenure::taken(self.terms.lease, self.terms.ttl, sent).deadline();
        let until = sent.after(core.store_timeout).min(deadline);
        let reply = ask(core.clock, until, || {
            core.store.replace(
                &self.key,
                lapsed.head(),
                &reservation,
                life,
                Some(lapsed.retention()),
            )
        })
        .await;
        match reply {
            // Somebody was faster, or the owner came back: look again.
            Ok(ReplaceReply::Stands(_)) => Ok(Step::Anew(seat)),
            Err(error) => Err(self.failed(error)),
            Ok(ReplaceReply::Replaced) => {
                let taken = Taken { takeover: true, ..Taken::first(sent, &reservation) };
                let attempt = self.attempt(seat, owner, taken);
                self.tell(EventKind::TakenOver { attempt: reservation.attempt });
                Ok(Step::Start(match self.terms.on_crash {
                    OnCrash::Reconcile => Start::Reconcile(Arc::clone(&attempt)),
                    OnCrash::Rerun | OnCrash::Refuse => Start::Run(attempt),
                }))
            }
        }
    }
}
