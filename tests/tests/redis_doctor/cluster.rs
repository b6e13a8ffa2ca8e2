//! Clusters: every node that has slots is looked at.

use std::collections::BTreeSet;

use idem_redis::Severity::{Degrades, Endangers};
use idem_redis::{ConnectError, Topic};
use idem_tests::RedisCluster;

use crate::between::{Twist, between};
use crate::kit::{about, address, builder, is_well, look, look_until, only, set};

/// A cluster with nothing the matter.
async fn healthy() -> RedisCluster {
    let cluster = RedisCluster::start();
    for node in cluster.nodes() {
        set(node, "appendonly", "yes");
        set(node, "min-replicas-to-write", "1");
        set(node, "cluster-require-full-coverage", "no");
    }
    // Replicas say that they are there once a second.
    look_until(&cluster.url(), "replicas are in time", |findings| {
        about(findings, Topic::Replication).is_empty()
    })
    .await;
    cluster
}

#[tokio::test]
async fn every_master_is_looked_at() {
    let cluster = healthy().await;
    is_well(&look(&cluster.url()).await);
    // One alone, and all of them: replicas are not asked for settings.
    set(&cluster.nodes()[1], "maxmemory-policy", "allkeys-lru");
    let findings = look(&cluster.url()).await;
    assert_eq!(only(&findings, Topic::Memory, Degrades).server, address(&cluster.nodes()[1]));
    for node in cluster.nodes() {
        set(node, "appendonly", "no");
    }
    let findings = look(&cluster.url()).await;
    let named: BTreeSet<_> =
        about(&findings, Topic::Persistence).iter().map(|one| &*one.server).collect();
    let masters = cluster.nodes()[..3].iter().map(address).collect::<Vec<_>>();
    assert_eq!(named, masters.iter().map(String::as_str).collect(), "{findings:#?}");
    assert!(findings.is_sorted_by_key(|one| std::cmp::Reverse(one.severity)), "{findings:#?}");
}

#[tokio::test]
async fn nodes_that_are_away() {
    let mut cluster = healthy().await;
    let url = cluster.url();
    set(&cluster.nodes()[1], "min-replicas-to-write", "0");
    cluster.kill(4);
    let findings = look_until(&url, "the replica is missed", |findings| {
        !about(findings, Topic::Replication).is_empty()
    })
    .await;
    let missed = only(&findings, Topic::Replication, Degrades);
    assert_eq!(missed.server, address(&cluster.nodes()[1]));
    assert!(missed.what.contains("has no replica"), "{missed}");
    for node in cluster.nodes().iter().filter(|node| node.is_running()) {
        set(node, "cluster-require-full-coverage", "yes");
    }
    let findings = look(&url).await;
    assert!(about(&findings, Topic::Cluster).iter().all(|one| one.severity == Degrades));
    assert_eq!(about(&findings, Topic::Cluster).len(), 3, "{findings:#?}");
    // With nobody to take over, its slots are away.
    cluster.kill(1);
    let findings = look(&url).await;
    assert_eq!(only(&findings, Topic::Reach, Endangers).server, address(&cluster.nodes()[1]));
    look_until(&url, "the others refuse to serve", |findings| {
        let about = about(findings, Topic::Cluster);
        about.len() == 2 && about.iter().all(|one| one.severity == Endangers)
    })
    .await;
    // Replicas know who has the slots, and without a majority of masters none takes over.
    let backend = builder(&url).connect().await.unwrap();
    for master in [0, 2] {
        cluster.kill(master);
    }
    let Err(ConnectError::Unreachable { address, .. }) = backend.doctor().await else {
        panic!("there is no node that has slots")
    };
    assert!(cluster.nodes()[..3].iter().any(|node| address == self::address(node)), "{address}");
    for replica in [3, 5] {
        cluster.kill(replica);
    }
    let error = backend.doctor().await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn slots_without_a_node() {
    let cluster = healthy().await;
    let _: String = cluster.nodes()[0].ask(&["CLUSTER", "DELSLOTS", "7", "8"]);
    // The node that is asked for the slots first.
    let findings = look(&format!("redis-cluster://{}", address(&cluster.nodes()[0]))).await;
    let told = about(&findings, Topic::Cluster);
    let gap = told.iter().find(|one| one.what.contains("slots without a node: 2"));
    assert_eq!(gap.map(|one| one.severity), Some(Endangers), "{findings:#?}");
}

/// Of a master, and of a replica that may take over: it is elsewhere where it says it is.
#[tokio::test]
async fn clocks_that_are_apart() {
    let cluster = healthy().await;
    for (node, setting) in [(0, "cluster-announce-port"), (4, "replica-announce-port")] {
        let node = &cluster.nodes()[node];
        let announce = |port: u16| {
            set(node, setting, &port.to_string());
            // Replicas say it when they connect.
            for master in &cluster.nodes()[..3] {
                let _: u64 = master.ask(&["CLIENT", "KILL", "TYPE", "replica"]);
            }
        };
        let ahead = between(node.port(), Twist::Ahead(3)).await;
        announce(ahead);
        let findings = look_until(&cluster.url(), setting, |findings| {
            !about(findings, Topic::Clocks).is_empty()
        })
        .await;
        let finding = only(&findings, Topic::Clocks, Endangers);
        assert_eq!(finding.server, format!("127.0.0.1:{ahead}"), "{finding}");
        // Three seconds, less what is not certain of two round trips.
        let seconds = ["its clock is 2", "its clock is 3"];
        assert!(seconds.iter().any(|told| finding.what.starts_with(told)), "{finding}");
        announce(0);
        look_until(&cluster.url(), "back", |findings| about(findings, Topic::Clocks).is_empty())
            .await;
    }
}
