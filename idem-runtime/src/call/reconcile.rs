//! `on_crash = reconcile(…)`: after a crash, the call asks whether the effect happened.

use std::fmt::Display;
use std::future::{Future, poll_fn};
use std::sync::Arc;

use super::action::Action;
use super::renew_while::attend;
use super::{Begun, Call, Running};
use crate::attempt::Attempt;
use crate::begin::{Arrival, Start};
use crate::bounds::Returned;
use crate::ident::Ident;
use crate::observe::Source;
use crate::run::Guard;
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
        let arrival = match Arrival::of(&self.name, &self.overrides, ident) {
            Ok(arrival) => arrival,
            Err(error) => return Err((self.table.refuse)(error)),
        };
        match arrival.begin().await {
            Ok(Start::Reconcile(attempt)) => self.settle(arrival, attempt, ask).await,
            Ok(start) => self.table.begun(Action::go_on(arrival, start)),
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
        let mut action = Action::held(arrival, Guard::new(Arc::clone(&attempt)));
        action.start_asking(&attempt);
        let answer = {
            let mut ask = std::pin::pin!(Some(ask));
            poll_fn(|task| attend(&mut action, ask.as_mut(), task)).await
        };
        let why = match answer {
            Ok(Ok(Some(value))) => {
                let outcome = R::from_result(Ok(value));
                let running = Running { action, table: self.table };
                return Ok(Begun::Replay(running.complete_as(Source::Reconciled, outcome).await));
            }
            Ok(Ok(None)) => {
                action.answered(&attempt);
                return Ok(Begun::Run(Running { action, table: self.table }));
            }
            Ok(Err(error)) => format!("reconcile failed: {error}"),
            Err(_) => "reconcile was stopped".to_owned(),
        };
        abandon(&attempt);
        Err((self.table.refuse)(action.arrival.not_reconciled(&why)))
    }
}
