//! What is stored, replayed, and refused.

use idem_runtime::codec::{Bincode, Json, MessagePack};
use idem_runtime::on_error::StoreIf;
use idem_runtime::{Codec, Error, ErrorKind, Source};
use idem_tests::TTL;
use idem_tests::caller::{Call, Ends, OPERATION, OnDuplicate};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::kit::{LONG, World, assert_refused, caller};

/// An identical retry from a cold process replays; other arguments are refused, in progress and
/// completed, by the process that runs, by another, and by one that has just started.
#[test]
fn fingerprint_life() {
    let world = World::start();
    let settings = world.settings().lease(LONG).on_duplicate(OnDuplicate::Reject);
    let (mut runs, mut other) = (caller(&settings), caller(&settings));
    let call = |cents: u64| Call::of("order", cents).fingerprint(cents);
    runs.begin(call(100).ends(Ends::WhenTold));
    for process in [&mut runs, &mut other, &mut caller(&settings)] {
        assert_refused(&process.answer_to(call(999)), ErrorKind::FingerprintMismatch);
        assert_refused(&process.answer_to(call(100)), ErrorKind::InProgress);
    }
    runs.finish("order");
    assert_eq!(runs.answer("order").unwrap().value, 100);
    let stands = world.stands("order");
    for process in [&mut runs, &mut other, &mut caller(&settings)] {
        assert_refused(&process.answer_to(call(999)), ErrorKind::FingerprintMismatch);
        let replayed = process.answer_to(call(100)).unwrap();
        assert_eq!((replayed.value, replayed.source.as_str()), (100, "Replayed"));
    }
    assert_eq!(world.stands("order"), stands, "a refused duplicate changes nothing");
    assert_eq!(world.ledger.effects(), ["order 100"]);
}

/// Two operations with equal keys are two records.
#[tokio::test]
async fn two_operations_one_key() {
    let world = World::start();
    let process = world.process().await;
    for expected in [Source::Fresh, Source::Replayed] {
        for operation in ["one", "two"] {
            let call = process.idem.call(operation).key("a");
            let outcome = call.run(|_| async { Ok::<_, Error>(operation.to_owned()) });
            let outcome = outcome.await.unwrap();
            assert_eq!((outcome.value.as_str(), outcome.source), (operation, expected));
        }
    }
    assert_eq!(world.server.ask::<u64>(&["DBSIZE"]), 2);
}

#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
enum ChargeError {
    #[error("try again")]
    Transient,
    #[error("declined: {code}")]
    Declined { code: u16 },
    #[error("{0}")]
    Idem(String),
}

impl From<Error> for ChargeError {
    fn from(error: Error) -> Self {
        Self::Idem(error.to_string())
    }
}

impl ChargeError {
    fn is_permanent(&self) -> bool {
        matches!(self, Self::Declined { .. })
    }
}

/// A transient error frees the key and the retry runs, from another process as well; a permanent one
/// is replayed there.
#[tokio::test]
async fn error_then_retry() {
    let world = World::start();
    let (one, other) = (world.process().await, world.process().await);
    let call = |process: &idem_tests::Process, error: ChargeError| {
        let runs = world.runs.clone();
        let call = process.idem.call(OPERATION).key("a");
        call.on_error(StoreIf(ChargeError::is_permanent)).run(move |_| async move {
            let _run = runs.start("action");
            Err::<(), _>(error)
        })
    };
    for process in [&one, &other] {
        let transient = call(process, ChargeError::Transient).await;
        assert!(matches!(transient, Err(ChargeError::Transient)), "{transient:?}");
        assert_eq!(world.record("a"), None);
    }
    let declined = call(&one, ChargeError::Declined { code: 51 }).await;
    assert!(matches!(declined, Err(ChargeError::Declined { code: 51 })), "{declined:?}");
    for process in [&one, &other] {
        let replayed = call(process, ChargeError::Transient).await;
        assert!(matches!(replayed, Err(ChargeError::Declined { code: 51 })), "{replayed:?}");
    }
    assert_eq!(world.runs.total("action"), 3);
}

/// A result above the limit, here the default of 1 MiB: its caller has it, a duplicate is told
/// `NotKept`, and nothing runs. One below it is kept.
#[tokio::test]
async fn big_result() {
    let world = World::start();
    let (one, other) = (world.process().await, world.process().await);
    let call = |process: &idem_tests::Process, key: &'static str, size: usize| {
        let runs = world.runs.clone();
        process.idem.call(OPERATION).key(key).run(move |_| async move {
            let _run = runs.start(key);
            Ok::<_, Error>("x".repeat(size))
        })
    };
    const LIMIT: usize = 1 << 20;
    assert!(call(&one, "below", LIMIT - 100).await.unwrap().stored);
    let replayed = call(&other, "below", 0).await.unwrap();
    assert_eq!((replayed.value.len(), replayed.source), (LIMIT - 100, Source::Replayed));
    let first = call(&one, "above", LIMIT).await.unwrap();
    assert_eq!((first.value.len(), first.stored), (LIMIT, false));
    for process in [&one, &other] {
        let refused = call(process, "above", 0).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotKept);
    }
    assert_eq!((world.runs.total("below"), world.runs.total("above")), (1, 1));
    let ends = world.expires_at("above").unwrap();
    assert!(ends > world.now() + i64::try_from(TTL.as_millis() / 2).unwrap(), "kept for the ttl");
}

/// The struct that an outcome was stored as.
#[derive(Debug, Serialize, Deserialize)]
struct Old {
    id: u64,
    note: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Added {
    id: u64,
    note: String,
    #[serde(default)]
    paid: bool,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Removed {
    id: u64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Retyped {
    id: String,
    note: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Reordered {
    note: String,
    id: u64,
}

fn no_reason_to_run<T>() -> Result<T, Error> {
    panic!("an outcome that cannot be read is no reason to run")
}

/// Stores an outcome as the older struct and reads it as the newer one, each in a process of its own.
async fn read_as<C, T>(world: &World, key: &str) -> Result<T, ErrorKind>
where
    C: Codec,
    T: Serialize + DeserializeOwned + std::fmt::Debug,
{
    let (older, newer) = (world.process().await, world.process().await);
    let stored = older.idem.call(OPERATION).key(key).codec::<C>();
    let stored =
        stored.run(|_| async { Ok::<_, Error>(Old { id: 258, note: "paid".to_owned() }) }).await;
    assert_eq!(stored.unwrap().source, Source::Fresh);
    let stands = world.stands(key);
    let read =
        newer.idem.call(OPERATION).key(key).codec::<C>().run(|_| async { no_reason_to_run::<T>() });
    let read = read.await.map(|outcome| outcome.value).map_err(|error| error.kind());
    assert_eq!(world.stands(key), stands, "reading changes nothing");
    read
}

/// What a newer struct makes of an outcome stored by an older one: read correctly where the codec
/// keeps field names, `Unreadable` otherwise; never another value, never a second run.
#[tokio::test]
async fn changed_type() {
    async fn with_names<C: Codec>(world: &World, codec: &str) {
        let key = |change: &str| format!("{codec} {change}");
        let note = || "paid".to_owned();
        let added = read_as::<C, Added>(world, &key("added")).await;
        assert_eq!(added, Ok(Added { id: 258, note: note(), paid: false }));
        let removed = read_as::<C, Removed>(world, &key("removed")).await;
        assert_eq!(removed, Ok(Removed { id: 258 }));
        let reordered = read_as::<C, Reordered>(world, &key("reordered")).await;
        assert_eq!(reordered, Ok(Reordered { note: note(), id: 258 }));
        let retyped = read_as::<C, Retyped>(world, &key("retyped")).await;
        assert_eq!(retyped, Err(ErrorKind::Unreadable));
    }
    let world = World::start();
    with_names::<MessagePack>(&world, "message pack").await;
    with_names::<Json>(&world, "json").await;
    let unreadable = ErrorKind::Unreadable;
    assert_eq!(read_as::<Bincode, Added>(&world, "added").await, Err(unreadable));
    assert_eq!(read_as::<Bincode, Removed>(&world, "removed").await, Err(unreadable));
    assert_eq!(read_as::<Bincode, Retyped>(&world, "retyped").await, Err(unreadable));
    assert_eq!(read_as::<Bincode, Reordered>(&world, "reordered").await, Err(unreadable));
}
