//! A future that misses no wake-up.
//!
//! A task of shuttle's knows one flag for "woken", and a lock that it has to wait for in the middle of
//! a poll uses it up: a wake-up of the future that comes in just then would be lost. So the future
//! gets a flag of its own, and its task is woken again where that was set meanwhile.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use pin_project_lite::pin_project;

pin_project! {
    pub(crate) struct Attentive<F> {
        #[pin]
        future: F,
        flag: Option<Arc<Flag>>,
    }
}

pub(crate) fn attentive<F: Future>(future: F) -> Attentive<F> {
    Attentive { future, flag: None }
}

/// Runs a future on this thread of the schedule.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    shuttle::future::block_on(attentive(future))
}

struct Flag {
    woken: AtomicBool,
    task: Waker,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        self.task.wake_by_ref();
    }
}

impl<F: Future> Future for Attentive<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        // Kept: a waker of an earlier poll may be the one that is woken.
        let flag = this.flag.get_or_insert_with(|| {
            let (woken, task) = (AtomicBool::new(false), task.waker().clone());
            Arc::new(Flag { woken, task })
        });
        let waker = Waker::from(Arc::clone(flag));
        flag.woken.store(false, Ordering::SeqCst);
        let polled = this.future.poll(&mut Context::from_waker(&waker));
        if polled.is_pending() && flag.woken.load(Ordering::SeqCst) {
            // Nobody goes on between this and the task's own look at its flag.
            task.waker().wake_by_ref();
        }
        polled
    }
}
