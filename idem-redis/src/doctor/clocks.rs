//! How far the clocks of servers that take over from each other are apart.

use std::time::Duration;

use super::finding::Severity::{Degrades, Endangers};
use super::finding::{Finding, Topic};
use super::rounds::Clock;

/// A tenth of a lease of a second. An owner stops a tenth of its lease before the lease ends: a clock
/// that is ahead by more than that ends the lease, after it took over, while the owner still runs.
const TOLD: Duration = Duration::from_millis(100);
/// A tenth of a lease of ten seconds. One that is behind gives numbers that others have given as well,
/// or lower ones: it takes a failover less than a second, and a slot that moves no time at all.
const SERIOUS: Duration = Duration::from_secs(1);

/// The clock that is ahead, judged by the one that is behind.
pub(super) fn findings(clocks: &[(String, Clock)]) -> Option<Finding> {
    let (behind, slow) = clocks.iter().min_by_key(|(_, clock)| clock.at_start)?;
    let (ahead, fast) = clocks.iter().max_by_key(|(_, clock)| clock.at_start)?;
    // Only what is certain counts: a slow network is no wrong clock.
    let distance = fast.at_start.saturating_sub(slow.at_start);
    let certain = distance.saturating_sub(fast.error.saturating_add(slow.error));
    let distance = Duration::from_micros(u64::try_from(certain).unwrap_or(0));
    if distance < TOLD {
        return None;
    }
    let severity = if distance < SERIOUS { Degrades } else { Endangers };
    let what = format!(
        "its clock is {} ms ahead of {behind}'s: when one takes over from the other, leases end that \
         much early, or fences go back",
        distance.as_millis()
    );
    let advice = "keep the servers' clocks together (NTP), slewed and not stepped";
    Some(Finding::new(severity, Topic::Clocks, ahead, what, advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(millis: &[i64], error: i64) -> Option<(super::super::Severity, String, String)> {
        let clock = |(nth, millis): (usize, &i64)| {
            (format!("s{nth}"), Clock { at_start: 1_700_000_000_000_000 + millis * 1_000, error })
        };
        let clocks: Vec<_> = millis.iter().enumerate().map(clock).collect();
        findings(&clocks).map(|finding| (finding.severity, finding.server, finding.what))
    }

    #[test]
    fn the_distance_of_the_two_that_are_farthest_apart() {
        let (severity, ahead, what) = found(&[50, 0, 400], 0).expect("a finding");
        assert_eq!((severity, &*ahead), (Degrades, "s2"));
        assert!(what.contains("400 ms ahead of s1's"), "{what}");
        assert_eq!(found(&[0, 1_000], 0).map(|found| found.0), Some(Endangers));
        assert_eq!(found(&[0, 999], 0).map(|found| found.0), Some(Degrades));
    }

    #[test]
    fn what_is_near_or_not_certain_is_not_told() {
        assert_eq!(found(&[0, 99], 0), None);
        assert_eq!(found(&[7_000], 0), None);
        assert_eq!(found(&[], 0), None);
        // A server may say anything.
        let far = |at_start| ("s".to_owned(), Clock { at_start, error: 1 });
        assert!(findings(&[far(i64::MIN), far(i64::MAX)]).is_some());
        // Trips of 100 ms: the clocks may be 100 ms nearer than they look.
        assert_eq!(found(&[0, 199], 50_000), None);
        assert!(found(&[0, 201], 50_000).is_some());
    }
}
