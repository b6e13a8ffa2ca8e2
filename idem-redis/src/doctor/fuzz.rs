//! What servers say of themselves, by chance: findings, and never a panic.

use std::time::Duration;

use idem_fuzzing::{Judged, fuzz};
use proptest::prelude::*;
use redis::Value;

use super::look::Seen;
use super::rounds::Clock;
use super::{clocks, latency, memory, persistence, replication, rights, versions};
use crate::check::Greeting;
use crate::fuzz::values::values;

/// The lines of `INFO` that are read, with values that they have, and any others.
fn info() -> impl Strategy<Value = String> {
    let names = vec![
        "maxmemory",
        "maxmemory_policy",
        "used_memory",
        "evicted_keys",
        "total_system_memory",
        "mem_fragmentation_ratio",
        "role",
        "connected_slaves",
        "slave0",
        "slave1",
        "master_link_status",
        "min_slaves_good_slaves",
        "aof_enabled",
        "rdb_last_bgsave_status",
        "aof_last_write_status",
        "rdb_last_save_time",
        "rdb_changes_since_last_save",
        "loading",
        "redis_version",
        "valkey_version",
        "expired_keys",
        "repl_backlog_size",
    ];
    let value = prop_oneof![
        4 => any::<u64>().prop_map(|number| number.to_string()),
        4 => (0..5_u8).prop_map(|number| number.to_string()),
        2 => prop::sample::select(vec![
            "noeviction", "allkeys-lru", "volatile-ttl", "ok", "err", "master", "slave", "up", "down",
            "7.0.0", "6.2", "18446744073709551616", "-1", "1.5",
        ]).prop_map(str::to_owned),
        2 => "ip=[0-9.:a-z]{0,6},port=[0-9]{0,6},state=(online|wait_bgsave)?,offset=[0-9]{0,3},lag=-?[0-9]{0,20}",
        1 => "[^\r\n]{0,12}",
    ];
    let line = (prop::sample::select(names), value)
        .prop_map(|(name, value)| format!("{name}:{value}\r\n"));
    let line = prop_oneof![12 => line, 1 => any::<String>()];
    prop::collection::vec(line, 0..24).prop_map(|lines| lines.concat())
}

#[test]
fn infos_by_chance() {
    let judge = |(info, fails_over): (String, bool)| -> Judged {
        let seen = Seen::of_info(&info);
        let mut findings = persistence::findings(&seen);
        findings.extend(memory::findings(&seen));
        findings.extend(replication::findings(&seen, fails_over));
        findings.extend(rights::findings(&seen, Some("shop")));
        findings.extend(latency::findings(&seen, Duration::from_secs(1)));
        findings.extend(versions::findings(&seen));
        for finding in &findings {
            prop_assert!(!finding.to_string().is_empty());
        }
        Ok(if findings.is_empty() { "nothing found" } else { "found" })
    };
    fuzz("INFO", &["found"], 4_000, &(info(), any::<bool>()), judge);
}

#[test]
fn clocks_by_chance() {
    let at = prop_oneof![any::<i64>(), 1_700_000_000_000_000..1_700_000_100_000_000_i64];
    let clock = (at, 0..i64::MAX).prop_map(|(at_start, error)| Clock { at_start, error });
    let all = prop::collection::vec(clock, 0..4);
    let judge = |all: Vec<Clock>| -> Judged {
        let named: Vec<_> = all.into_iter().map(|clock| ("s".to_owned(), clock)).collect();
        Ok(if clocks::findings(&named).is_some() { "they differ" } else { "they agree" })
    };
    fuzz("clocks", &["they differ", "they agree"], 4_000, &all, judge);
}

#[test]
fn greetings_by_chance() {
    let word = prop::sample::select(vec![
        "server", "role", "slave", "replica", "version", "mode", "redis", "master", "7.2",
    ]);
    let word = word.prop_map(|word| Value::BulkString(word.into()));
    let word = prop_oneof![4 => word.boxed(), 1 => values().boxed()].boxed();
    let pairs = prop::collection::vec((word.clone(), word), 0..6);
    let greeting = prop_oneof![
        2 => pairs.clone().prop_map(Value::Map).boxed(),
        2 => pairs.prop_map(|pairs| {
            Value::Array(pairs.into_iter().flat_map(|(name, value)| [name, value]).collect())
        }).boxed(),
        1 => values().boxed(),
    ];
    let judge = |reply: Value| -> Judged {
        Ok(if Greeting::read(&reply).is_master() { "a master" } else { "no master" })
    };
    fuzz("greetings", &["a master", "no master"], 4_000, &greeting, judge);
}
