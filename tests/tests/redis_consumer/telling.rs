//! Events, statistics and metrics.

use std::collections::HashMap;

use idem_redis::consumer::{ConsumerStats, Fields, Message};
use idem_tests::eventually;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

use crate::kit::{Log, Running, Works, World, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statistics_tell_what_was_done_and_what_is_in_hand() {
    let world = World::start().await;
    let works = Works::gated();
    let running = start(world.builder().concurrency(2).read_ahead(1), &works);
    assert_eq!(running.consumer.stats(), ConsumerStats::default());
    for _ in 0..3 {
        world.add();
    }
    eventually("all are in hand", || running.consumer.stats().in_hand == 3).await;
    running.log.hears("renewed").await;
    works.open();
    eventually("all are done", || running.consumer.stats().done == 3).await;
    let stats = running.consumer.stats();
    assert_eq!((stats.in_hand, stats.read, stats.failed, stats.lost), (0, 3, 0, 0));
    assert!(stats.renewed >= 3);
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_observer_that_panics_ends_nothing() {
    let world = World::start().await;
    let works = Works::gated();
    let builder = world.builder().observer(|_| panic!("an observer's bug"));
    let running = start(builder, &works);
    let id = world.add();
    works.begins(id).await;
    running.log.hears("renewed").await;
    works.open();
    running.log.hears("done").await;
    running.end().await;
}

/// All on one thread but for the renewals, which are counted where they happen.
#[test]
fn metrics_count_events_and_messages_by_stream_and_group() {
    let recorder = DebuggingRecorder::new();
    let snapshots = recorder.snapshotter();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    metrics::with_local_recorder(&recorder, || {
        runtime.block_on(async {
            let world = World::start().await;
            let log = Log::default();
            let builder = world.builder().concurrency(2).observer(log.observer());
            let consumer =
                builder.handler(
                    async |message: Message<Fields>| {
                        if message.text("n") == Some("1") { Ok(()) } else { Err("no") }
                    },
                );
            let running = Running::start(consumer, log);
            world.add();
            world.add_with(&["n", "2"]);
            running.log.hears("done").await;
            running.log.hears("failed").await;
            running.end().await;
        });
    });
    let found: HashMap<String, u64> = snapshots
        .snapshot()
        .into_vec()
        .into_iter()
        .map(|(key, _, _, value)| {
            let mut labels: Vec<_> = key
                .key()
                .labels()
                .map(|label| format!("{}={}", label.key(), label.value()))
                .collect();
            labels.sort();
            let value = match value {
                DebugValue::Counter(count) => count,
                DebugValue::Histogram(values) => values.len() as u64,
                DebugValue::Gauge(value) => value.to_bits(),
            };
            (format!("{} {}", key.key().name(), labels.join(" ")), value)
        })
        .collect();
    let of = |name: &str, event: &str| {
        let event = if event.is_empty() { String::new() } else { format!("event={event} ") };
        found.get(&format!("{name} {event}group=billing stream=orders")).copied()
    };
    for event in ["created", "done", "failed"] {
        assert_eq!(of("idem_consumer_events_total", event), Some(1), "{event}: {found:?}");
    }
    assert_eq!(of("idem_consumer_messages_total", "done"), Some(1));
    assert_eq!(of("idem_consumer_messages_total", "read"), Some(2));
    assert_eq!(of("idem_consumer_messages_total", "created"), None);
    assert_eq!(of("idem_consumer_handled_seconds", ""), Some(1));
    // All were let go again.
    assert_eq!(of("idem_consumer_in_hand", "").map(f64::from_bits), Some(0.0));
}
