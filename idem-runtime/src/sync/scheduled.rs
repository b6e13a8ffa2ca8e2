//! The parts as a scheduler has them: shuttle's, and tokio's with a step before each of their
//! operations.
//!
//! What does not block (tokio's `Notify` and `watch`, an `AtomicWaker`) is the real thing and counts
//! as one step. Time stands still until a test moves it ([`time`]).

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

pub(crate) use shuttle::sync::atomic;
pub(crate) use shuttle::sync::{Mutex, MutexGuard};
pub(crate) use shuttle::thread_local;

use shuttle::future::{AbortHandle, JoinError, JoinHandle};

mod attentive;
mod notify;
pub(crate) mod time;
mod waker;
pub(crate) mod watch;

pub(crate) use attentive::{attentive, block_on};
pub(crate) use notify::{Notified, Notify};
pub(crate) use waker::AtomicWaker;

/// The branches are polled in order, not in one that tokio draws: a schedule is to run the same again.
macro_rules! select {
    ($($branches:tt)*) => { ::tokio::select! { biased; $($branches)* } };
}
pub(crate) use select;

/// Another task may go on here.
pub(crate) fn step() {
    if !std::thread::panicking() && shuttle::current::try_get_current_task().is_some() {
        // Shuttle does not model time: this is a scheduling point, and no hint to be fair.
        shuttle::thread::sleep(Duration::ZERO);
    }
}

std::thread_local! {
    /// The tasks of this schedule, in the order in which they were spawned.
    static SPAWNED: RefCell<Vec<AbortHandle>> = const { RefCell::new(Vec::new()) };
    /// How many of them have not ended, and who waits for that.
    static RUNNING: Cell<usize> = const { Cell::new(0) };
    static WAITS: RefCell<Option<Waker>> = const { RefCell::new(None) };
}

/// Forgets what an earlier schedule has left.
pub(crate) fn start_anew() {
    SPAWNED.take().clear();
    RUNNING.set(0);
    drop(WAITS.take());
    time::start_anew();
}

/// Resolves when all tasks that the code under test has spawned have ended. For one waiter.
pub(crate) async fn all_ended() {
    std::future::poll_fn(|task| {
        if RUNNING.get() == 0 {
            return Poll::Ready(());
        }
        WAITS.set(Some(task.waker().clone()));
        Poll::Pending
    })
    .await;
}

/// Lets as much time pass as all tasks need to end.
pub(crate) fn run_out() {
    while RUNNING.get() > 0 {
        time::move_to(time::now() + Duration::from_secs(1_000));
        shuttle::thread::yield_now();
    }
}

/// A task that has not ended.
struct Running;

impl Running {
    fn one_more() -> Self {
        RUNNING.set(RUNNING.get() + 1);
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.set(RUNNING.get().saturating_sub(1));
        if let Some(waker) = WAITS.take() {
            waker.wake();
        }
    }
}

/// The tasks that the code under test has spawned so far.
pub(crate) fn spawned() -> Vec<AbortHandle> {
    SPAWNED.with_borrow(Clone::clone)
}

/// A task of a test's own.
pub(crate) fn task<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    shuttle::future::spawn(attentive(future))
}

/// Spawns a task that has to end before the schedule may: one that never does is a deadlock.
pub(crate) fn spawn<F>(future: F) -> Task<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let running = Running::one_more();
    let handle = task(async move {
        let _running = running;
        future.await
    });
    SPAWNED.with_borrow_mut(|tasks| tasks.push(handle.abort_handle()));
    // Dropped, the handle would have the task count no more.
    Task(ManuallyDrop::new(handle))
}

pub(crate) struct Task<T>(ManuallyDrop<JoinHandle<T>>);

impl<T> Task<T> {
    pub(crate) fn abort(&self) {
        self.0.abort();
    }
}

impl<T> Future for Task<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut *self.0).poll(task)
    }
}
