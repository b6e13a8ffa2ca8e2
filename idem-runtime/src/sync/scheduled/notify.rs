//! tokio's `Notify`, each operation a step.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::step;

#[derive(Debug, Default)]
pub(crate) struct Notify(tokio::sync::Notify);

impl Notify {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn notify_one(&self) {
        step();
        self.0.notify_one();
    }

    pub(crate) fn notify_waiters(&self) {
        step();
        self.0.notify_waiters();
    }

    pub(crate) fn notified(&self) -> Notified<'_> {
        step();
        Notified { inner: self.0.notified() }
    }
}

pin_project! {
    pub(crate) struct Notified<'a> {
        #[pin]
        inner: tokio::sync::futures::Notified<'a>,
    }
}

impl Notified<'_> {
    pub(crate) fn enable(self: Pin<&mut Self>) -> bool {
        step();
        self.project().inner.enable()
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        step();
        self.project().inner.poll(task)
    }
}
