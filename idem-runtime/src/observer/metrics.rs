//! Events as counters and histograms of the `metrics` facade.

use metrics::{counter, histogram};

use crate::event::{Event, EventKind, Observer};

/// Counts every event. Part of every `Idem` under the `metrics` feature.
///
/// | name | kind | unit | labels |
/// | --- | --- | --- | --- |
/// | `idem_events_total` | counter | events | `operation`, `event` (see [`EventKind::name`]) |
/// | `idem_executed_seconds` | histogram | seconds | `operation` |
/// | `idem_waited_seconds` | histogram | seconds | `operation` |
/// | `idem_renewal_lateness_seconds` | histogram | seconds | none |
/// | `idem_blocked_poll_seconds` | histogram | seconds | `operation` |
///
/// No label is a key.
#[derive(Clone, Copy, Debug, Default)]
pub struct MetricsObserver;

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
