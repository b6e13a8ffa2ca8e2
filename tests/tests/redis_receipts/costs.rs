//! What receipts cost, by the server's own count: a command that a script runs is counted as well.

use std::time::Duration;

use idem_runtime::{Error, Ran, RunStatus};
use idem_tests::RedisServer;
use tokio::time::sleep;

use crate::kit::{Queue, dispatch, work};
use crate::processes::{LONG, connect, counts, expected, process_with, reset};

/// What was carried out while `of` took place: it has to be this.
async fn costs<T>(
    what: &str,
    server: &RedisServer,
    of: impl Future<Output = T>,
    cost: &[(&str, u64)],
) -> T {
    reset(server);
    let done = of.await;
    assert_eq!(counts(server), expected(cost), "{what}");
    done
}

/// Nothing is renewed for its time within the test. Of the counts, `set` and `evalsha` are what is sent,
/// less the `set`s of scripts; each is one round trip.
#[tokio::test]
async fn each_step_costs_what_it_has_to() {
    let server = RedisServer::start();
    let process = process_with(connect(&server).await, |builder| builder.lease(LONG));
    let (idem, queue) = (&process.idem, Queue::default());
    // The key, the run's record in two steps, the receipt: two `set`s, two scripts.
    let new = [("evalsha", 2), ("get", 2), ("set", 4), ("spublish", 2)];
    let receipt =
        costs("a dispatch", &server, queue.take(dispatch(idem, "a")), &new).await.unwrap();

    // The receipt, and a look at its run.
    let replay = [("evalsha", 1), ("get", 1), ("pttl", 1), ("set", 1)];
    let again = costs("a replay", &server, queue.take(dispatch(idem, "a")), &replay).await;
    assert!(again.unwrap().is_replay());

    let look = [("evalsha", 1), ("get", 1), ("pttl", 1)];
    costs("a look", &server, receipt.status(), &look).await.unwrap();

    // Look, reserve, see to the receipt, renew, complete: five scripts.
    let attach =
        [("evalsha", 5), ("get", 5), ("pexpire", 1), ("pttl", 1), ("set", 2), ("spublish", 2)];
    let ran = costs("an attach", &server, work(idem, receipt.id(), 7), &attach).await;
    assert!(matches!(ran, Ok(Ran::Ended(Ok(7)))), "{ran:?}");

    let again = costs("a replay of a result", &server, queue.take(dispatch(idem, "a")), &replay);
    let again = again.await.unwrap();
    assert_eq!(costs("a result", &server, again.result::<u64>(), &look).await.unwrap(), 7);
    let again = costs("a second attach", &server, work(idem, receipt.id(), 8), &look).await;
    assert!(matches!(again, Ok(Ran::NotStarted(RunStatus::Succeeded))), "{again:?}");
}

/// What a call pays that finds the receipt of a run that is over: its own begin, twice, two looks, the
/// discard, and the new run; and one step more where the run has to be marked as failed.
#[tokio::test]
async fn a_reclaim_costs_what_it_has_to() {
    let server = RedisServer::start();
    let process = process_with(connect(&server).await, |builder| builder.lease(LONG));
    let (idem, queue) = (&process.idem, Queue::default());
    let first = queue.take(dispatch(idem, "a")).await.unwrap();
    let cancel = [("evalsha", 2), ("get", 2), ("pttl", 1), ("set", 1), ("spublish", 1)];
    costs("a cancel", &server, first.cancel(), &cancel).await.unwrap();

    let ended = [("del", 1), ("evalsha", 5), ("get", 5), ("pttl", 2), ("set", 5), ("spublish", 3)];
    let short = dispatch(idem, "a").queue_timeout(Duration::from_millis(1));
    let second = costs("a reclaim of an ended run", &server, queue.take(short), &ended).await;
    assert!(!second.unwrap().is_replay());
    sleep(Duration::from_millis(5)).await;

    let waited = [("del", 1), ("evalsha", 6), ("get", 6), ("pttl", 2), ("set", 6), ("spublish", 4)];
    let third = queue.take(dispatch(idem, "a"));
    let third = costs("a reclaim of a run that nobody picked up", &server, third, &waited).await;
    assert!(!third.unwrap().is_replay());
}

/// One whose worker vanished: the store looks once more whether its hold is over.
#[tokio::test]
async fn a_reclaim_of_a_lapsed_run_costs_what_it_has_to() {
    const LEASE: Duration = Duration::from_millis(200);
    let server = RedisServer::start();
    let process = process_with(connect(&server).await, |builder| builder.lease(LONG));
    let short = || dispatch(&process.idem, "a").lease(LEASE).hold(LEASE);
    let queue = Queue::default();
    let first = queue.take(short()).await.unwrap();
    let other = process_with(connect(&server).await, |builder| builder);
    let body = std::future::pending::<Result<u64, Error>>();
    let vanished = tokio::spawn(other.idem.attach(first.id()).run(body));
    while first.status().await.unwrap() == RunStatus::Queued {
        sleep(LEASE / 10).await;
    }
    vanished.abort();
    sleep(LEASE * 3).await;
    let lapsed = [("del", 1), ("evalsha", 6), ("get", 6), ("pttl", 3), ("set", 6), ("spublish", 4)];
    let second = dispatch(&process.idem, "a");
    let second = costs("a reclaim of a lapsed run", &server, queue.take(second), &lapsed).await;
    assert!(!second.unwrap().is_replay());
}

/// A run in this process costs what the dispatch and the attach of one cost together.
#[tokio::test]
async fn a_spawn_is_a_dispatch_and_an_attach() {
    let server = RedisServer::start();
    let process = process_with(connect(&server).await, |builder| builder.lease(LONG));
    let all =
        [("evalsha", 7), ("get", 7), ("pexpire", 1), ("pttl", 1), ("set", 6), ("spublish", 4)];
    let spawn = async {
        let body = async { Ok::<_, Error>(7_u64) };
        let receipt = dispatch(&process.idem, "a").spawn(body).await.unwrap();
        while !process.events.has("run_moved") {
            sleep(Duration::from_millis(2)).await;
        }
        receipt
    };
    let receipt = costs("a spawn", &server, spawn, &all).await;
    assert_eq!(receipt.result::<u64>().await.unwrap(), 7);
}
