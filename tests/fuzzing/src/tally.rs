//! How many inputs were tried, by what became of them.

use std::collections::BTreeMap;

/// Counts inputs by what became of them.
#[derive(Debug)]
pub struct Tally {
    subject: String,
    counts: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Nothing tried yet.
    #[must_use]
    pub fn new(subject: &str) -> Self {
        Self { subject: subject.to_owned(), counts: BTreeMap::new() }
    }

    /// One more of this kind.
    pub fn count(&mut self, kind: &'static str) {
        *self.counts.entry(kind).or_default() += 1;
    }

    /// Prints the counts.
    ///
    /// # Panics
    /// If one of `kinds` was never seen.
    pub fn saw(&self, kinds: &[&'static str]) {
        let total: u64 = self.counts.values().sum();
        let each: Vec<_> =
            self.counts.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        println!("{}: {total} inputs: {}", self.subject, each.join(", "));
        let missing: Vec<_> =
            kinds.iter().filter(|kind| !self.counts.contains_key(*kind)).collect();
        assert!(missing.is_empty(), "{}: never seen: {missing:?}", self.subject);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(kinds: &[&'static str]) -> Tally {
        let mut tally = Tally::new("a test");
        kinds.iter().for_each(|kind| tally.count(kind));
        tally
    }

    #[test]
    fn what_there_is_was_seen() {
        tally(&["accepted", "refused", "accepted"]).saw(&["refused", "accepted"]);
    }

    #[test]
    #[should_panic(expected = "never seen")]
    fn what_was_never_seen_is_told() {
        tally(&["accepted"]).saw(&["accepted", "refused"]);
    }
}
