//! Records and a memory that is full.

use idem_redis::Severity::{Degrades, Endangers};
use idem_redis::Topic;
use idem_tests::RedisServer;

use crate::kit::{healthy, is_well, look, only, set};

#[tokio::test]
async fn a_policy_that_evicts() {
    let server = healthy();
    for policy in ["volatile-ttl", "allkeys-lru"] {
        set(&server, "maxmemory-policy", policy);
        let findings = look(&server.url()).await;
        let finding = only(&findings, Topic::Memory, Degrades);
        assert!(
            finding.what.contains(policy) && finding.advice.contains("noeviction"),
            "{finding}"
        );
        set(&server, "maxmemory", "100mb");
        let findings = look(&server.url()).await;
        assert!(only(&findings, Topic::Memory, Endangers).what.contains(policy));
        set(&server, "maxmemory", "0");
    }
    set(&server, "maxmemory-policy", "noeviction");
    set(&server, "maxmemory", "100mb");
    is_well(&look(&server.url()).await);
}

/// How much is in use, by the server's own count.
fn used(server: &RedisServer) -> u64 {
    let info: String = server.ask(&["INFO", "memory"]);
    let used = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
    used.unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn keys_that_were_evicted_are_counted() {
    let server = healthy();
    set(&server, "maxmemory-policy", "volatile-ttl");
    for nth in 0..100 {
        let key = format!("key {nth}");
        let _: String = server.ask(&["SET", &key, &"x".repeat(10_000), "PX", "600000"]);
    }
    set(&server, "maxmemory", &(used(&server) - 500_000).to_string());
    let _: String = server.ask(&["SET", "one more", "x"]);
    let findings = look(&server.url()).await;
    let finding = only(&findings, Topic::Memory, Endangers);
    assert!(finding.what.contains("keys were since"), "{finding}");
}

#[tokio::test]
async fn a_memory_that_is_nearly_full() {
    let server = healthy();
    // Nine tenths are told; what a connection more or less takes is a few hundredths here.
    let _: String = server.ask(&["SET", "much", &"x".repeat(4_000_000)]);
    set(&server, "maxmemory", &(used(&server) / 100 * 105).to_string());
    let findings = look(&server.url()).await;
    assert!(only(&findings, Topic::Memory, Degrades).what.contains("are in use"));
    set(&server, "maxmemory", &(used(&server) * 2).to_string());
    is_well(&look(&server.url()).await);
}
