//! The server is killed and started again: with what it had written down, or empty.

use std::cell::RefCell;
use std::time::Duration;

use futures_util::future::join_all;
use idem_runtime::{ErrorKind, OnCrash, OnDuplicate, Source};
use idem_tests::{LEASE, RedisServer, eventually};
use tokio::time::sleep;

use super::load::Load;
use super::{LONG_LEASE, record_name};
use crate::kit::{Process, connect, process, process_with};

async fn long(server: &RedisServer) -> Process {
    process_with(connect(server).await, |builder| {
        builder.lease(LONG_LEASE).store_timeout(Duration::from_secs(30))
    })
}

async fn rejected(process: &Process, key: &str) {
    let call = process.idem.call("charge").key(key).on_duplicate(OnDuplicate::Reject);
    let call = call.run(|_| async { Ok::<_, idem_runtime::Error>(0_u64) });
    assert_eq!(call.await.unwrap_err().kind(), ErrorKind::InProgress, "{key}");
}

/// With its file: outcomes are replayed, by this process and by others; a reservation is still held,
/// and ends with an outcome as if nothing had been.
#[tokio::test]
async fn what_is_written_down_stands() {
    let mut server = RedisServer::start_kept();
    let owner = long(&server).await;
    assert!(owner.call("done", 1).await.unwrap().stored);
    let outcome = owner.call_until("runs", 2, async {
        server.restart();
        let other = long(&server).await;
        let replay = other.call("done", 3).await.unwrap();
        assert_eq!((replay.value, replay.source), (1, Source::Replayed));
        rejected(&other, "runs").await;
        let renewed = owner.events.count("renewed");
        eventually("its lease is renewed", || owner.events.count("renewed") > renewed).await;
    });
    let outcome = outcome.await.unwrap();
    assert_eq!((outcome.source, outcome.stored, outcome.lapsed), (Source::Fresh, true, false));
    assert!(!owner.events.has("lease_gone"));
    assert_eq!(owner.call("done", 4).await.unwrap().value, 1);
    server.restart();
    assert_eq!(process(&server).await.call("runs", 5).await.unwrap().value, 2);
}

/// With its file, and away for longer than a lease: what it had written down has lapsed by its own
/// clock. The owner begins again, and is told.
#[tokio::test]
async fn a_lease_goes_on_running_out_while_the_server_is_away() {
    let mut server = RedisServer::start_kept();
    let owner = process(&server).await;
    let outcome = owner.call_until("a", 1, async {
        server.kill();
        sleep(LEASE * 2).await;
        server.restart();
        eventually("the keeper finds nothing", || owner.events.has("lease_gone")).await;
        eventually("reserved again", || server.ask(&["EXISTS", &record_name("a")])).await;
    });
    let outcome = outcome.await.unwrap();
    assert!(outcome.stored && outcome.lapsed && owner.events.has("lease_at_risk"));
    assert_eq!(process(&server).await.call("a", 2).await.unwrap().source, Source::Replayed);
}

/// A crash that is remembered is remembered after the server's own.
#[tokio::test]
async fn a_remembered_crash_stands() {
    let mut server = RedisServer::start_kept();
    let careful = |builder: idem_runtime::Builder| builder.on_crash(OnCrash::Refuse);
    let crashes = process_with(connect(&server).await, careful);
    let runs = tokio::sync::Notify::new();
    let call = crashes.call_until("a", 1, async {
        runs.notify_one();
        std::future::pending::<()>().await;
    });
    // Dropped while it runs, with its process: nobody renews or releases.
    tokio::select! {
        _ = call => unreachable!("it never ends"),
        () = runs.notified() => {}
    }
    drop(crashes);
    server.restart();
    let other = process_with(connect(&server).await, careful);
    let error = other.call("a", 2).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_run()), (ErrorKind::OutcomeUnknown, true));
}

/// Killed at any moment under load, with its file: each action runs once, and nothing that was stored
/// is lost.
#[tokio::test]
async fn under_load() {
    let mut server = RedisServer::start_kept();
    let (one, other) = (long(&server).await, long(&server).await);
    let load = Load::default();
    let trouble = async {
        for keys in [3, 1, 5, 2] {
            load.goes_on_for(keys).await;
            server.restart();
        }
        load.goes_on_for(1).await;
    };
    load.until([&one, &other], trouble).await;
    load.is_remembered_by(&process(&server).await).await;
}

/// Empty: the keys of running actions are reserved again, so that duplicates are refused as before;
/// forgotten outcomes run again.
#[tokio::test]
async fn what_runs_is_reserved_again_in_an_empty_server() {
    const RUNNING: u64 = 20;
    let mut server = RedisServer::start();
    let owner = long(&server).await;
    owner.call("done", 1).await.unwrap();
    let (end, ended) = tokio::sync::watch::channel(false);
    let running = join_all((0..RUNNING).map(async |nth| {
        let mut ended = ended.clone();
        let end = async move { drop(ended.wait_for(|ended| *ended).await.unwrap()) };
        owner.call_until(&format!("key {nth}"), nth, end).await.unwrap()
    }));
    let (outcomes, ()) = tokio::join!(running, async {
        eventually("all have begun", || server.calls("set") >= RUNNING + 2).await;
        server.restart();
        let all = || server.ask::<u64>(&["DBSIZE"]) == RUNNING;
        eventually("all are reserved again", all).await;
        let other = long(&server).await;
        for nth in 0..RUNNING {
            rejected(&other, &format!("key {nth}")).await;
        }
        assert_eq!(other.call("done", 2).await.unwrap().source, Source::Fresh);
        end.send_replace(true);
    });
    for (nth, outcome) in (0..).zip(outcomes) {
        assert_eq!(outcome.value, nth);
        // It was away: somebody else may have run.
        assert!(outcome.stored && outcome.lapsed, "key {nth}");
    }
    assert_eq!(owner.events.count("lease_gone"), usize::try_from(RUNNING).unwrap());
}

/// Empty, and another one has the key before its owner's keeper looks: the other one runs, the first is
/// told and stores nothing.
#[tokio::test]
async fn another_has_the_key_first_in_an_empty_server() {
    let mut server = RedisServer::start();
    let owner = long(&server).await;
    let second = RefCell::new(None);
    let first = owner.call_until("a", 1, async {
        server.restart();
        let other = long(&server).await;
        let until = eventually("the first is told", || owner.events.has("lease_lost"));
        *second.borrow_mut() = Some(other.call_until("a", 2, until).await);
    });
    assert_eq!(first.await.unwrap_err().kind(), ErrorKind::LeaseLost);
    let second = second.into_inner().unwrap().unwrap();
    assert_eq!((second.value, second.source, second.stored), (2, Source::Fresh, true));
    assert!(!second.lapsed);
    assert_eq!(owner.call("a", 3).await.unwrap().value, 2);
}

/// Whoever waits when the server is killed has the outcome afterwards.
#[tokio::test]
async fn waits_go_on() {
    let mut server = RedisServer::start_kept();
    let (owner, waiter) = (long(&server).await, long(&server).await);
    let began = tokio::sync::Notify::new();
    let (first, second) = tokio::join!(
        owner.call_until("a", 1, async {
            began.notify_one();
            eventually("it waits", || server.calls("ssubscribe") == 1).await;
            server.restart();
            eventually("it waits again", || server.calls("ssubscribe") == 1).await;
        }),
        async {
            began.notified().await;
            waiter.call("a", 2).await
        },
    );
    assert!(first.unwrap().stored);
    let second = second.unwrap();
    assert_eq!((second.value, second.source), (1, Source::Waited));
}

/// A server that is loading what it had written down is not there yet: that is no answer.
#[tokio::test]
async fn a_server_that_is_loading_is_waited_for() {
    // A fifth of a millisecond for each key.
    let mut server = RedisServer::start_kept_with(&["--key-load-delay", "200"]);
    let process = process_with(connect(&server).await, |builder| {
        builder.lease(Duration::from_secs(60)).store_timeout(Duration::from_secs(30))
    });
    // It hears its clients after every 1,024 commands that it loads.
    let fill = "for nth = 1, 8000 do redis.call('SET', nth, 'x') end";
    let _: redis::Value = server.ask(&["EVAL", fill, "0"]);
    process.call("known", 1).await.unwrap();
    server.kill();
    let started = tokio::task::spawn_blocking(move || {
        server.restart();
        server
    });
    let again = process.call("known", 2).await;
    let loading = !started.is_finished();
    let _server = started.await.unwrap();
    let again = again.unwrap_or_else(|error| panic!("loading: {loading}: {error}"));
    assert_eq!(again.value, 1);
}
