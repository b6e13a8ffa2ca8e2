//! What becomes of records when the memory is full.

use super::finding::Severity::{Degrades, Endangers};
use super::finding::{Finding, Topic};
use super::look::Seen;

const ADVICE: &str = "set `maxmemory-policy noeviction`";

pub(super) fn findings(seen: &Seen) -> Option<Finding> {
    let info = seen.info.as_ref()?;
    let policy = info.text("maxmemory_policy")?;
    let limit: u64 = info.number("maxmemory")?;
    let finding = |severity, what: String, advice| {
        Some(Finding::new(severity, Topic::Memory, &seen.address, what, advice))
    };
    if policy != "noeviction" {
        if limit == 0 {
            let what = format!(
                "`maxmemory-policy {policy}` evicts records as soon as `maxmemory` is set, since \
                 every record has an expiry"
            );
            return finding(Degrades, what, ADVICE);
        }
        let so_far = match info.number("evicted_keys") {
            Some(0) | None => String::new(),
            Some(count) => format!(" ({count} keys were since the server was started)"),
        };
        let what = format!(
            "`maxmemory-policy {policy}` evicts records when the memory is full{so_far}: an evicted \
             outcome runs again, an evicted reservation lets a second run start beside the first"
        );
        return finding(Endangers, what, ADVICE);
    }
    let used: u64 = info.number("used_memory")?;
    if limit > 0 && used > limit / 10 * 9 {
        let what = format!(
            "{used} bytes of {limit} are in use: calls of new keys fail when the memory is full"
        );
        return finding(
            Degrades,
            what,
            "raise `maxmemory`, or let outcomes live for a shorter `ttl`",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn severity(info: &str) -> Option<super::super::Severity> {
        findings(&Seen::of_info(info)).map(|finding| finding.severity)
    }

    #[test]
    fn a_policy_that_evicts_matters_as_soon_as_there_is_a_limit() {
        for policy in ["volatile-ttl", "volatile-lru", "allkeys-lfu"] {
            let with = |limit| severity(&format!("maxmemory:{limit}\nmaxmemory_policy:{policy}"));
            assert_eq!((with(0), with(1)), (Some(Degrades), Some(Endangers)), "{policy}");
        }
        assert_eq!(severity("maxmemory:0\nmaxmemory_policy:noeviction\nused_memory:9"), None);
        // A server that does not tell is not accused.
        assert_eq!(severity("maxmemory:0"), None);
    }

    #[test]
    fn a_memory_that_is_nearly_full_is_told() {
        let used = |used| {
            severity(&format!("maxmemory:1000\nmaxmemory_policy:noeviction\nused_memory:{used}"))
        };
        assert_eq!((used(900), used(901)), (None, Some(Degrades)));
    }
}
