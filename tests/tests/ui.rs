//! What the attribute refuses, word for word, and what it takes. See `ui/fail` and `ui/pass`.

use std::{collections::BTreeSet, fs};

#[allow(clippy::unwrap_used, reason = "all of it is a test")]
#[path = "../ui/pass/mod.rs"]
mod pass;

/// One run of cargo for all cases. With one that is to pass among them, trybuild would build each by
/// itself, at more than a second a case.
#[test]
fn refused_word_for_word() {
    trybuild::TestCases::new().compile_fail("ui/fail/*.rs");
}

#[test]
fn every_case_that_passes_is_listed() {
    let listed: BTreeSet<String> = include_str!("../ui/pass/mod.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
        .map(|name| format!("{name}.rs"))
        .chain(["mod.rs".to_owned()])
        .collect();
    let there: BTreeSet<String> = fs::read_dir("ui/pass")
        .expect("the cases")
        .map(|entry| entry.expect("a case").file_name().into_string().expect("UTF-8"))
        .collect();
    assert_eq!(listed, there);
}
