//! How long a round trip takes.

use std::time::Duration;

use super::finding::Severity::Degrades;
use super::finding::{Finding, Topic};
use super::look::Seen;

/// `command`: how long a command may take before it counts as unanswered.
pub(super) fn findings(seen: &Seen, command: Duration) -> Option<Finding> {
    let rounds = &seen.rounds;
    let finding = |what: String| {
        let advice = "look at the network and at what keeps the server (`SLOWLOG`, `LATENCY DOCTOR`); \
                      otherwise raise `command_timeout`, and leases with it";
        Some(Finding::new(Degrades, Topic::Latency, &seen.address, what, advice))
    };
    let mut trips = rounds.trips.clone();
    trips.sort_unstable();
    let count = trips.len();
    if rounds.is_silent {
        return finding(format!(
            "after {count} round trips one was not answered within {command:?}"
        ));
    }
    let (median, longest) = (*trips.get(count / 2)?, *trips.last()?);
    // A first call takes two of them, a call that begins again after a loss some more, and others
    // wait behind: a tenth leaves room for that within the time of one.
    let told = format!(
        "{count} round trips took {median:.1?} in the middle and {longest:.1?} at most, of a \
         `command_timeout` of {command:?}"
    );
    if median > command / 10 {
        finding(format!(
            "{told}: every call takes that two times, and its keys are held for longer"
        ))
    } else if longest > command / 2 {
        finding(format!("{told}: a command that takes twice that is sent again"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::rounds::Rounds;
    use super::*;

    fn told(millis: &[u64], is_silent: bool) -> Option<String> {
        let trips = millis.iter().copied().map(Duration::from_millis).collect();
        let rounds = Rounds { trips, is_silent, clock: None };
        let seen = Seen { rounds, ..Seen::default() };
        findings(&seen, Duration::from_secs(1)).map(|finding| finding.what)
    }

    #[test]
    fn by_the_time_that_a_command_has() {
        assert_eq!(told(&[1, 100, 100, 500], false), None);
        assert_eq!(told(&[], false), None);
        let slow = told(&[101, 1, 101], false).expect("a finding");
        assert!(slow.contains("101.0ms in the middle") && slow.contains("every call"), "{slow}");
        let jumpy = told(&[501, 1, 2], false).expect("a finding");
        assert!(jumpy.contains("501.0ms at most") && jumpy.contains("sent again"), "{jumpy}");
    }

    #[test]
    fn a_silence_is_told() {
        let silent = told(&[1, 1], true).expect("a finding");
        assert!(silent.contains("after 2 round trips one was not answered within 1s"), "{silent}");
    }
}
