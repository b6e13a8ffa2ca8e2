//! A watch on one key: what `changed` gives.

use std::fmt;
use std::future::pending;

use tokio::sync::watch;

/// Wakes when the record under a key may have changed. Dropping it leaves nothing behind.
pub struct Watch {
    /// `None` only while it is being dropped.
    changes: Option<watch::Receiver<()>>,
    leave: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Watch {
    /// A watch that wakes whenever the sender of `changes` sends; `leave` runs after the receiver
    /// has been dropped, so that the backend can give up a subscription nobody needs any more.
    #[must_use]
    pub fn new(changes: watch::Receiver<()>, leave: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { changes: Some(changes), leave: Some(Box::new(leave)) }
    }

    /// Resolves when the record may have changed since the watch was made or this last resolved;
    /// never again once the backend has lost the subscription. Dropping the future loses no change.
    pub async fn changed(&mut self) {
        if let Some(changes) = &mut self.changes
            && changes.changed().await.is_ok()
        {
            return;
        }
        // Nobody will tell any more: polling beside the watch goes on.
        pending::<()>().await;
    }

    /// Whether the backend has lost the subscription: a new watch is needed to hear of changes.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.changes.as_ref().is_none_or(|changes| changes.has_changed().is_err())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.changes = None;
        if let Some(leave) = self.leave.take() {
            leave();
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}
