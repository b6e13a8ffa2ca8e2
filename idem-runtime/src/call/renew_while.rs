//! The body of a call under its lease, from its first poll to its end.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use pin_project_lite::pin_project;

use super::{Begun, Running};
use crate::backend::Boxed;
use crate::context::{Context, enter};
use crate::error::Error;
use crate::protocol::Moment;
use crate::run::{Readied, make_ready, poll_action, stopped};

pin_project! {
    /// A body under its lease: what `renew_while` gives. Written out, since an `async fn` would keep
    /// the body twice.
    #[must_use = "futures do nothing unless awaited"]
    pub struct RenewWhile<'a, R, W, F> {
        running: &'a mut Running<R, W>,
        context: Option<Context>,
        readying: Option<Boxed<'static, Result<Readied, Error>>>,
        #[pin]
        body: Option<F>,
    }
}

impl<'a, R, W, F> RenewWhile<'a, R, W, F> {
    pub(super) fn new(running: &'a mut Running<R, W>, body: F) -> Self {
        Self { running, context: None, readying: None, body: Some(body) }
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
        let mut this = self.project();
        let now = this.running.arrival.now();
        if this.context.is_none() {
            if let Err(answer) = ready!(poll_ready(this.running, this.readying, now, task)) {
                return Poll::Ready(Err(answer));
            }
            *this.context = Some(this.running.context_of_body());
        }
        let Some(context) = this.context else { unreachable!("set just before") };
        let Running { guard, table, .. } = &mut **this.running;
        let Some(guard) = guard else {
            let Some(body) = this.body.as_mut().as_pin_mut() else {
                unreachable!("a body is not polled after it has ended")
            };
            return enter(context, || body.poll(task)).map(Ok);
        };
        match ready!(poll_action(guard, context, this.body, now, task)) {
            Ok(result) => Poll::Ready(Ok(result)),
            Err(stop) => Poll::Ready(Err((table.refuse)(stopped(guard.attempt(), stop)))),
        }
    }
}

/// Polls an attempt until its body may be polled. `Err` is the call's answer instead.
fn poll_ready<R, W: Copy>(
    running: &mut Running<R, W>,
    readying: &mut Option<Boxed<'static, Result<Readied, Error>>>,
    now: Moment,
    task: &mut TaskContext<'_>,
) -> Poll<Result<(), R>> {
    loop {
        if readying.is_none() {
            let Some(guard) = &running.guard else { return Poll::Ready(Ok(())) };
            if guard.attempt().try_start(now) {
                return Poll::Ready(Ok(()));
            }
            // Rare: to be armed first, or late.
            let ready = make_ready(running.arrival.clone(), Arc::clone(guard.attempt()));
            *readying = Some(Box::pin(ready));
        }
        let Some(ready) = readying else { continue };
        let readied = ready!(ready.as_mut().poll(task));
        *readying = None;
        match readied {
            Ok(Readied::Started) => return Poll::Ready(Ok(())),
            Ok(Readied::Anew(start)) => match running.table.go_on(running.arrival.clone(), start) {
                Ok(Begun::Replay(result)) => return Poll::Ready(Err(result)),
                Ok(Begun::Run(anew)) => *running = anew,
                Err(refusal) => return Poll::Ready(Err(refusal)),
            },
            Err(error) => return Poll::Ready(Err(running.refuse(error))),
        }
    }
}
