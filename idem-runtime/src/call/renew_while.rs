//! The body of a call under its lease, from its first poll to its end.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};

use super::{Begun, Running};
use crate::attempt::Starting;
use crate::backend::Boxed;
use crate::begin::Arrival;
use crate::context::{Context, enter};
use crate::error::{Error, ErrorKind};
use crate::event::EventKind;
use crate::protocol::Moment;
use crate::run::{Readied, make_ready, poll_action, stopped};
use crate::value::Table;

pin_project! {
    /// A body under its lease: what `renew_while` gives. Written out, since an `async fn` would keep
    /// the body twice.
    #[must_use = "futures do nothing unless awaited"]
    pub struct RenewWhile<'a, R, W, F> {
        running: &'a mut Running<R, W>,
        context: Option<Context>,
        readying: Option<Boxed<'static, Result<Readied, Error>>>,
        // The deadline of a body that runs without a lease: no keeper watches it.
        alarm: Option<Pin<Box<Sleep>>>,
        #[pin]
        body: Option<F>,
    }

    impl<R, W, F> PinnedDrop for RenewWhile<'_, R, W, F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let Some(context) = this.context {
                // The body's own drops see what its polls saw.
                let mut body = this.body;
                enter(context, || body.set(None));
            }
        }
    }
}

impl<'a, R, W, F> RenewWhile<'a, R, W, F> {
    pub(super) fn new(running: &'a mut Running<R, W>, body: F) -> Self {
        Self { running, context: None, readying: None, alarm: None, body: Some(body) }
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
        let now = this.running.arrival.now();
        if this.context.is_none() {
            if let Err(answer) = ready!(poll_ready(this.running, this.readying, now, task)) {
                return Poll::Ready(Err(answer));
            }
            *this.context = Some(this.running.context_of_body());
        }
        let Some(context) = this.context else { unreachable!("set just before") };
        let Running { arrival, guard, table } = &mut **this.running;
        let Some(guard) = guard else {
            return unprotected(arrival, table, context, this.body, this.alarm, task);
        };
        match ready!(poll_action(guard, context, this.body, now, task)) {
            Ok(result) => Poll::Ready(Ok(result)),
            Err(stop) => Poll::Ready(Err((table.refuse)(stopped(guard.attempt(), stop)))),
        }
    }
}

/// Polls a body that runs without a lease; its deadline holds all the same.
fn unprotected<R, W, F: Future<Output = R>>(
    arrival: &Arrival,
    table: &Table<R, W>,
    context: &Context,
    mut body: Pin<&mut Option<F>>,
    alarm: &mut Option<Pin<Box<Sleep>>>,
    task: &mut TaskContext<'_>,
) -> Poll<Result<R, R>> {
    if let Some(deadline) = arrival.terms.deadline {
        let alarm = alarm.get_or_insert_with(|| Box::pin(sleep(deadline)));
        if alarm.as_mut().poll(task).is_ready() {
            enter(context, || body.set(None));
            arrival.tell(EventKind::DeadlineExceeded);
            return Poll::Ready(Err((table.refuse)(arrival.error(ErrorKind::DeadlineExceeded))));
        }
    }
    let Some(running) = body.as_mut().as_pin_mut() else {
        unreachable!("a body is not polled after it has ended")
    };
    enter(context, || running.poll(task)).map(Ok)
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
            if guard.attempt().try_start(now) == Starting::Started {
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
