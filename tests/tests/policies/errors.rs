//! Errors: what they say, and what they do not.

use std::time::Duration;

use idem_runtime::backend::Backend;
use idem_runtime::record::{Owner, Record};
use idem_runtime::{
    BuildError, Error, ErrorKind, Fingerprint, Idem, Key, MemoryBackend, OnCrash, OnDrop,
    OnDuplicate, RecordKey, Status,
};
use idem_tests::{LEASE, TTL, World};

async fn run(call: idem_runtime::DirectCall) -> Result<u64, Error> {
    call.run(|_| async { Ok::<_, Error>(1) }).await.map(|outcome| outcome.value)
}

/// Bad settings are refused before anything is reserved, each with its range.
#[tokio::test(start_paused = true)]
async fn settings_out_of_range_are_refused() {
    let process = World::new().process();
    let call = || process.idem.call("op").key("k");
    let cases = [
        (call().lease(Duration::from_millis(99)), "100 ms"),
        (call().lease(Duration::from_secs(24 * 3600 + 1)).ttl(TTL * 100), "24 h"),
        (call().ttl(LEASE / 2), "at least the lease"),
        (call().deadline(LEASE / 2), "at least the lease"),
        (call().retention(Duration::ZERO), "more than zero"),
        (call().ttl(Duration::from_secs(3651 * 24 * 3600)), "3650 days"),
        (call().on_duplicate(OnDuplicate::WaitFor(Duration::from_millis(0))), "reject"),
        (call().on_drop(OnDrop::Detach), "run_detached"),
        (call().on_crash(OnCrash::Reconcile), "run_reconciling"),
        (process.idem.call("idem.run").key("k"), "kept for idem"),
        (process.idem.call("a:b").key("k"), "letters"),
        (process.idem.call("").key("k"), "letters"),
    ];
    for (call, says) in cases {
        let shown = format!("{call:?}");
        let refused = run(call).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidSetting, "{shown}");
        assert!(refused.to_string().contains(says), "{refused}");
    }
    let refused = run(process.idem.call("op")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidKey);
    assert!(process.events.all().is_empty());
}

#[test]
fn builders_refuse_what_cannot_be_a_default() {
    let refused = |builder: idem_runtime::Builder| builder.build().unwrap_err().to_string();
    let with = || Idem::builder().backend(MemoryBackend::new());
    assert_eq!(Idem::builder().build().unwrap_err(), BuildError::NoBackend);
    assert!(refused(with().prefix("a:b")).contains("prefix"));
    assert!(refused(with().on_drop(OnDrop::Detach)).contains("per function"));
    assert!(refused(with().on_crash(OnCrash::Reconcile)).contains("per function"));
    assert!(refused(with().lease(Duration::ZERO)).contains("100 ms"));
    assert!(refused(with().ttl(Duration::from_secs(1))).contains("at least the lease"));
    assert!(refused(with().store_timeout(Duration::ZERO)).contains("more than zero"));
}

/// Messages name the operation, and the key only as a short hash unless the builder says otherwise.
#[tokio::test(start_paused = true)]
async fn keys_are_hashed_unless_shown() {
    for shown in [false, true] {
        let settings =
            |builder: idem_runtime::Builder| if shown { builder.show_keys() } else { builder };
        let process = World::new().process_with(settings);
        let charge =
            |cents: u64| process.idem.call("payments.charge").key("secret-17").fingerprint(&cents);
        run(charge(1)).await.unwrap();
        let mismatch = run(charge(2)).await.unwrap_err();
        for text in [mismatch.to_string(), format!("{mismatch:?}")] {
            assert!(text.contains("payments.charge"), "{text}");
            assert_eq!(text.contains("secret-17"), shown, "{text}");
        }
    }
}

/// A record of another version, or a damaged head, is somebody's work in progress: never absent,
/// never an outcome.
#[tokio::test(start_paused = true)]
async fn a_record_that_cannot_be_read_is_in_progress() {
    let key = RecordKey::new("".into(), "op".into(), Key::of("k").unwrap());
    let good = Record::reservation(Owner::fresh(), Fingerprint::NONE, 1).to_bytes();
    let mut newer = good.clone();
    newer[0] = 2;
    let mut no_state = good.clone();
    no_state[1] = 7;
    for bytes in [&newer[..], &no_state, &good[..67], b"", b"not a record"] {
        let world = World::new();
        let process = world.process();
        world.store.plant(&key, bytes, LEASE * 5);
        let refused = run(process.idem.call("op").key("k")).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InProgress);
        let status = process.idem.inspect("op", "k").await.unwrap().unwrap().status;
        assert_eq!(status, Status::Unreadable);
        let decided = process.idem.decide("op", "k", idem_runtime::Decision::run_again()).await;
        assert_eq!(decided.unwrap(), idem_runtime::Decided::InProgress);
        // When it is gone the key is free.
        let call = process
            .idem
            .call("op")
            .key("k")
            .on_duplicate(OnDuplicate::WaitFor(Duration::from_millis(9_000)));
        assert_eq!(run(call).await.unwrap(), 1);
    }
}

/// An outcome whose bytes were damaged, whose codec or version is another one: `Unreadable`, and
/// nothing runs.
#[tokio::test(start_paused = true)]
async fn an_outcome_that_cannot_be_read_back_is_no_reason_to_run() {
    let key = RecordKey::new("".into(), "op".into(), Key::of("k").unwrap());
    let world = World::new();
    let process = world.process();
    assert_eq!(run(process.idem.call("op").key("k").version(3)).await.unwrap(), 1);
    let stored = world.store.peek(&key).await.unwrap().unwrap();
    let stored = stored.standing.record().unwrap().to_bytes();
    let unreadable = |call| async { run(call).await.unwrap_err().to_string() };
    let call = || process.idem.call("op").key("k");
    assert!(unreadable(call().version(4)).await.contains("version 3"));
    let json = call().version(3).codec::<idem_runtime::codec::Json>();
    let error = json.run(|_| async { Ok::<_, Error>(1_u64) }).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreadable);
    assert!(error.to_string().contains("codec 1"), "{error}");
    for at in 68..stored.len() {
        let mut damaged = stored.clone();
        damaged[at] ^= 0x40;
        world.store.plant(&key, &damaged, TTL);
        assert!(unreadable(call().version(3)).await.contains("damaged"), "byte {at}");
    }
    for len in 68..stored.len() {
        world.store.plant(&key, &stored[..len], TTL);
        assert!(unreadable(call().version(3)).await.contains("damaged"), "cut to {len}");
    }
    assert_eq!(process.events.count("executed"), 1);
}

/// The memory backend refuses when it is full, and forgets nothing that is live.
#[tokio::test(start_paused = true)]
async fn a_full_memory_backend_refuses() {
    let idem = Idem::builder()
        .backend(MemoryBackend::bounded(3))
        .keeper_as_task()
        .lease(LEASE)
        .ttl(LEASE * 10)
        .build()
        .unwrap();
    for key in 0..3 {
        run(idem.call("op").key(&key)).await.unwrap();
    }
    let full = run(idem.call("op").key(&3)).await.unwrap_err();
    assert_eq!(full.kind(), ErrorKind::Backend);
    assert!(full.to_string().contains("full (3 records"), "{full}");
    // What is there replays; what has expired makes room.
    run(idem.call("op").key(&0)).await.unwrap();
    tokio::time::sleep(LEASE * 11).await;
    run(idem.call("op").key(&3)).await.unwrap();
}
