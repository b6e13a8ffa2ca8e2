//! The memory map: its operations are steps, its watches miss nothing.

use std::sync::Arc;
use std::time::Duration;

use shuttle::thread;

use super::history::{History, Operation, Reply};
use super::{drawn, exhaust, explore};
use crate::backend::Backend;
use crate::fingerprint::Fingerprint;
use crate::key::Key;
use crate::memory::MemoryBackend;
use crate::protocol::transition::BeginReply;
use crate::record::{Owner, Record, State};
use crate::record_key::RecordKey;
use crate::sync::scheduled::block_on;

const LEASE: Duration = Duration::from_millis(100);
const RETENTION: Duration = Duration::from_millis(40);
const TTL: Duration = Duration::from_millis(160);

pub(super) fn key(text: &str) -> RecordKey {
    RecordKey::new(Arc::from(""), "interleaved".into(), Key::of(text).unwrap())
}

fn owner(number: u64) -> Owner {
    Owner::from_bytes([u8::try_from(number).unwrap() + 1; 16])
}

fn reservation(owner: Owner) -> Record {
    Record::reservation(owner, Fingerprint::NONE, 0).remembered_for(RETENTION)
}

fn outcome(owner: Owner) -> Record {
    Record { state: State::Completed, ..Record::reservation(owner, Fingerprint::NONE, 0) }
}

/// An operation of one of `owners`, as the schedule draws it.
fn any_operation(owners: u64) -> Operation {
    let mine = owner(drawn(owners));
    let others = owner(drawn(owners));
    match drawn(8) {
        0 | 1 => Operation::Begin(reservation(mine), LEASE),
        2 => Operation::Renew(mine, LEASE, RETENTION),
        3 => Operation::Complete(outcome(mine), TTL),
        4 => Operation::Release(mine),
        5 => Operation::Replace {
            seen: reservation(others).head(),
            record: reservation(mine),
            life: LEASE + RETENTION,
            if_lapsed: (drawn(2) == 0).then_some(RETENTION),
        },
        6 => Operation::Discard(mine),
        _ => Operation::Peek,
    }
}

/// Three callers with some operations each, while time passes a lease, a retention and a ttl.
fn any_history(keys: &'static [&'static str], most_records: usize) {
    let store = MemoryBackend::bounded(most_records);
    let history = Arc::new(History::default());
    let callers: Vec<_> = (0..3)
        .map(|_| {
            let (store, history) = (store.clone(), Arc::clone(&history));
            thread::spawn(move || {
                for _ in 0..3 {
                    let key = key(keys[usize::try_from(drawn(keys.len() as u64)).unwrap()]);
                    history.ask(&store, &key, any_operation(2));
                }
            })
        })
        .collect();
    for at in [LEASE, LEASE + RETENTION, LEASE + TTL] {
        history.move_to(at);
    }
    for caller in callers {
        caller.join().unwrap();
    }
    history.check(most_records);
}

#[test]
fn operations_on_one_key_are_steps() {
    explore("memory, one key", 4_000, || any_history(&["a"], 10));
}

#[test]
fn operations_on_two_keys_of_one_shard_are_steps() {
    explore("memory, two keys", 3_000, || any_history(&["a", "b"], 10));
}

#[test]
fn sweeps_and_the_bound_are_steps() {
    explore("memory, room for one of two keys", 3_000, || any_history(&["a", "b"], 1));
}

/// Waits until something stands under the key, by watching first and looking second.
fn wait_for_record(store: &MemoryBackend, key: &RecordKey) {
    block_on(async {
        let mut watch = store.changed(key).await.unwrap();
        while store.peek(key).await.unwrap().is_none() {
            watch.changed().await;
        }
    });
}

#[test]
fn a_watcher_is_woken_by_a_change_after_it_subscribed() {
    exhaust("memory, watch against begin", || {
        let store = MemoryBackend::bounded(10);
        let changes = store.clone();
        let change = thread::spawn(move || {
            Operation::Begin(reservation(owner(0)), LEASE).on(&changes, &key("a"));
        });
        wait_for_record(&store, &key("a"));
        change.join().unwrap();
    });
}

#[test]
fn a_watcher_that_leaves_takes_nobody_elses_watch_along() {
    explore("memory, watch against unwatch and begin", 3_000, || {
        let store = MemoryBackend::bounded(10);
        let mut tasks = Vec::new();
        for _ in 0..2 {
            let leaves = store.clone();
            tasks.push(thread::spawn(move || drop(block_on(leaves.changed(&key("a"))))));
            let watches = store.clone();
            tasks.push(thread::spawn(move || wait_for_record(&watches, &key("a"))));
        }
        let begun = Operation::Begin(reservation(owner(0)), LEASE).on(&store, &key("a"));
        assert_eq!(begun, Reply::Begin(BeginReply::Acquired));
        for task in tasks {
            task.join().unwrap();
        }
        assert!(!store.is_watched(&key("a")), "a watch is left that nobody watches");
    });
}
