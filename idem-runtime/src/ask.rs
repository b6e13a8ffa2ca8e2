//! Asking a store until it answers: a lost reply means *unknown*, so the operation is sent again
//! and recognises itself.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use crate::backend::{BackendError, Boxed};
use crate::protocol::Moment;
use crate::sync::time::{sleep_until, timeout_at};
use crate::time::Clock;

/// The first pause between two tries; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Sends an operation, again and again where it is not answered, until `until`.
///
/// Gives the first answer, or the error that is an answer, or the last of the unanswered ones. No
/// repeat leaves at `until` or later: that may be the end of what its sender may still say.
pub(crate) async fn ask<'a, T>(
    clock: Clock,
    until: Moment,
    mut send: impl FnMut() -> Boxed<'a, Result<T, BackendError>>,
) -> Result<T, BackendError> {
    // However long its pause would be, the last try leaves while it can still be answered.
    let last_try = until.before(FIRST_PAUSE);
    let (mut pause, mut last) = (FIRST_PAUSE, None);
    loop {
        let error = match bounded(clock, until, send()).await {
            Some(Err(error)) if !error.is_answer() => error,
            Some(answer) => return answer,
            None => return Err(last.unwrap_or_else(no_answer)),
        };
        let now = clock.now();
        if now >= last_try {
            return Err(error);
        }
        let pause_ends = now.after(jittered(pause)).min(last_try);
        sleep_until(clock.instant(pause_ends)).await;
        // It may have been suspended meanwhile.
        if clock.now() >= until {
            return Err(error);
        }
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
        None => timeout_at(clock.instant(until), future).await.ok(),
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(2);

    /// Asks a store that never answers, for [`TIMEOUT`]; counts the tries, and notes when the last left.
    async fn ask_in_vain(clock: Clock, tries: &Cell<(u32, Moment)>) {
        let send = || {
            tries.set((tries.get().0 + 1, clock.now()));
            Box::pin(async { Err::<(), _>(no_answer()) }) as Boxed<'_, _>
        };
        ask(clock, clock.now().after(TIMEOUT), send).await.unwrap_err();
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_try_leaves_while_it_can_still_be_answered() {
        let (clock, tries) = (Clock::start(), Cell::new((0, Moment::ORIGIN)));
        ask_in_vain(clock, &tries).await;
        let (count, last) = tries.get();
        // Seven within the first second at the latest, then two to four a second.
        assert!((6..=15).contains(&count), "{count} tries");
        assert_eq!(last, Moment::ORIGIN.after(TIMEOUT - FIRST_PAUSE));
    }

    #[test]
    fn pauses_differ_by_up_to_a_half() {
        let pauses: Vec<_> = (0..1_000).map(|_| jittered(TIMEOUT)).collect();
        assert!(pauses.iter().all(|pause| (TIMEOUT / 2..TIMEOUT).contains(pause)));
        let longest = pauses.iter().max().unwrap();
        assert!(*longest > TIMEOUT / 4 * 3, "{longest:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_was_suspended_repeats_nothing_afterwards() {
        let (clock, tries) = (Clock::start(), Cell::new((0, Moment::ORIGIN)));
        let mut asking = std::pin::pin!(ask_in_vain(clock, &tries));
        let waits = poll_fn(|task| Poll::Ready(asking.as_mut().poll(task).is_pending()));
        assert!(waits.await);
        tokio::time::advance(TIMEOUT).await;
        asking.await;
        assert_eq!(tries.get().0, 1);
    }
}
