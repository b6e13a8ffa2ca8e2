//! Receipts behind sentinels and in a cluster, where the receipt and the record of its run may be on
//! different nodes.

use std::time::Duration;

use idem_runtime::{Ran, RunId, RunStatus};
use idem_tests::{RedisCluster, RedisSentinels};
use tokio::time::sleep;

use crate::kit::{Queue, receipt_record, run_record};
use crate::processes::{LONG, Process, connect_to, process_with};

/// A dispatch, its replay, a run given up and reclaimed, a cancel, and a result: the runs of a key.
async fn all_of_it(dispatcher: &Process, worker: &Process, key: &str) -> Vec<RunId> {
    let queue = Queue::default();
    let take = async |timeout| {
        let dispatch = crate::kit::dispatch(&dispatcher.idem, key).queue_timeout(timeout);
        queue.take(dispatch).await.unwrap()
    };
    let waited = take(Duration::from_millis(1)).await;
    sleep(Duration::from_millis(5)).await;
    let cancelled = take(LONG).await;
    assert!(!cancelled.is_replay() && cancelled.id() != waited.id());
    let late = crate::kit::work(&worker.idem, waited.id(), 1).await.unwrap();
    assert!(matches!(late, Ran::NotStarted(RunStatus::Failed { .. })), "{late:?}");
    assert_eq!(cancelled.cancel().await.unwrap(), RunStatus::Cancelled);
    let last = take(LONG).await;
    assert!(!last.is_replay() && take(LONG).await.is_replay());
    let ran = crate::kit::work(&worker.idem, last.id(), 7).await.unwrap();
    assert!(matches!(ran, Ran::Ended(Ok(7))), "{ran:?}");
    let again = take(LONG).await;
    assert_eq!((again.id(), again.is_replay()), (last.id(), true));
    assert_eq!(again.result::<u64>().await.unwrap(), 7);
    queue.runs()
}

async fn process(url: &str) -> Process {
    process_with(connect_to(url).await, |builder| builder.lease(LONG))
}

/// As many keys as it takes for receipts and their runs to be on one node and on two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_cluster() {
    let cluster = RedisCluster::start();
    let (dispatcher, worker) = (process(&cluster.url()).await, process(&cluster.url()).await);
    let (mut on_one, mut on_two) = (0, 0);
    for nth in 0..12 {
        let key = format!("key {nth}");
        let node = cluster.master_of(&receipt_record(&key));
        for run in all_of_it(&dispatcher, &worker, &key).await {
            match cluster.master_of(&run_record(run)) == node {
                true => on_one += 1,
                false => on_two += 1,
            }
        }
    }
    assert!(on_one > 0 && on_two > 0, "{on_one} on one node, {on_two} on two");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_sentinels() {
    let sentinels = RedisSentinels::start();
    let (dispatcher, worker) = (process(&sentinels.url()).await, process(&sentinels.url()).await);
    all_of_it(&dispatcher, &worker, "a").await;
    // The next master has them as well.
    sentinels.wait_for_replicas();
    sentinels.fail_over();
    let queue = Queue::default();
    let again = async {
        loop {
            match queue.take(crate::kit::dispatch(&dispatcher.idem, "a")).await {
                Ok(receipt) => return receipt,
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
        }
    };
    let again = tokio::time::timeout(LONG, again).await.unwrap();
    assert!(again.is_replay());
    assert_eq!(again.result::<u64>().await.unwrap(), 7);
    all_of_it(&dispatcher, &worker, "b").await;
}
