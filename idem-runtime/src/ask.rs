//! Asking a store until it answers: a lost reply means *unknown*, so the operation is sent again
//! and recognises itself.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use crate::backend::{BackendError, Boxed};
use crate::protocol::Moment;
use crate::time::Clock;

/// The first pause between two tries; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Sends an operation, again and again where it is not answered, until `until`.
///
/// Gives the first answer, or the error that is an answer, or the last of the unanswered ones.
pub(crate) async fn ask<'a, T>(
    clock: Clock,
    until: Moment,
    mut send: impl FnMut() -> Boxed<'a, Result<T, BackendError>>,
) -> Result<T, BackendError> {
    let (mut pause, mut last) = (FIRST_PAUSE, None);
    loop {
        let error = match bounded(clock, until, send()).await {
            Some(Err(error)) if !error.is_answer() => error,
            Some(answer) => return answer,
            None => return Err(last.unwrap_or_else(no_answer)),
        };
        let now = clock.now();
        if now >= until {
            return Err(error);
        }
        // The last try is at the end, however long the pause would be.
        let pause_ends = now.after(jittered(pause)).min(until);
        tokio::time::sleep_until(clock.instant(pause_ends)).await;
        (pause, last) = ((pause * 2).min(LONGEST_PAUSE), Some(error));
    }
}

/// Awaits `future` until `until`; `None` if that passes first.
///
/// A store that answers at once costs no timer.
pub(crate) async fn bounded<T>(clock: Clock, until: Moment, mut future: Boxed<'_, T>) -> Option<T> {
    let first = poll_fn(|context| {
        Poll::Ready(match future.as_mut().poll(context) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        })
    });
    match first.await {
        Some(value) => Some(value),
        None => tokio::time::timeout_at(clock.instant(until), future).await.ok(),
    }
}

pub(crate) fn no_answer() -> BackendError {
    BackendError::unanswered("the store did not answer in time")
}

/// Between half of `pause` and all of it, so that many callers do not come back in step.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let mut byte = [0];
    // Without randomness the pause is merely a fixed one.
    let _ = getrandom::fill(&mut byte);
    pause / 2 + pause.mul_f64(f64::from(byte[0]) / 512.0)
}
