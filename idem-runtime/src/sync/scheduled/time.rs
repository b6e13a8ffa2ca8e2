//! Time that a test moves, so that a deadline that passes is one more step between others.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::ops::Add;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use thiserror::Error;

use super::step;

std::thread_local! {
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static SLEEPERS: RefCell<Vec<(Instant, Waker)>> = const { RefCell::new(Vec::new()) };
}

/// It is the beginning of time, and nobody sleeps.
pub(super) fn start_anew() {
    NOW.set(Duration::ZERO);
    SLEEPERS.take().clear();
}

pub(super) fn now() -> Duration {
    NOW.get()
}

/// It is `at`, that long after the beginning, unless it was later already: wakes who slept until
/// then.
pub(crate) fn move_to(at: Duration) {
    step();
    NOW.set(at.max(NOW.get()));
    let now = Instant(NOW.get());
    let due = SLEEPERS.with_borrow_mut(|sleepers| {
        sleepers.extract_if(.., |(until, _)| *until <= now).collect::<Vec<_>>()
    });
    for (_, waker) in due {
        waker.wake();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant(Duration);

impl Instant {
    pub(crate) fn now() -> Self {
        step();
        Self(NOW.get())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }

    pub(crate) fn checked_add(self, by: Duration) -> Option<Self> {
        self.0.checked_add(by).map(Self)
    }

    /// Some instant of the system's clock: this one is of none.
    pub(crate) fn into_std(self) -> std::time::Instant {
        std::time::Instant::now()
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, by: Duration) -> Self {
        Self(self.0 + by)
    }
}

pub(crate) struct Sleep(Instant);

pub(crate) fn sleep_until(until: Instant) -> Sleep {
    Sleep(until)
}

pub(crate) fn sleep(time: Duration) -> Sleep {
    Sleep(Instant::now() + time)
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.0 {
            return Poll::Ready(());
        }
        SLEEPERS.with_borrow_mut(|sleepers| sleepers.push((self.0, task.waker().clone())));
        Poll::Pending
    }
}

#[derive(Debug, Error)]
#[error("the time is up")]
pub(crate) struct Elapsed;

/// The future first, then the time: as tokio does.
pub(crate) async fn timeout_at<F: Future>(until: Instant, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    let mut sleep = pin!(sleep_until(until));
    std::future::poll_fn(|task| match future.as_mut().poll(task) {
        Poll::Ready(value) => Poll::Ready(Ok(value)),
        Poll::Pending => sleep.as_mut().poll(task).map(|()| Err(Elapsed)),
    })
    .await
}

pub(crate) async fn timeout<F: Future>(time: Duration, future: F) -> Result<F::Output, Elapsed> {
    timeout_at(Instant::now() + time, future).await
}
