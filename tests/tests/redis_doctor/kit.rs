//! What these tests share: a look, and what it found.

use std::time::Duration;

use idem_redis::{Finding, RedisBackend, RedisBuilder, Severity, Topic};
use idem_tests::RedisServer;
use tokio::time::Instant;

/// Longer than anything takes that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server with nothing the matter.
pub(crate) fn healthy() -> RedisServer {
    RedisServer::start_with(&["--appendonly", "yes"])
}

/// The latency is judged by the command timeout: this one leaves a busy machine room.
pub(crate) fn builder(url: &str) -> RedisBuilder {
    RedisBackend::builder(url).command_timeout(Duration::from_secs(10))
}

pub(crate) async fn look(url: &str) -> Vec<Finding> {
    builder(url).connect().await.unwrap().doctor().await.unwrap()
}

/// Looks until this has been found.
pub(crate) async fn look_until(
    url: &str,
    what: &str,
    is_found: impl Fn(&[Finding]) -> bool,
) -> Vec<Finding> {
    let start = Instant::now();
    loop {
        let findings = look(url).await;
        if is_found(&findings) {
            return findings;
        }
        assert!(start.elapsed() < PATIENCE, "not within a minute: {what}: {findings:#?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub(crate) fn set(server: &RedisServer, setting: &str, value: &str) {
    let _: String = server.ask(&["CONFIG", "SET", setting, value]);
}

/// The findings that are about this.
/// The findings about this.
pub(crate) fn about(findings: &[Finding], topic: Topic) -> Vec<&Finding> {
    found(findings).into_iter().filter(|finding| finding.topic == topic).collect()
}

/// The one finding about this, which is of this severity.
pub(crate) fn only(findings: &[Finding], topic: Topic, severity: Severity) -> &Finding {
    let [finding] = &*about(findings, topic) else { panic!("{topic}: {findings:#?}") };
    assert_eq!(finding.severity, severity, "{finding}");
    finding
}

/// All but what is known of the version of the server, which is not the test's, and that a master has
/// only one replica, as those of these tests do.
pub(crate) fn found(findings: &[Finding]) -> Vec<&Finding> {
    let is_known = |finding: &Finding| {
        finding.topic == Topic::Version || finding.what.starts_with("there is one replica, and")
    };
    findings.iter().filter(|finding| !is_known(finding)).collect()
}

pub(crate) fn is_well(findings: &[Finding]) {
    assert!(found(findings).is_empty(), "{findings:#?}");
}

pub(crate) fn address(server: &RedisServer) -> String {
    format!("127.0.0.1:{}", server.port())
}
