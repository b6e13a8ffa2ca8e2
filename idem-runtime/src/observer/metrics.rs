//! Events as counters and histograms of the `metrics` facade.

use metrics::{counter, histogram};

use crate::event::{Event, EventKind, Observer};

/// Counts every event; the names stand at [`Observer`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MetricsObserver;

impl Observer for MetricsObserver {
    fn observe(&self, event: &Event<'_>) {
        let operation = event.operation.to_owned();
        match event.kind {
            EventKind::Executed { took, .. } => {
                histogram!("idem_executed_seconds", "operation" => operation.clone()).record(took);
            }
            EventKind::WaitedThenReplayed { waited } | EventKind::WaitEnded { waited } => {
                histogram!("idem_waited_seconds", "operation" => operation.clone()).record(waited);
            }
            EventKind::Renewed { late } => histogram!("idem_renewal_lateness_seconds").record(late),
            EventKind::BlockedPoll { held } => {
                histogram!("idem_blocked_poll_seconds", "operation" => operation.clone())
                    .record(held);
            }
            _ => {}
        }
        let name = event.kind.name();
        counter!("idem_events_total", "operation" => operation, "event" => name).increment(1);
    }
}
