//! `on_crash = reconcile(…)`: after a crash, the call asks whether the effect happened.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;

use super::{Begun, Call, Running};
use crate::attempt::Attempt;
use crate::begin::{Arrival, Start};
use crate::bounds::Returned;
use crate::ident::Ident;
use crate::observe::Source;
use crate::run::{Attended, Guard};
use crate::settle::abandon;

impl<R: Returned, W: Copy> Call<R, W> {
    /// [`begin`](Self::begin), and if this call takes over from an owner that vanished, asks whether
    /// that one's effect happened: `Some` is its value and becomes the outcome, `None` runs the
    /// body. `ask` is only polled if it is needed.
    ///
    /// # Errors
    /// A refusal, in the function's own type; `OutcomeUnknown` where `ask` fails or is stopped. The
    /// takeover then lapses again, so that the crash is not forgotten; likewise if `ask` panics,
    /// which goes on, and if this is dropped.
    pub async fn begin_reconciling<F, E>(&self, ident: Ident, ask: F) -> Result<Begun<R, W>, R>
    where
        F: Future<Output = Result<Option<R::Ok>, E>>,
        E: Display,
    {
        let arrival = match Arrival::of(self, ident) {
            Ok(arrival) => arrival,
            Err(error) => return Err((self.table.refuse)(error)),
        };
        match arrival.begin().await {
            Ok(Start::Reconcile(attempt)) => self.settle(arrival, attempt, ask).await,
            Ok(start) => self.table.go_on(arrival, start),
            Err(error) => Err((self.table.refuse)(error)),
        }
    }

    async fn settle<F, E>(
        &self,
        arrival: Arrival,
        attempt: Arc<Attempt>,
        ask: F,
    ) -> Result<Begun<R, W>, R>
    where
        F: Future<Output = Result<Option<R::Ok>, E>>,
        E: Display,
    {
        let mut guard = Guard::new(Arc::clone(&attempt));
        attempt.start_asking(arrival.now());
        let answer = Attended::new(&mut guard, &arrival.context, ask).await;
        let running = Running { arrival, table: self.table, guard: Some(guard) };
        let why = match answer {
            Ok(Ok(Some(value))) => {
                let outcome = R::from_result(Ok(value));
                return Ok(Begun::Replay(running.complete_as(Source::Reconciled, outcome).await));
            }
            Ok(Ok(None)) => {
                attempt.answered();
                return Ok(Begun::Run(running));
            }
            Ok(Err(error)) => format!("reconcile failed: {error}"),
            Err(_) => "reconcile was stopped".to_owned(),
        };
        abandon(&attempt);
        let error = running.arrival.outcome_unknown(Some(why));
        Err(running.refuse(error))
    }
}
