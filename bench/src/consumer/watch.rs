//! Watches a consumer until it has done so much.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use idem_redis::consumer::{ConsumerEvent, ConsumerEventKind as Kind};
use tokio::sync::Notify;

/// When a consumer began to read, and when the last of so many messages was acknowledged.
#[derive(Default)]
pub(super) struct Watch {
    began: OnceLock<Instant>,
    done: AtomicUsize,
    took: OnceLock<Duration>,
    ended: Notify,
}

impl Watch {
    /// To be told of a consumer's events. Its group must not be there before it.
    pub(super) fn observer(
        self: &Arc<Self>,
        messages: usize,
    ) -> impl Fn(&ConsumerEvent<'_>) + Send + Sync + 'static {
        let watch = Arc::clone(self);
        move |event| match &event.kind {
            // The last step of its registration: it reads next.
            Kind::Created { .. } => _ = watch.began.set(Instant::now()),
            Kind::Done { ids, .. } => {
                let before = watch.done.fetch_add(ids.len(), Ordering::Relaxed);
                if before + ids.len() >= messages {
                    watch.end();
                }
            }
            _ => {}
        }
    }

    fn end(&self) {
        if let Some(began) = self.began.get() {
            let _ = self.took.set(began.elapsed());
        }
        self.ended.notify_one();
    }

    /// How long that took, once it is over.
    pub(super) async fn ended(&self) -> Duration {
        loop {
            self.ended.notified().await;
            if let Some(took) = self.took.get() {
                return *took;
            }
        }
    }
}
