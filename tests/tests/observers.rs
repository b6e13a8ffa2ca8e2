//! Events as `tracing` events and as metrics: names, fields, labels, and no keys.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use idem_runtime::testing::Operation;
use idem_runtime::{Error, OnDuplicate};
use idem_tests::{LEASE, World};
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::{Context, SubscriberExt};

/// One test at a time: `tracing` remembers for the whole process whether anybody listens, and a test
/// without a subscriber beside one that has one makes it forget.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Every `tracing` event of this thread, as a line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "idem" {
            let mut line = Line(event.metadata().level().to_string());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }
    }
}

fn listen() -> (Lines, DefaultGuard) {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::registry().with(lines.clone());
    (lines, tracing::subscriber::set_default(subscriber))
}

/// A little of everything: a run, a replay, a refusal, a mismatch, a renewal, a loss, an outage.
async fn live_a_little(world: &World) -> idem_tests::Process {
    let process = world.process();
    let call =
        |cents: u64| process.idem.call("payments.charge").key("secret-17").fingerprint(&cents);
    let run = |_| async { Ok::<_, Error>(1_u64) };
    let faults = process.faults.clone();
    let other = world.process();
    let lost = process.idem.call("payments.charge").key("secret-18").run(|_| async move {
        faults.away(true);
        tokio::time::sleep(LEASE * 2).await;
        let second = other.idem.call("payments.charge").key("secret-18");
        second.run(|_| async { Ok::<_, Error>(2_u64) }).await?;
        faults.away(false);
        Ok::<_, Error>(1_u64)
    });
    assert!(lost.await.is_err());
    let slow = call(1).run(|_| async {
        tokio::time::sleep(LEASE).await;
        Ok::<_, Error>(1_u64)
    });
    let idem = process.idem.clone();
    let (slow, (waited, rejected)) = tokio::join!(slow, async {
        let again = || idem.call("payments.charge").key("secret-17").fingerprint(&1_u64);
        let rejected = again().on_duplicate(OnDuplicate::Reject).run(run).await;
        (again().run(run).await, rejected)
    });
    assert!(slow.is_ok() && waited.is_ok() && rejected.is_err());
    call(1).run(run).await.unwrap();
    assert!(call(2).run(run).await.is_err());
    process.faults.answer(Operation::Begin, "out of memory", 1);
    assert!(process.idem.call("payments.charge").key("secret-19").run(run).await.is_err());
    process
}

const EXPECTED: [&str; 11] = [
    "completion_refused",
    "executed",
    "failed",
    "lease_at_risk",
    "lease_lost",
    "mismatch",
    "rejected",
    "renewal_failed",
    "renewed",
    "replayed",
    "waited_then_replayed",
];

/// Every event is a `tracing` event of the target `idem`, with its name, the operation, and the key
/// only as a hash.
#[tokio::test(start_paused = true)]
async fn events_are_traced() {
    let _alone = ALONE.lock().await;
    let (lines, _listening) = listen();
    let process = live_a_little(&World::new()).await;
    let lines = lines.0.lock().unwrap().clone();
    for expected in EXPECTED {
        assert!(
            process.events.has(expected),
            "{expected} is missing in {:?}",
            process.events.all()
        );
        let named = format!("event=\"{expected}\"");
        let found = lines.iter().find(|line| line.contains(&named));
        let line = found.unwrap_or_else(|| panic!("no {named} in {lines:#?}"));
        assert!(line.contains("operation=\"payments.charge\"") && line.contains("key=#"), "{line}");
    }
    assert!(lines.iter().all(|line| !line.contains("secret")), "{lines:#?}");
    let level = |name: &str| {
        let line = lines.iter().find(|line| line.contains(&format!("event=\"{name}\""))).unwrap();
        line.split(' ').next().unwrap().to_owned()
    };
    assert_eq!(level("executed"), "DEBUG");
    assert_eq!(level("mismatch"), "WARN");
    assert_eq!(level("lease_lost"), "ERROR");
    let said = lines.iter().find(|line| line.contains("event=\"failed\"")).unwrap();
    assert!(said.contains("out of memory"), "{said}");
}

/// The same events are counted, with documented names and units, and no label is a key.
#[tokio::test(start_paused = true)]
async fn events_are_counted() {
    let _alone = ALONE.lock().await;
    let recorder = metrics_util::debugging::DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _counting = metrics::set_default_local_recorder(&recorder);
    let process = live_a_little(&World::new()).await;
    let mut counted = BTreeSet::new();
    let mut histograms = BTreeSet::new();
    for (key, _, _, value) in snapshotter.snapshot().into_vec() {
        let name = key.key().name().to_owned();
        for label in key.key().labels() {
            assert!(["operation", "event"].contains(&label.key()), "{name}: label {}", label.key());
            assert!(!label.value().contains("secret"), "{name}: {label:?}");
            if label.key() == "event" {
                counted.insert(label.value().to_owned());
            }
        }
        if matches!(value, metrics_util::debugging::DebugValue::Histogram(_)) {
            histograms.insert(name);
        } else {
            assert_eq!(name, "idem_events_total");
        }
    }
    for event in process.events.all() {
        assert!(counted.contains(event), "{event} is not counted");
    }
    let expected =
        ["idem_executed_seconds", "idem_renewal_lateness_seconds", "idem_waited_seconds"];
    assert_eq!(histograms.into_iter().collect::<Vec<_>>(), expected);
}

/// What goes with the process is told, and nothing is where nothing does.
#[tokio::test(start_paused = true)]
async fn a_shutdown_that_leaves_something_says_so() {
    let _alone = ALONE.lock().await;
    let (lines, _listening) = listen();
    let told = || {
        let lines = lines.0.lock().unwrap();
        lines
            .iter()
            .filter(|line| line.contains("shut down before all was done"))
            .cloned()
            .collect()
    };
    for (away, expected) in [(false, 0), (true, 1)] {
        let process = World::new().process();
        let faults = process.faults.clone();
        let outcome = process.idem.call("op").key("k").run(|_| async move {
            faults.away(away);
            Ok::<_, Error>(1_u64)
        });
        assert_eq!(outcome.await.unwrap().stored, !away);
        assert_eq!(process.idem.shutdown(LEASE / 10).await.is_clean(), !away);
        let told: Vec<String> = told();
        assert_eq!(told.len(), expected, "{told:?}");
        assert!(told.iter().all(|line| line.starts_with("WARN") && line.contains("unsettled=1")));
    }
}

/// A keeper that cannot connect says so, with the store's own words.
#[tokio::test(start_paused = true)]
async fn a_keeper_that_cannot_connect_says_so() {
    let _alone = ALONE.lock().await;
    let (lines, _listening) = listen();
    let process = World::new().process();
    process.faults.answer(Operation::ForKeeper, "no permission", 1);
    let outcome = process.idem.call("op").key("k").run(|_| async {
        tokio::time::sleep(LEASE).await;
        Ok::<_, Error>(1_u64)
    });
    assert!(outcome.await.unwrap().stored);
    let lines = lines.0.lock().unwrap();
    let said: Vec<_> = lines.iter().filter(|line| line.contains("cannot connect")).collect();
    assert_eq!(said.len(), 1, "{lines:#?}");
    assert!(said[0].starts_with("WARN") && said[0].contains("no permission"), "{said:?}");
}
