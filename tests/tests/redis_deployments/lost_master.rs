//! A master of a cluster is lost while leases are held.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use idem_runtime::{Error, ErrorKind, OnDuplicate, Outcome, Source};
use idem_tests::{RedisCluster, eventually};
use tokio::sync::watch;
use tokio::task::block_in_place;

use crate::kit::{Process, connect_to, process_with};

/// Keys on each of the three masters, as many for each.
fn keys_by_master(cluster: &RedisCluster, count: usize) -> [Vec<String>; 3] {
    let mut keys: [Vec<String>; 3] = Default::default();
    for nth in 0.. {
        let key = format!("key {nth}");
        let of_master = &mut keys[cluster.master_of(&format!("shop:charge:{key}"))];
        if of_master.len() < count {
            of_master.push(key);
        } else if keys.iter().all(|of_master| of_master.len() == count) {
            break;
        }
    }
    keys
}

/// Calls that run until the test ends them.
struct Held {
    running: AtomicUsize,
    end: watch::Sender<bool>,
}

impl Default for Held {
    fn default() -> Self {
        Self { running: AtomicUsize::new(0), end: watch::channel(false).0 }
    }
}

impl Held {
    async fn call(&self, process: &Process, key: &str) -> Result<Outcome<u64>, Error> {
        let mut ended = self.end.subscribe();
        let until = async {
            self.running.fetch_add(1, Ordering::Relaxed);
            ended.wait_for(|ended| *ended).await.unwrap();
        };
        process.call_until(key, 2, until).await
    }

    fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.end.send_replace(true);
    }
}

async fn process(cluster: &RedisCluster, lease: Duration) -> Process {
    process_with(connect_to(&cluster.url()).await, |builder| builder.lease(lease))
}

/// Its replica takes over, with the leases; calls of its slots fail meanwhile with `Backend`, and
/// those of the others do not notice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_and_outcomes_outlive_a_master() {
    // A failover takes a second or two here; the lease leaves ten times that for a busy machine.
    const LEASE: Duration = Duration::from_secs(20);
    let mut cluster = RedisCluster::start();
    let keys = keys_by_master(&cluster, 4);
    let process = process(&cluster, LEASE).await;
    let other = process_with(connect_to(&cluster.url()).await, |builder| {
        builder.store_timeout(Duration::from_millis(300))
    });
    for of_master in &keys {
        assert!(process.call(&of_master[0], 1).await.unwrap().stored);
    }
    // What replication had not carried over would be lost with the master.
    block_in_place(|| cluster.wait_for_replicas());
    let held = Held::default();
    let outcomes = join_all(keys.iter().map(|of_master| held.call(&process, &of_master[1])));
    let conduct = async {
        eventually("all run", || held.running() == 3).await;
        block_in_place(|| {
            cluster.wait_for_replicas();
            cluster.kill(0);
        });
        let lost = other.call(&keys[0][2], 3).await.unwrap_err();
        assert_eq!(lost.kind(), ErrorKind::Backend, "{lost}");
        for of_master in &keys[1..] {
            assert!(other.call(&of_master[2], 3).await.unwrap().stored);
        }
        block_in_place(|| cluster.wait_for_failover(0));
        let refused = other.idem.call("charge").key(&keys[0][1]);
        let refused = refused.on_duplicate(OnDuplicate::Reject);
        let refused = refused.run(|_| async { Ok::<u64, Error>(9) }).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InProgress, "{refused}");
        let before = process.events.count("renewed");
        eventually("leases are renewed", || process.events.count("renewed") >= before + 3).await;
        held.end();
    };
    let (outcomes, ()) = tokio::join!(outcomes, conduct);
    for outcome in outcomes {
        let outcome = outcome.unwrap();
        assert!(outcome.stored && !outcome.lapsed);
    }
    assert!(!process.events.has("lease_gone"));
    for of_master in &keys {
        for (nth, value) in [(0, 1), (1, 2)] {
            let replayed = other.call(&of_master[nth], 9).await.unwrap();
            assert_eq!((replayed.value, replayed.source), (value, Source::Replayed));
        }
    }
}

/// A master that stands still: the leases on the others are renewed in time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_on_other_nodes_do_not_wait_for_one_that_stands_still() {
    // Renewed every second, each time within half a second; at risk after 3.6. The node stands still
    // for longer than that, so a renewal that waited for it would be missed.
    const LEASE: Duration = Duration::from_secs(4);
    let cluster = RedisCluster::start();
    let keys = keys_by_master(&cluster, 2);
    let process = process(&cluster, LEASE).await;
    let held = Held::default();
    // All leases are kept by one keeper.
    let outcomes = join_all(keys.iter().flatten().map(|key| held.call(&process, key)));
    let conduct = async {
        eventually("all run", || held.running() == 6).await;
        cluster.nodes()[0].pause();
        tokio::time::sleep(Duration::from_secs(5)).await;
        cluster.nodes()[0].resume();
        held.end();
    };
    let (outcomes, ()) = tokio::join!(outcomes, conduct);
    for (nth, outcome) in outcomes.into_iter().enumerate().skip(2) {
        let outcome = outcome.unwrap();
        assert!(outcome.stored && !outcome.lapsed, "key {nth}: {outcome:?}");
    }
}
