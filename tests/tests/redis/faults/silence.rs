//! A peer that has vanished without a word: connections stay open, and nothing comes on them. Every
//! call ends in its time, and goes on by a new connection as soon as there can be one.

use std::time::Duration;

use futures_util::future::join_all;
use idem_redis::RedisBackend;
use idem_runtime::{Backend, Error, ErrorKind, OnDuplicate, Outcome, Source};
use idem_tests::{Aim, Fault, Proxy, Trap, eventually};
use tokio::time::Instant;

use super::{LONG_LEASE, RENEW, Rig, begin_of, record_name, script_on};
use crate::kit::{Process, connect, process_with, record_key};

const TIMEOUT: Duration = Duration::from_secs(1);
/// What a busy machine may add to a time that is bounded.
const BUSY: Duration = Duration::from_secs(5);

/// Ways in which nothing comes any more.
const SILENCES: [fn(&Proxy, Aim) -> Trap; 4] = [
    |proxy, aim| proxy.on_request(aim, Fault::Hold),
    |proxy, aim| proxy.on_reply(aim, Fault::Hold),
    |proxy, aim| proxy.on_request(aim, Fault::Swallow),
    |proxy, aim| proxy.on_reply(aim, Fault::Swallow),
];

async fn backend(rig: &Rig) -> RedisBackend {
    let settings = |builder: idem_redis::RedisBuilder| {
        builder.connect_timeout(TIMEOUT).command_timeout(TIMEOUT)
    };
    rig.connect_with(settings).await
}

async fn process(rig: &Rig) -> Process {
    process_with(backend(rig).await, |builder| builder.lease(LONG_LEASE))
}

/// Only what is open falls silent: the call goes on by another connection, and no caller notices.
#[tokio::test]
async fn of_a_connection() {
    join_all(SILENCES.map(async |silence| {
        let rig = Rig::start();
        let process = process(&rig).await;
        process.call("known", 1).await.unwrap();
        // The first command is struck, and with it its connection; what comes after is on another.
        let trap = silence(&rig.proxy, begin_of("new").nth(1));
        let outcome = process.call("new", 2).await.unwrap();
        assert_eq!((outcome.source, outcome.attempt), (Source::Fresh, 1));
        assert!(outcome.stored && !outcome.lapsed);
        assert_eq!(trap.struck(), 1);
        let trap = silence(&rig.proxy, begin_of("known").nth(1));
        let again = process.call("known", 3).await.unwrap();
        assert_eq!((again.value, again.source, trap.struck()), (1, Source::Replayed, 1));
    }))
    .await;
}

/// New connections fall silent as well: each operation and each call ends in its time, and works again
/// as soon as the server is heard.
#[tokio::test]
async fn of_the_server() {
    join_all(SILENCES.map(async |silence| {
        let rig = Rig::start();
        let backend = backend(&rig).await;
        let process = process_with(backend.clone(), |builder| builder.store_timeout(TIMEOUT * 4));
        process.call("known", 1).await.unwrap();
        silence(&rig.proxy, Aim::all());
        for _ in 0..2 {
            let start = Instant::now();
            let error = backend.peek(&record_key("known")).await.unwrap_err();
            assert!(!error.is_answer(), "{error}");
            // To connect and to answer.
            assert!(start.elapsed() < TIMEOUT * 2 + BUSY, "{:?}", start.elapsed());
        }
        let start = Instant::now();
        let error = process.call("known", 2).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Backend, true));
        assert!(start.elapsed() < TIMEOUT * 4 + BUSY, "{:?}", start.elapsed());
        rig.proxy.heal();
        let again = process.call("known", 3).await.unwrap();
        assert_eq!((again.value, again.source), (1, Source::Replayed));
        assert_eq!(process.call("new", 4).await.unwrap().source, Source::Fresh);
    }))
    .await;
}

/// The keeper's connection falls silent: the lease is renewed on another before it ends.
#[tokio::test]
async fn of_the_keepers_connection() {
    join_all(SILENCES.map(async |silence| {
        let rig = Rig::start();
        let backend = backend(&rig).await;
        let process = process_with(backend, |builder| builder.lease(LONG_LEASE * 2));
        let outcome = process.call_until("a", 1, async {
            let trap = silence(&rig.proxy, script_on(RENEW, "a").nth(1));
            trap.strikes().await;
            eventually("a renewal fails", || process.events.has("renewal_failed")).await;
            // The next is due at half the lease, its deadline is at nine tenths: 6.4 s later.
            eventually("a renewal is answered", || process.events.has("renewed")).await;
        });
        let outcome = outcome.await.unwrap();
        assert!(outcome.stored && !outcome.lapsed);
        assert!(!process.events.has("lease_at_risk") && !process.events.has("lease_gone"));
    }))
    .await;
}

/// The keeper's connection falls silent, and a renewal has less time than a reply: it is given up before
/// the connection is.
#[tokio::test]
async fn of_a_connection_that_renewals_do_not_wait_for() {
    let rig = Rig::start();
    let backend = rig.connect_with(|builder| builder.command_timeout(Duration::from_millis(1_600)));
    let process = process_with(backend.await, |builder| builder.lease(Duration::from_secs(12)));
    // Due at 3 s, lost, and given up at 4.5 s, upon which the connection has until 6.1 s to answer. The
    // renewal of 6 s is lost as well, the one of 9 s goes by another; the deadline is 1.8 s later.
    let outcome = process.call_until("a", 1, async {
        let trap = rig.proxy.on_reply(script_on(RENEW, "a").nth(1), Fault::Swallow);
        trap.strikes().await;
        eventually("a renewal is answered", || process.events.has("renewed")).await;
    });
    let outcome = outcome.await.unwrap();
    assert!(outcome.stored && !outcome.lapsed, "{:?}", process.events.all());
}

/// Callers that lose patience before the command timeout do not keep a silent connection alive.
#[tokio::test]
async fn of_a_connection_that_callers_do_not_wait_for() {
    let rig = Rig::start();
    let backend = rig.connect_with(|builder| builder).await;
    let process = process_with(backend, |builder| builder.lease(LONG_LEASE));
    process.call("known", 1).await.unwrap();
    let trap = rig.proxy.on_reply(Aim::command("SET").nth(1), Fault::Swallow);
    // A reply may take a second: ten are for a busy machine.
    for nth in 0..20 {
        let call = process.call("known", 2);
        if let Ok(outcome) = tokio::time::timeout(Duration::from_millis(500), call).await {
            assert_eq!(outcome.unwrap().value, 1);
            assert!(nth > 0 && trap.struck() == 1);
            return;
        }
    }
    panic!("ten seconds of calls went to a connection that has vanished");
}

/// The subscription falls silent: whoever waits has the outcome by polling.
#[tokio::test]
async fn of_the_subscription() {
    let rig = Rig::start();
    let (owner, waiter) = (beside(&rig).await, process(&rig).await);
    let silent = rig.proxy.on_reply(Aim::unasked(), Fault::Swallow);
    let (first, second) = tokio::join!(
        owner.call_until("a", 1, async {
            eventually("it waits", || rig.proxy.answered(&Aim::command("SSUBSCRIBE")) == 1).await;
        }),
        waits(&rig, &waiter, "a"),
    );
    assert!(first.unwrap().stored);
    let second = second.unwrap();
    assert_eq!((second.value, second.source), (1, Source::Waited));
    eventually("a message was lost", || silent.struck() == 1).await;
}

/// A subscription that has fallen silent is noticed although nothing is asked of it, and taken again.
#[tokio::test]
async fn of_a_subscription_that_has_nothing_to_tell() {
    let rig = Rig::start();
    let (owner, waiter) = (beside(&rig).await, process(&rig).await);
    let subscribed = || rig.proxy.answered(&Aim::command("SSUBSCRIBE"));
    let silent = rig.proxy.on_reply(Aim::unasked(), Fault::Swallow);
    let (first, second) = tokio::join!(
        owner.call_until("a", 1, async {
            eventually("it waits", || subscribed() == 1).await;
            let told: u64 = rig.server.ask(&["SPUBLISH", &record_name("a"), ""]);
            assert_eq!(told, 1);
            silent.strikes().await;
            silent.lift();
            eventually("it has subscribed again", || subscribed() == 2).await;
        }),
        waits(&rig, &waiter, "a"),
    );
    assert!(first.unwrap().stored);
    assert_eq!(second.unwrap().source, Source::Waited);
}

/// A process that no fault strikes.
async fn beside(rig: &Rig) -> Process {
    process_with(connect(&rig.server).await, |builder| builder.lease(LONG_LEASE))
}

/// A call that comes once the key is taken.
async fn waits(rig: &Rig, waiter: &Process, key: &str) -> Result<Outcome<u64>, Error> {
    eventually("it has begun", || rig.server.ask(&["EXISTS", &record_name(key)])).await;
    let call = waiter.idem.call("charge").key(key);
    let call = call.on_duplicate(OnDuplicate::WaitFor(Duration::from_secs(60)));
    call.run(|_| async { Ok::<_, Error>(0_u64) }).await
}
