//! A consumer's events as metrics of the `metrics` facade.

use metrics::{Gauge, counter, gauge, histogram};

use super::event::{ConsumerEvent, ConsumerEventKind as Kind};

/// `idem_consumer_in_hand`, of the consumers of this process.
pub(super) fn in_hand([stream, group]: [&str; 2]) -> Gauge {
    let labels = [("stream", stream.to_owned()), ("group", group.to_owned())];
    gauge!("idem_consumer_in_hand", &labels)
}

/// Counts an event: `idem_consumer_events_total`, and by messages `idem_consumer_messages_total`.
pub(super) fn count(event: &ConsumerEvent<'_>) {
    let labels = [("stream", event.stream.to_owned()), ("group", event.group.to_owned())];
    let mut with_name = labels.to_vec();
    with_name.push(("event", event.kind.name().to_owned()));
    counter!("idem_consumer_events_total", &with_name).increment(1);
    match event.kind {
        Kind::Done { took, .. } => {
            histogram!("idem_consumer_handled_seconds", &labels).record(took);
        }
        Kind::Renewed { late, .. } => {
            histogram!("idem_consumer_renewal_lateness_seconds", &labels).record(late);
        }
        _ => {}
    }
    let messages = event.kind.messages();
    if messages > 0 {
        counter!("idem_consumer_messages_total", &with_name).increment(messages as u64);
    }
}
