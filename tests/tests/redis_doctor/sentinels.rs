//! Sentinels: who would notice that the master is lost.

use idem_redis::Severity::{Degrades, Endangers, Notes};
use idem_redis::Topic;
use idem_tests::RedisSentinels;

use crate::kit::{about, address, is_well, look, look_until, only, set};

async fn healthy() -> RedisSentinels {
    let deployment = RedisSentinels::start();
    set(deployment.master(), "appendonly", "yes");
    set(deployment.master(), "min-replicas-to-write", "1");
    look_until(&deployment.url(), "replicas are in time", |findings| {
        about(findings, Topic::Replication).is_empty()
    })
    .await;
    deployment
}

#[tokio::test]
async fn the_master_that_they_name_is_looked_at() {
    let deployment = healthy().await;
    is_well(&look(&deployment.url()).await);
    set(deployment.master(), "appendonly", "no");
    let findings = look(&deployment.url()).await;
    let finding = only(&findings, Topic::Persistence, Endangers);
    assert_eq!(finding.server, address(deployment.master()));
}

#[tokio::test]
async fn sentinels_that_are_away() {
    let mut deployment = healthy().await;
    let url = deployment.url();
    let away: Vec<_> = deployment.sentinels()[..2].iter().map(address).collect();
    deployment.sentinels()[0].kill();
    let findings = look(&url).await;
    let finding = only(&findings, Topic::Sentinels, Degrades);
    assert!(finding.server == away[0] && finding.what.contains("is away"), "{finding}");
    // The last one notices after a second that it is alone.
    deployment.sentinels()[1].kill();
    let findings = look_until(&url, "there is no quorum", |findings| {
        about(findings, Topic::Sentinels).len() == 3
    })
    .await;
    let told = about(&findings, Topic::Sentinels);
    assert!(
        told.iter().any(|one| one.what.contains("a master that is lost stays lost")),
        "{told:#?}"
    );
    assert!(told.iter().all(|one| one.severity == Degrades), "{told:#?}");
}

#[tokio::test]
async fn too_few_of_them() {
    let mut deployment = healthy().await;
    let url = deployment.url();
    let few = url.replace(&format!("{},", address(&deployment.sentinels()[0])), "");
    deployment.sentinels()[0].kill();
    for sentinel in &deployment.sentinels()[1..] {
        let _: u64 = sentinel.ask(&["SENTINEL", "RESET", "shop"]);
    }
    // They find each other again within two seconds or so, and are a quorum then.
    let findings = look_until(&few, "two know of each other", |findings| {
        let told = about(findings, Topic::Sentinels);
        told.len() == 1 && told[0].what.starts_with("2 of them")
    })
    .await;
    only(&findings, Topic::Sentinels, Degrades);
}

#[tokio::test]
async fn settings_and_an_address_that_make_failovers_late() {
    let mut deployment = healthy().await;
    let first = address(&deployment.sentinels()[0]);
    let findings = look(&format!("redis-sentinel://{first}?master=shop")).await;
    let finding = only(&findings, Topic::Sentinels, Notes);
    assert!(finding.what.contains("one of 3 sentinels"), "{finding}");
    let down = |millis: &str, deployment: &mut RedisSentinels| {
        for sentinel in deployment.sentinels() {
            let _: String =
                sentinel.ask(&["SENTINEL", "SET", "shop", "down-after-milliseconds", millis]);
        }
    };
    down("30000", &mut deployment);
    let findings = look(&deployment.url()).await;
    assert!(only(&findings, Topic::Sentinels, Degrades).what.contains("after 30s"));
    down("15000", &mut deployment);
    is_well(&look(&deployment.url()).await);
}

#[tokio::test]
async fn a_sentinel_that_does_not_tell() {
    let mut deployment = healthy().await;
    let url = deployment.url();
    let _: String =
        deployment.sentinels()[0].ask(&["ACL", "SETUSER", "default", "-sentinel|ckquorum"]);
    let findings = look(&url).await;
    let finding = only(&findings, Topic::Sentinels, Notes);
    assert!(finding.advice.contains("+sentinel|ckquorum"), "{finding}");
    let _: String = deployment.sentinels()[1].ask(&["SENTINEL", "REMOVE", "shop"]);
    let findings = look(&url).await;
    let told = about(&findings, Topic::Sentinels);
    assert!(
        told.iter().any(|one| one.what.contains("does not watch the master shop")),
        "{told:#?}"
    );
}
