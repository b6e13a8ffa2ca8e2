//! What is stored, replayed, and refused.

use idem_runtime::codec::{Bincode, Json};
use idem_runtime::on_error::StoreIf;
use idem_runtime::testing::Operation;
use idem_runtime::{Codec, Error, ErrorKind, Idem, OnDuplicate, Outcome, Source};
use idem_tests::World;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

/// An identical retry from a cold process replays; other arguments are refused, in progress and
/// completed.
#[tokio::test(start_paused = true)]
async fn fingerprint_life() {
    async fn charge(idem: &Idem, cents: u64) -> Result<Outcome<u64>, Error> {
        let call = idem.call("charge").key("order").fingerprint(&cents);
        call.on_duplicate(OnDuplicate::Reject)
            .run(|_| async move {
                sleep(idem_tests::LEASE).await;
                Ok::<_, Error>(cents)
            })
            .await
    }
    let world = World::new();
    let (warm, cold) = (world.process(), world.process());
    let idem = warm.idem.clone();
    let first = tokio::spawn(async move { charge(&idem, 100).await });
    idem_tests::eventually("the first runs", || warm.faults.sent(Operation::Begin) == 1).await;
    for process in [&warm, &cold] {
        let in_progress = charge(&process.idem, 999).await.unwrap_err();
        assert_eq!(in_progress.kind(), ErrorKind::FingerprintMismatch, "before `InProgress`");
        assert_eq!(charge(&process.idem, 100).await.unwrap_err().kind(), ErrorKind::InProgress);
    }
    assert_eq!(first.await.unwrap().unwrap().value, 100);
    for process in [&warm, &cold] {
        assert_eq!(charge(&process.idem, 100).await.unwrap().source, Source::Replayed);
        let completed = charge(&process.idem, 999).await.unwrap_err();
        assert_eq!(completed.kind(), ErrorKind::FingerprintMismatch);
        assert!(!completed.is_retryable());
    }
    // A refused duplicate has changed nothing.
    assert_eq!(charge(&world.process().idem, 100).await.unwrap().value, 100);
    assert_eq!(warm.events.count("mismatch") + cold.events.count("mismatch"), 4);
}

/// Two operations with equal keys are two records.
#[tokio::test(start_paused = true)]
async fn two_operations_one_key() {
    let process = World::new().process();
    for operation in ["one", "two"] {
        let call = process.idem.call(operation).key("k");
        let outcome = call.run(|_| async { Ok::<_, Error>(operation.to_owned()) }).await.unwrap();
        assert_eq!((outcome.value.as_str(), outcome.source), (operation, Source::Fresh));
    }
}

#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
enum ChargeError {
    #[error("try again")]
    Transient,
    #[error("declined")]
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

/// A transient error frees the key and the retry runs; a permanent one is replayed.
#[tokio::test(start_paused = true)]
async fn error_then_retry() {
    let world = World::new();
    let process = world.process();
    let call = |error: ChargeError| {
        let runs = world.runs.clone();
        process.idem.call("charge").key("k").on_error(StoreIf(ChargeError::is_permanent)).run(
            move |_| async move {
                let _run = runs.start("action");
                Err::<(), _>(error)
            },
        )
    };
    for _ in 0..2 {
        assert!(matches!(call(ChargeError::Transient).await, Err(ChargeError::Transient)));
    }
    let declined = call(ChargeError::Declined { code: 51 }).await;
    assert!(matches!(declined, Err(ChargeError::Declined { code: 51 })));
    let replayed = call(ChargeError::Transient).await;
    assert!(matches!(replayed, Err(ChargeError::Declined { code: 51 })), "{replayed:?}");
    assert_eq!(world.runs.total("action"), 3);
    assert_eq!(process.events.count("replayed"), 1);
}

/// A result above the limit: its caller has it, a duplicate is told `NotKept`, and nothing runs.
#[tokio::test(start_paused = true)]
async fn big_result() {
    let world = World::new();
    let process = world.process_with(|builder| builder.max_result(1_000));
    let call = |size: usize| {
        let runs = world.runs.clone();
        process.idem.call("op").key(&size).run(move |_| async move {
            let _run = runs.start("action");
            Ok::<_, Error>("x".repeat(size))
        })
    };
    assert_eq!(call(900).await.unwrap().source, Source::Fresh);
    assert_eq!(call(900).await.unwrap().source, Source::Replayed);
    let first = call(1_000).await.unwrap();
    assert_eq!(first.value.len(), 1_000);
    assert!(!first.stored, "only that it is done is stored: there is nothing to replay");
    let refused = call(1_000).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotKept);
    assert!(refused.to_string().contains("max_result"), "{refused}");
    assert_eq!(world.runs.total("action"), 2);
    assert_eq!(process.events.count("not_kept"), 1);
}

mod old {
    use super::*;
    #[derive(Debug, Serialize, Deserialize)]
    pub(super) struct Receipt {
        pub(super) id: u64,
        pub(super) note: String,
    }
}

mod changed {
    use super::*;
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(super) struct Added {
        pub(super) id: u64,
        pub(super) note: String,
        #[serde(default)]
        pub(super) paid: bool,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(super) struct Removed {
        pub(super) id: u64,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(super) struct Retyped {
        pub(super) id: String,
        pub(super) note: String,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(super) struct Reordered {
        pub(super) note: String,
        pub(super) id: u64,
    }
}

fn no_reason_to_run<T>() -> Result<T, Error> {
    panic!("an outcome that cannot be read is no reason to run")
}

/// What a newer struct makes of an outcome stored by an older one: read correctly where the codec
/// keeps field names, `Unreadable` otherwise; never another value, never a second run.
#[tokio::test(start_paused = true)]
async fn changed_type() {
    async fn read_as<C: Codec, T: Serialize + DeserializeOwned + std::fmt::Debug>()
    -> Result<T, ErrorKind> {
        let process = World::new().process();
        let old = old::Receipt { id: 258, note: "paid".to_owned() };
        let stored =
            process.idem.call("op").key("k").codec::<C>().run(|_| async { Ok::<_, Error>(old) });
        assert!(stored.await.unwrap().stored);
        let read = process
            .idem
            .call("op")
            .key("k")
            .codec::<C>()
            .run(|_| async { no_reason_to_run::<T>() });
        read.await.map(|outcome| outcome.value).map_err(|error| error.kind())
    }
    async fn with_names<C: Codec>() {
        let note = || "paid".to_owned();
        let added = changed::Added { id: 258, note: note(), paid: false };
        assert_eq!(read_as::<C, changed::Added>().await, Ok(added));
        assert_eq!(read_as::<C, changed::Removed>().await, Ok(changed::Removed { id: 258 }));
        let reordered = changed::Reordered { note: note(), id: 258 };
        assert_eq!(read_as::<C, changed::Reordered>().await, Ok(reordered));
        assert_eq!(read_as::<C, changed::Retyped>().await, Err(ErrorKind::Unreadable));
    }
    with_names::<idem_runtime::codec::MessagePack>().await;
    with_names::<Json>().await;
    assert_eq!(read_as::<Bincode, changed::Added>().await, Err(ErrorKind::Unreadable));
    assert_eq!(read_as::<Bincode, changed::Removed>().await, Err(ErrorKind::Unreadable));
    assert_eq!(read_as::<Bincode, changed::Retyped>().await, Err(ErrorKind::Unreadable));
    assert_eq!(read_as::<Bincode, changed::Reordered>().await, Err(ErrorKind::Unreadable));
}
