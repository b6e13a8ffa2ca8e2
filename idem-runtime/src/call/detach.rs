//! `on_drop = detach`: the body as a task of its own.

use std::future::Future;

use tracing::Instrument;

use super::Running;
use crate::bounds::Detachable;
use crate::context::within;
use crate::error::ErrorKind;

impl<R, W: Copy + Send + Sync + 'static> Running<R, W> {
    /// Runs and completes the body as a task of its own, and waits for it.
    ///
    /// Dropped, the task runs on: its outcome is stored. The task carries the current `Idem` and
    /// tracing span along. Must be called within a tokio runtime; a panic of the body goes on here.
    pub async fn detach<F>(mut self, body: F) -> R
    where
        F: Future<Output = R> + Send + 'static,
        R: Detachable,
    {
        let refuse = self.table.refuse;
        let lost = self.action.arrival.error(ErrorKind::LeaseLost);
        let context = self.action.arrival.context.clone();
        let task = async move {
            match self.renew_while(body).await {
                Ok(outcome) => self.complete(outcome).await,
                Err(answer) => answer,
            }
        };
        match tokio::spawn(within(context, task).in_current_span()).await {
            Ok(result) => result,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is going away and took the task with it.
                Err(_) => refuse(lost.detail("its task ended with its runtime")),
            },
        }
    }
}
