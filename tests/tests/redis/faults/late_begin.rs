//! The first reply to a begin is lost, and the repeat is answered late in the lease: what it finds may
//! have been running since the first.

use std::time::Duration;

use idem_redis::RedisBackend;
use idem_runtime::testing::Runs;
use idem_runtime::{Error, ErrorKind, Lease, OnCrash, Source};
use idem_tests::{Aim, Fault, Trap, eventually};

use super::{RELEASE, RENEW, Rig, begin_of, record_name, script_on};
use crate::kit::{Process, process_with};

/// The reply is missed for half of the lease: what is left then, less the tenth that is never used, is
/// less than two thirds of it.
const LEASE: Duration = Duration::from_secs(6);
const MISSED: Duration = Duration::from_secs(3);

async fn late(rig: &Rig) -> RedisBackend {
    rig.connect_with(|builder| builder.command_timeout(MISSED)).await
}

fn loses_first_reply(rig: &Rig) -> Trap {
    rig.proxy.on_reply(begin_of("a").nth(1), Fault::Hold)
}

fn process(backend: RedisBackend) -> Process {
    process_with(backend, |builder| builder.lease(LEASE).store_timeout(LEASE))
}

/// The repeat does not move the deadline: the body is polled only after a renewal.
#[tokio::test]
async fn it_renews_before_the_body() {
    let rig = Rig::start();
    let process = process(late(&rig).await);
    let trap = loses_first_reply(&rig);
    let action = async |lease: Lease| {
        let renewed = rig.proxy.answered(&script_on(RENEW, "a"));
        Ok::<_, Error>((renewed, lease.time_left().as_millis()))
    };
    let outcome = process.idem.call("charge").key("a").run(action).await.unwrap();
    assert_eq!((outcome.source, outcome.attempt, outcome.lapsed), (Source::Fresh, 1, false));
    assert_eq!((trap.struck(), rig.proxy.came(&begin_of("a"))), (1, 2));
    let (renewed, left) = outcome.value;
    assert_eq!(renewed, 1);
    // By the first begin there would be 2.4 s, by the renewal there were 4 s at least when the body
    // was polled: 0.8 s for a busy machine on either side.
    assert!(left >= 3_200, "{left} ms were left in the body");
}

/// Nor does the store's own count matter: if no renewal comes about, nothing runs and the key is free.
#[tokio::test]
async fn without_a_renewal_nothing_runs() {
    let rig = Rig::start();
    let process = process_with(late(&rig).await, |builder| {
        builder.lease(LEASE).store_timeout(MISSED + Duration::from_millis(500))
    });
    loses_first_reply(&rig);
    let renewal = rig.proxy.on_request(script_on(RENEW, "a"), Fault::Hold);
    let error = process.call("a", 1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Backend);
    assert!(error.is_retryable() && !error.may_have_run(), "{error}");
    assert!(renewal.struck() > 0);
    assert!(!process.events.has("executed"));
    let released = || rig.proxy.answered(&script_on(RELEASE, "a")) > 0;
    eventually("the keeper has freed the key", released).await;
    assert!(!rig.server.ask::<bool>(&["EXISTS", &record_name("a")]));
    rig.proxy.heal();
    assert_eq!(process.call("a", 2).await.unwrap().source, Source::Fresh);
}

/// The lease runs out before the repeat is answered, and another one runs meanwhile: the repeat finds
/// that one's record and not its own.
#[tokio::test]
async fn another_ran_in_between() {
    let rig = Rig::start();
    let lease = Duration::from_millis(600);
    let runs = Runs::new();
    let first = process_with(rig.connect().await, |builder| {
        builder.lease(lease).store_timeout(Duration::from_secs(10))
    });
    let other = process_with(crate::kit::connect(&rig.server).await, |builder| builder);
    let held = rig.proxy.on_reply(Aim::command("SET"), Fault::Hold);
    let call = |process: &Process, value: u64| {
        let runs = runs.clone();
        process.idem.call("charge").key("a").run(move |_| async move {
            let _run = runs.start("action");
            Ok::<_, Error>(value)
        })
    };
    let (outcome, second) = tokio::join!(call(&first, 1), async {
        held.strikes().await;
        let second = call(&other, 2).await.unwrap();
        rig.proxy.heal();
        second
    });
    // It waited for the lease of the first, which it could not know to be given up.
    assert_eq!((second.value, second.source), (2, Source::Fresh));
    match outcome {
        Ok(outcome) => assert_eq!((outcome.value, outcome.source), (2, Source::Waited)),
        // Its begin ended with its lease, before the other one could run.
        Err(error) => assert!(error.kind() == ErrorKind::Backend && error.is_retryable()),
    }
    assert_eq!(runs.total("action"), 1);
    assert_eq!(call(&first, 3).await.unwrap().value, 2);
}

/// Under `refuse` the reservation is armed before the body runs: an arming whose reply is lost is
/// repeated, and the key is remembered.
#[tokio::test]
async fn an_arming_whose_reply_is_lost_is_repeated() {
    let rig = Rig::start();
    let process = process_with(rig.connect().await, |builder| {
        builder.lease(LEASE).on_crash(OnCrash::Refuse).retention(Duration::from_secs(3_600))
    });
    let trap = rig.proxy.on_reply(script_on(RENEW, "a").nth(1), Fault::Cut(0));
    let action = async |_: Lease| {
        let left: u64 = rig.server.ask(&["PTTL", &record_name("a")]);
        Ok::<_, Error>((rig.proxy.answered(&script_on(RENEW, "a")), left))
    };
    let outcome = process.idem.call("charge").key("a").run(action).await.unwrap();
    assert_eq!((trap.struck(), outcome.value.0), (1, 1));
    // Lease and retention, less what a busy machine takes.
    assert!(outcome.value.1 > 3_600_000, "{} ms", outcome.value.1);
    assert_eq!((outcome.source, outcome.attempt), (Source::Fresh, 1));
}
