//! The body of a call under its lease, from its first poll to its end.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, ready};

use pin_project_lite::pin_project;

use super::Running;
use super::action::{Action, Answer};

pin_project! {
    /// A body under its lease: what `renew_while` gives. Written out, since an `async fn` would keep
    /// the body twice.
    #[must_use = "futures do nothing unless awaited"]
    pub struct RenewWhile<'a, R, W, F> {
        running: &'a mut Running<R, W>,
        #[pin]
        body: Option<F>,
    }

    impl<R, W, F> PinnedDrop for RenewWhile<'_, R, W, F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            // The body's own drops see what its polls saw.
            let _entered = this.running.action.enter();
            this.body.set(None);
        }
    }
}

impl<'a, R, W, F> RenewWhile<'a, R, W, F> {
    pub(super) fn new(running: &'a mut Running<R, W>, body: F) -> Self {
        Self { running, body: Some(body) }
    }
}

impl<R, W, F> fmt::Debug for RenewWhile<'_, R, W, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenewWhile").field("running", &self.running).finish_non_exhaustive()
    }
}

impl<R, W: Copy, F: Future<Output = R>> Future for RenewWhile<'_, R, W, F> {
    type Output = Result<R, R>;

    fn poll(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Running { action, table } = &mut **this.running;
        match ready!(attend(action, this.body, task)) {
            Ok(result) => Poll::Ready(Ok(result)),
            Err(answer) => {
                let (Ok(answer) | Err(answer)) = table.answer(answer);
                Poll::Ready(Err(answer))
            }
        }
    }
}

/// Polls what runs under an action once: a body, or the reconcile expression.
pub(crate) fn attend<F: Future>(
    action: &mut Action,
    mut body: Pin<&mut Option<F>>,
    task: &mut TaskContext<'_>,
) -> Poll<Result<F::Output, Answer>> {
    let polling = match ready!(action.before_poll(task)) {
        Ok(polling) => polling,
        Err(answer) => {
            let _entered = action.enter();
            body.set(None);
            return Poll::Ready(Err(answer));
        }
    };
    let Some(running) = body.as_mut().as_pin_mut() else {
        unreachable!("a body is not polled after it has ended")
    };
    let polled = running.poll(task);
    if polled.is_ready() {
        body.set(None);
    }
    action.after_poll(polling);
    polled.map(Ok)
}
