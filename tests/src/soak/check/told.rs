//! Promise 4: an owner that another ran beside, or after, is told.

use super::{Check, Rule, TICK};
use crate::soak::history::Source;
use crate::soak::story::CallStory;

pub(super) fn check(check: &mut Check<'_>) {
    for (owner, _) in check.owners() {
        for (other, _) in check.owners() {
            if other.call.id != owner.call.id && is_not_told(check, owner, other) {
                let (owner, other) = (owner.call.id, other.call.id);
                let what = format!("{owner:?} was not told of {other:?}");
                check.violated(Rule::NotTold, what);
            }
        }
    }
}

/// Whether `other` became owner while `owner` ran, or before what that stored could have ended, and
/// `owner` heard nothing of it. (An action that begins without claiming its key is no later owner but
/// an earlier one that stood still.)
fn is_not_told(check: &Check<'_>, owner: &CallStory, other: &CallStory) -> bool {
    let (Some(run), Some(other)) = (owner.protected_run(), other.protected_run()) else {
        return false;
    };
    // A refusal tells it, or it says that nothing was run, which is another rule's matter.
    let Some((answered, given)) = owner.given().filter(|(_, given)| given.source == Source::Fresh)
    else {
        return false;
    };
    let Some((ended, _)) = run.ended else { return false };
    let until = if given.stored { ended + check.ttl() - TICK } else { ended };
    let becomes_owner = other.claimed_at_first() && run.began < other.began && other.began < until;
    // After a loss of everything the owner hears of it with the first command that is answered: never
    // if there is none before it has to answer its caller.
    let disturbances = &check.story.disturbances;
    let lost = disturbances.emptied(run.began - check.lease(), answered.max(other.began));
    becomes_owner && !given.lapsed && !lost
}
