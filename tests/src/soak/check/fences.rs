//! A later owner's fence is greater.

use super::{Check, Rule};

pub(super) fn check(check: &mut Check<'_>) {
    let fences = |call: &crate::soak::story::CallStory| {
        let run = call.protected_run()?;
        Some((call.call.id, run.began, run.claimed_at_first(), run.fence?))
    };
    let mut all: Vec<_> = check.key.calls.iter().filter_map(fences).collect();
    all.sort_by_key(|(_, began, ..)| *began);
    for (nth, (earlier, _, _, (at, fence))) in all.iter().enumerate() {
        // An owner that claims its key when it begins, after another's fence was there, is a later one.
        let later = all[nth + 1..].iter().filter(|(_, began, claims, _)| *claims && began > at);
        for (other, _, _, (_, others)) in later.filter(|(.., (_, others))| others <= fence) {
            let what = format!("{other:?} has fence {others} after {earlier:?} had {fence}");
            check.violated(Rule::Fence, what);
        }
    }
}
