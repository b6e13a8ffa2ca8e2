//! A connection is cut at each command in turn, wherever that falls: everything that calls do succeeds
//! all the same, and runs once.

use idem_redis::RedisBackend;
use idem_runtime::testing::Runs;
use idem_runtime::{Error, ErrorKind, Lease, OnCrash, OnDuplicate, Source};
use idem_tests::{Aim, Events, Fault, eventually};

use super::{LONG_LEASE, Rig};
use crate::kit::{Process, process_with};

/// What is said to the server by one of everything that calls do.
async fn one_of_everything(process: &Process, waiter: &Process, runs: &Runs) {
    let action = |lease: Lease| async move {
        let _run = runs.start("fenced");
        Ok::<_, Error>(lease.fence().await.unwrap())
    };
    // It would meet nobody but itself.
    let call = || {
        let call = process.idem.call("charge").key("fenced");
        call.on_crash(OnCrash::Refuse).on_duplicate(OnDuplicate::Reject)
    };
    let fenced = call().run(action).await.unwrap();
    assert!(fenced.stored && !fenced.lapsed && fenced.value > 0);
    let again = call().run(action).await.unwrap();
    assert_eq!((again.value, again.source), (fenced.value, Source::Replayed));

    let fails = |_| async {
        let _run = runs.start("fails");
        Err::<u64, _>(Error::of_kind(ErrorKind::NotKept, "charge"))
    };
    let failed = process.idem.call("charge").key("fails").run(fails).await.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::NotKept);
    assert_eq!(process.call("fails", 1).await.unwrap().source, Source::Fresh);

    let began = tokio::sync::Notify::new();
    let (first, second) = tokio::join!(
        process.call_until("waited", 2, async {
            let _run = runs.start("waited");
            began.notify_one();
            eventually("renewed", || process.events.has("renewed")).await;
        }),
        async {
            began.notified().await;
            waiter.call("waited", 3).await.unwrap()
        },
    );
    let first = first.unwrap();
    assert!(first.stored && !first.lapsed);
    assert_eq!((second.value, second.source), (2, Source::Waited));
}

fn nothing_went_wrong(events: &Events) {
    for event in ["failed", "lease_at_risk", "lease_gone", "lease_lost", "completion_deferred"] {
        assert!(!events.has(event), "{:?}", events.all());
    }
}

/// Cuts at the n-th command after both have connected, each with its version of the protocol; says
/// whether there was one.
async fn survives(nth: usize, cut: impl FnOnce(&Rig, Aim) -> idem_tests::Trap) -> bool {
    let rig = Rig::start();
    let process = rig.process().await;
    let url = format!("{}?protocol=resp3", rig.proxy.url());
    let backend = RedisBackend::connect(&url).await.unwrap();
    let waiter = process_with(backend, |builder| builder.lease(LONG_LEASE));
    let trap = cut(&rig, Aim::all().nth(nth));
    let runs = Runs::new();
    one_of_everything(&process, &waiter, &runs).await;
    for name in ["fenced", "fails", "waited"] {
        assert_eq!(runs.total(name), 1, "{name}, cut at {nth}");
    }
    nothing_went_wrong(&process.events);
    nothing_went_wrong(&waiter.events);
    trap.struck() > 0
}

/// Runs it with every place to cut at, a few at a time, until there is none any more.
async fn everywhere(cut: fn(&Rig, Aim) -> idem_tests::Trap) {
    const AT_ONCE: usize = 8;
    for first in (1..).step_by(AT_ONCE) {
        let struck =
            futures_util::future::join_all((first..first + AT_ONCE).map(|nth| survives(nth, cut)));
        let struck = struck.await;
        if struck.contains(&false) {
            // Fifteen commands at the least, and more where waiting takes more looks.
            assert!(first > 15, "{first}");
            return;
        }
    }
}

#[tokio::test]
async fn before_a_request() {
    everywhere(|rig, aim| rig.proxy.on_request(aim, Fault::Cut(0))).await;
}

#[tokio::test]
async fn before_a_reply() {
    everywhere(|rig, aim| rig.proxy.on_reply(aim, Fault::Cut(0))).await;
}

#[tokio::test]
async fn in_a_reply() {
    everywhere(|rig, aim| rig.proxy.on_reply(aim, Fault::Cut(2))).await;
}
