//! Replies that come after their time: nothing is mixed up, no reply is taken for another's.

use std::time::Duration;

use futures_util::future::join_all;
use idem_runtime::protocol::transition::BeginReply;
use idem_runtime::testing::Runs;
use idem_runtime::{Backend, Error, ErrorKind, Source};
use idem_tests::{Aim, Fault, eventually};

use super::{COMPLETE, LONG_LEASE, PEEK, RELEASE, Rig, begin_of, record_name, script_on};
use crate::kit::{LONG, outcome, process_with, record_key, reservation, reserved};

const TIMEOUT: Duration = Duration::from_secs(1);
const KEYS: u64 = 40;

/// Commands of many keys share a connection on which some replies come late. Each gets its own.
#[tokio::test]
async fn of_many_operations() {
    let rig = Rig::start();
    let backend = rig.connect_with(|builder| builder.command_timeout(TIMEOUT)).await;
    let mut stored = Vec::new();
    for nth in 0..KEYS {
        let key = record_key(&format!("key {nth}"));
        let owner = reserved(&backend, &key).await;
        let done = outcome(owner, &nth.to_be_bytes());
        backend.complete(&key, &done, LONG).await.unwrap();
        stored.push((key, done));
    }
    // All are sent at once; the reply to the tenth, and with it to all after it, comes too late.
    let held = rig.proxy.on_reply(Aim::script(PEEK).nth(10), Fault::Hold);
    let peeked = join_all(stored.iter().map(|(key, _)| backend.peek(key))).await;
    let mut late = 0;
    for (peeked, (_, done)) in peeked.into_iter().zip(&stored) {
        match peeked {
            Ok(found) => assert_eq!(found.unwrap().standing.record(), Some(done)),
            Err(error) => {
                assert!(!error.is_answer(), "{error}");
                late += 1;
            }
        }
    }
    assert_eq!((held.struck(), late), (1, KEYS - 9));
    // The late replies come while others are waited for, with the same commands and other ones.
    let (others, ()) = tokio::join!(
        join_all(stored.iter().rev().map(async |(key, done)| {
            let found = backend.peek(key).await.unwrap().unwrap();
            assert_eq!(found.standing.record(), Some(done));
            backend.begin(key, &reservation(done.owner), LONG).await.unwrap()
        })),
        async {
            held.lift();
            let all = || rig.proxy.answered(&Aim::script(PEEK)) as u64;
            // Those before the tenth, and as many as there are in the second round: the rest of the
            // first has nobody to go to.
            eventually("all have been answered", || all() >= 9 + KEYS).await;
        }
    );
    for (begun, (_, done)) in others.into_iter().zip(stored.iter().rev()) {
        let BeginReply::Found(standing) = begun else { panic!("{begun:?}") };
        assert_eq!(standing.record(), Some(done));
    }
}

/// The same by way of calls: every seventh reply is late, every caller gets its own value, and every
/// action runs once.
#[tokio::test]
async fn of_many_calls() {
    let rig = Rig::start();
    let backend = rig.connect_with(|builder| builder.command_timeout(TIMEOUT)).await;
    let process = process_with(backend, |builder| builder.lease(LONG).store_timeout(LONG));
    let runs = Runs::new();
    let mut traps = Vec::new();
    for nth in (7..=KEYS as usize).step_by(7) {
        let delay = Fault::Delay(TIMEOUT + TIMEOUT / 2);
        traps.push(rig.proxy.on_reply(Aim::command("SET").nth(nth), delay.clone()));
        traps.push(rig.proxy.on_reply(Aim::script(COMPLETE).nth(nth), delay));
    }
    for round in 0..3 {
        let calls = join_all((0..KEYS).map(async |nth| {
            let key = format!("key {nth}");
            let action = async |_| {
                let _run = runs.start(key.as_str());
                Ok::<_, Error>(nth)
            };
            process.idem.call("charge").key(&key).run(action).await.unwrap()
        }));
        for (nth, outcome) in (0..).zip(calls.await) {
            assert_eq!(outcome.value, nth);
            assert!(outcome.stored && !outcome.lapsed);
            assert!(round == 0 || outcome.source == Source::Replayed);
        }
    }
    assert!(traps.iter().all(|trap| trap.struck() == 1));
    assert!((0..KEYS).all(|nth| runs.total(&format!("key {nth}")) == 1));
}

/// The reply to a begin does not come while the call may wait: nothing runs, and the key is freed by
/// the keeper although the begin was carried out.
#[tokio::test]
async fn to_a_begin_that_is_given_up() {
    let rig = Rig::start();
    let backend = rig.connect_with(|builder| builder.command_timeout(LONG)).await;
    // One begin, which has a second to be carried out.
    let process = process_with(backend, |builder| {
        builder.lease(LONG_LEASE).store_timeout(Duration::from_secs(1))
    });
    let held = rig.proxy.on_reply(begin_of("a"), Fault::Hold);
    let error = process.call("a", 1).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Backend, true));
    assert_eq!(held.struck(), 1);
    let released = || rig.proxy.answered(&script_on(RELEASE, "a")) > 0;
    eventually("the keeper has freed the key", released).await;
    assert!(!rig.server.ask::<bool>(&["EXISTS", &record_name("a")]));
    assert!(!process.events.has("executed"));
    rig.proxy.heal();
    let outcome = process.call("a", 2).await.unwrap();
    assert_eq!((outcome.value, outcome.source), (2, Source::Fresh));
}

/// The reply to a completion comes too late: the caller has its value, the keeper finds it stored.
#[tokio::test]
async fn to_a_completion() {
    let rig = Rig::start();
    let backend = rig.connect_with(|builder| builder.command_timeout(TIMEOUT)).await;
    let process = process_with(backend, |builder| builder.lease(LONG_LEASE).store_timeout(TIMEOUT));
    let held = rig.proxy.on_reply(script_on(COMPLETE, "a"), Fault::Hold);
    let first = process.call("a", 1).await.unwrap();
    assert_eq!((first.value, first.stored), (1, false));
    assert!(process.events.has("completion_deferred"));
    // The caller's one, and two tries of the keeper at least.
    eventually("the keeper has tried again", || held.struck() > 2).await;
    rig.proxy.heal();
    eventually("the keeper knows", || process.events.has("deferred_stored")).await;
    let again = process.call("a", 2).await.unwrap();
    assert_eq!((again.value, again.source), (1, Source::Replayed));
}
