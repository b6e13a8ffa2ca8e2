//! Records of other versions: those that an earlier one has left in the store, byte for byte, and those
//! that a later one may leave.

mod golden;

use std::time::Duration;

use idem_runtime::codec::{Codec, MessagePack};
use idem_runtime::record::{Payload, Record, Standing};
use idem_runtime::{Error, ErrorKind, Liveness, Ran, RunId, RunStatus, Verdict};
use idem_tests::RedisServer;
use serde::{Deserialize, Serialize};

use crate::kit::{Queue, dispatch, receipt_record, run_record, work};
use crate::processes::{Process, process};

/// The run of all of them.
const RUN: &str = "e12ff31b9856632dfd7c1d25e743a245";
/// How long the dispatch's reservations live: lease, hold and ttl.
const RESERVED_FOR: u64 = (30 + 900 + 3_600) * 1_000;
/// How long a state lives that is not a run's last: two leases and two ttls.
const STATE_FOR: u64 = 2 * (30 + 3_600) * 1_000;
const LEASE: u64 = 30_000;
const HOLD: u64 = 900_000;
const QUEUE_TIMEOUT: u64 = 1_200_000;

/// A server with the receipt, and with a record of its run that has so much of its life left.
struct Store {
    server: RedisServer,
    process: Process,
    run: RunId,
    queue: Queue,
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
    let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

impl Store {
    async fn with(record: &[u8], left_ms: u64) -> Self {
        let server = RedisServer::start();
        let process = process(&server).await;
        let store = Self { server, process, run: RUN.parse().unwrap(), queue: Queue::default() };
        store.put(&receipt_record("a"), &bytes(golden::RECEIPT), 3_600_000);
        store.put(&run_record(store.run), record, left_ms);
        store
    }

    fn put(&self, name: &str, record: &[u8], left_ms: u64) {
        const PUT: &str = "local text = ARGV[1]:gsub('..', function(two) \
            return string.char(tonumber(two, 16)) end) \
            return redis.call('SET', KEYS[1], text, 'PX', ARGV[2])";
        let hex: String = record.iter().map(|byte| format!("{byte:02x}")).collect();
        let _: String = self.server.ask(&["EVAL", PUT, "1", name, &hex, &left_ms.to_string()]);
    }

    async fn verdict(&self) -> Verdict {
        self.process.idem.verdict(self.run).await
    }

    async fn status(&self) -> RunStatus {
        self.process.idem.run(self.run).status().await.unwrap()
    }

    /// The same call as the one that left all this: whether it gets the old receipt.
    async fn is_replayed(&self) -> bool {
        let again = dispatch(&self.process.idem, "a").fingerprint(&7_u64);
        let again = self.queue.take(again).await.unwrap();
        assert_eq!(again.id() == self.run, again.is_replay());
        again.is_replay()
    }
}

#[tokio::test]
async fn a_queued_run_of_an_earlier_version_is_worked_off() {
    let store = Store::with(&bytes(golden::QUEUED), STATE_FOR - 60_000).await;
    assert_eq!((store.status().await, store.verdict().await), (RunStatus::Queued, Verdict::Live));
    assert!(store.is_replayed().await);
    let ran = work(&store.process.idem, store.run, 9).await;
    assert!(matches!(ran, Ok(Ran::Ended(Ok(9)))), "{ran:?}");
    assert!(store.is_replayed().await);
    assert_eq!(store.process.idem.run(store.run).result::<u64>().await.unwrap(), 9);
}

/// By its own queue timeout, and to the moment, save a margin for the test's own time.
#[tokio::test]
async fn a_queued_run_of_an_earlier_version_is_given_up() {
    for (waited, replayed) in [(QUEUE_TIMEOUT - 30_000, true), (QUEUE_TIMEOUT, false)] {
        for state in [golden::QUEUED, golden::WAITING] {
            let store = Store::with(&bytes(state), STATE_FOR - waited).await;
            assert_eq!(store.is_replayed().await, replayed, "after {waited} ms");
        }
    }
}

#[tokio::test]
async fn a_run_of_an_earlier_version_that_waits_to_be_tried_again_is() {
    let store = Store::with(&bytes(golden::WAITING), STATE_FOR).await;
    let status = store.status().await;
    assert!(
        matches!(&status, RunStatus::WaitingForRetry { reason, .. } if reason == "busy"),
        "{status}"
    );
    let body = async { Ok::<_, Error>(idem_runtime::lease().unwrap().attempt()) };
    let ran = store.process.idem.attach(store.run).run(body).await;
    assert!(matches!(ran, Ok(Ran::Ended(Ok(2)))), "{ran:?}");
}

/// Live, then lapsed, then over, by the hold in its own record.
#[tokio::test]
async fn a_running_run_of_an_earlier_version_is_held() {
    let lapsed = RESERVED_FOR - 30_000;
    let held = |lapsed_for| lapsed - lapsed_for;
    for (left, verdict) in [
        (RESERVED_FOR, Verdict::Live),
        (held(1_000), Verdict::MaybeAlive),
        (held(HOLD - 30_000), Verdict::MaybeAlive),
        (held(HOLD), Verdict::Ended),
    ] {
        let store = Store::with(&bytes(golden::RUNNING), left).await;
        assert_eq!(store.verdict().await, verdict, "{left} ms left");
        let late = work(&store.process.idem, store.run, 9).await;
        assert!(matches!(late, Ok(Ran::NotStarted(_))), "{late:?}");
        // One millisecond is the store's, which counts in whole ones.
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert_eq!(store.is_replayed().await, verdict != Verdict::Ended, "{left} ms left");
    }
}

#[tokio::test]
async fn a_result_of_an_earlier_version_is_read() {
    let store = Store::with(&bytes(golden::SUCCEEDED), 3_600_000).await;
    assert_eq!(store.verdict().await, Verdict::Succeeded);
    assert!(store.is_replayed().await);
    assert_eq!(store.process.idem.run(store.run).result::<u64>().await.unwrap(), 7);
    let other = dispatch(&store.process.idem, "a").fingerprint(&8_u64);
    let refused = store.queue.take(other).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::FingerprintMismatch);
}

/// However it has ended, without a result it gives way to a new run.
#[tokio::test]
async fn a_run_of_an_earlier_version_that_has_ended_gives_a_new_one() {
    for (end, status) in [
        (golden::FAILED, "failed: no paper"),
        (golden::CANCELLED, "cancelled"),
        (golden::SKIPPED, "skipped: another run had its place"),
    ] {
        let store = Store::with(&bytes(end), 3_600_000).await;
        assert_eq!(store.status().await.to_string(), status);
        assert_eq!(store.verdict().await, Verdict::Ended);
        assert!(!store.is_replayed().await);
    }
}

/// What its process was about to start is live, and lost when a worker that vanished would be.
#[tokio::test]
async fn an_accepted_run_of_an_earlier_version_is_awaited() {
    for (waited, replayed) in [(HOLD, true), (LEASE + HOLD, false)] {
        let store = Store::with(&bytes(golden::ACCEPTED), STATE_FOR - waited).await;
        assert_eq!(store.status().await, RunStatus::Accepted);
        assert_eq!(store.is_replayed().await, replayed, "after {waited} ms");
    }
}

/// Today's code writes these bytes: an earlier version reads what a later one writes, while both run. (The
/// state in which a run is accepted is over before anybody could read it.)
#[tokio::test]
async fn what_is_written_today_is_what_was_written_then() {
    let server = RedisServer::start();
    let process = process(&server).await;
    let queue = Queue::default();
    let written = |name: &str, then: &str, key: u8| {
        let stored: Vec<u8> = server.ask(&["GET", name]);
        assert_eq!(shape(&stored, key), shape(&bytes(then), key), "{name}");
    };
    let new = async |key: &str| {
        let seconds = Duration::from_secs;
        let today = dispatch(&process.idem, key).fingerprint(&7_u64).lease(seconds(30));
        let today = today.ttl(seconds(3_600)).deadline(seconds(600)).hold(seconds(900));
        queue.take(today.queue_timeout(seconds(1_200))).await.unwrap().id()
    };

    let run = new("b").await;
    written(&receipt_record("b"), golden::RECEIPT, b'b');
    written(&run_record(run), golden::QUEUED, b'b');
    let busy = async {
        written(&run_record(run), golden::RUNNING, b'b');
        Err::<u64, _>("busy")
    };
    drop(process.idem.attach(run).run_or_give_back(busy, |_| true).await.unwrap());
    written(&run_record(run), golden::WAITING, b'b');
    drop(work(&process.idem, run, 7).await.unwrap());
    written(&run_record(run), golden::SUCCEEDED, b'b');

    let run = new("c").await;
    drop(process.idem.attach(run).run(async { Err::<u64, _>("no paper") }).await.unwrap());
    written(&run_record(run), golden::FAILED, b'c');

    let run = new("d").await;
    process.idem.run(run).cancel().await.unwrap();
    written(&run_record(run), golden::CANCELLED, b'd');

    let run = new("e").await;
    assert!(server.ask::<bool>(&["DEL", &receipt_record("e")]));
    new("e").await;
    drop(work(&process.idem, run, 7).await.unwrap());
    written(&run_record(run), golden::SKIPPED, b'e');
}

/// What a record holds, under another key and dispatched at no time.
fn shape(stored: &[u8], key: u8) -> (u8, Vec<u8>) {
    const AT: &[u8] = b"at_ms\xcf";
    let record = record(stored);
    let mut value = record.payload.value().unwrap().to_vec();
    let after = |value: &[u8], text: &[u8]| {
        value.windows(text.len()).position(|found| found == text).map(|at| at + text.len())
    };
    let at = after(&value, AT).unwrap();
    value[at..at + 8].fill(0);
    if let Some(at) = after(&value, b"key\xa1") {
        value[at] = key;
    }
    (record.codec, value)
}

fn record(stored: &[u8]) -> Record {
    Standing::from_bytes(stored).record().unwrap().clone()
}

/// A run's record as a later version may write it: with a field that today's code does not know.
#[derive(Serialize, Deserialize)]
struct Later {
    version: u32,
    dispatch: LaterDispatch,
    state: LaterState,
    life_ms: u64,
    #[serde(default)]
    priority: u8,
}

#[derive(Serialize, Deserialize)]
struct LaterDispatch {
    operation: String,
    key: String,
    #[serde(with = "serde_bytes")]
    fingerprint: [u8; 16],
    lease_ms: u64,
    ttl_ms: u64,
    deadline_ms: Option<u64>,
    hold_ms: u64,
    queue_timeout_ms: u64,
    at_ms: u64,
    queued: bool,
    #[serde(default)]
    region: String,
}

/// States of today, and one of tomorrow.
#[derive(Serialize, Deserialize)]
enum LaterState {
    Queued,
    Suspended,
}

/// The golden record with what a later version makes of it.
fn later(golden: &str, change: impl FnOnce(&mut Later)) -> Vec<u8> {
    let record = record(&bytes(golden));
    let mut run: Later = MessagePack::decode(record.payload.value().unwrap()).unwrap();
    change(&mut run);
    let payload = Payload::of(|out| MessagePack::encode(&run, out)).unwrap();
    Record { payload, ..record }.to_bytes()
}

#[tokio::test]
async fn a_record_with_fields_of_a_later_version_is_read() {
    let later = later(golden::QUEUED, |run| {
        run.priority = 3;
        run.dispatch.region = "north".to_owned();
    });
    assert_ne!(later, bytes(golden::QUEUED));
    let store = Store::with(&later, STATE_FOR).await;
    assert_eq!(store.verdict().await, Verdict::Live);
    let ran = work(&store.process.idem, store.run, 9).await;
    assert!(matches!(ran, Ok(Ran::Ended(Ok(9)))), "{ran:?}");
}

/// A state that today's code does not know, and a version of the whole that it does not: both are doubt, and
/// doubt is answered with the old receipt, for as long as it lives.
#[tokio::test]
async fn a_state_and_a_version_of_later_are_in_doubt() {
    let state = later(golden::QUEUED, |run| run.state = LaterState::Suspended);
    let version = later(golden::QUEUED, |run| run.version = 2);
    let mut head = bytes(golden::QUEUED);
    head[0] = 2;
    for later in [state, version, head] {
        // Past its queue timeout, if it were queued.
        let store = Store::with(&later, STATE_FOR - QUEUE_TIMEOUT * 2).await;
        assert_eq!(store.verdict().await, Verdict::Indeterminate);
        assert_eq!(store.status().await, RunStatus::Unreadable);
        let left: Vec<u8> = store.server.ask(&["GET", &run_record(store.run)]);
        assert!(store.is_replayed().await);
        let late = work(&store.process.idem, store.run, 9).await;
        assert!(matches!(late, Ok(Ran::NotStarted(RunStatus::Unreadable))), "{late:?}");
        let cancelled = store.process.idem.run(store.run).cancel().await;
        assert_eq!(cancelled.unwrap(), RunStatus::Unreadable);
        let stands: Vec<u8> = store.server.ask(&["GET", &run_record(store.run)]);
        assert_eq!(stands, left, "nobody touches what cannot be read");
    }
}
