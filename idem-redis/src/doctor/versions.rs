//! Versions with known trouble.
//!
//! None is known, from Redis 7.0 and Valkey 7.2 on, that touches what idem sends. What is known is
//! that scripts were a way into the server.

use super::finding::Severity::Notes;
use super::finding::{Finding, Topic};
use super::look::Seen;

/// Where CVE-2025-49844 is repaired, from which patch of a line on.
const REPAIRED: [(&str, (u32, u32), u32); 7] = [
    ("redis", (7, 2), 11),
    ("redis", (7, 4), 6),
    ("redis", (8, 0), 4),
    ("redis", (8, 2), 2),
    ("valkey", (7, 2), 11),
    ("valkey", (8, 0), 6),
    ("valkey", (8, 1), 4),
];

pub(super) fn findings(seen: &Seen) -> Option<Finding> {
    let Seen { server, version, .. } = seen;
    is_open(server, version)?.then(|| {
        let what = format!(
            "{server} {version} has a hole by which whoever may run scripts can take the server over \
             (CVE-2025-49844), unless whoever built it has brought the repair back"
        );
        let repaired = REPAIRED.iter().filter(|(of, ..)| of == server);
        let versions: Vec<_> = repaired
            .map(|(_, (major, minor), patch)| format!("{major}.{minor}.{patch}"))
            .collect();
        let advice = format!("take {} or later of the same line", versions.join(", "));
        Finding::new(Notes, Topic::Version, &seen.address, what, advice)
    })
}

/// Whether the version is from before the repair; nothing if it cannot be read.
fn is_open(server: &str, version: &str) -> Option<bool> {
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    let (line, patch) = ((numbers.next()?, numbers.next()?), numbers.next()?);
    let mut lines = REPAIRED.iter().filter(|(of, ..)| *of == server).peekable();
    let newest = lines.clone().map(|(_, line, _)| *line).max()?;
    Some(match lines.find(|(_, of, _)| *of == line) {
        Some((.., repaired)) => patch < *repaired,
        // A line without repairs, or one that began with it.
        None => line < newest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repaired_from_a_patch_of_each_line_on() {
        let open = |version| is_open("redis", version).expect("a version");
        for version in ["7.0.15", "7.2.10", "7.4.5", "8.0.3", "8.2.1"] {
            assert!(open(version), "{version}");
        }
        for version in ["7.2.11", "7.4.6", "8.0.10", "8.2.2", "8.4.0", "10.0.0"] {
            assert!(!open(version), "{version}");
        }
        assert_eq!(
            (is_open("valkey", "8.1.3"), is_open("valkey", "9.0.0")),
            (Some(true), Some(false))
        );
        assert_eq!((is_open("redis", "unstable"), is_open("other", "1.0.0")), (None, None));
    }
}
