//! What the model has found in the runtime. The first is settled there, and stands here as the mutant
//! that it now is; the second is open.

use crate::report::find;
use crate::setting::{Fault, Policy, Setting};

/// An owner whose window has ended freed its key, also where its body has run, its outcome is not
/// stored, and its lapsed reservation is still remembered: under `refuse` and `reconcile` the next
/// call runs the body a second time. It takes an owner that is paused or cut off until its window has
/// ended: for a ttl after its first complete, or for a lease and a ttl.
#[test]
fn model_finds_what_a_release_after_the_window_forgets() {
    let policy = Policy { retention: 9, ..Policy::REFUSE };
    let mut setting =
        Setting::of("refuse, a ttl shorter than the retention", policy).faults(1, &[Fault::Pause]);
    setting.calm = 12;
    setting.release_forgets = true;
    find(&setting, "a crash is forgotten", "a crash is remembered until decided");
}

/// Whether the window is open is looked at before a question is asked, not before each repeat of it:
/// an owner that is paused between two tries sends once more after its window. If a begin of its own
/// that was held back arrives just then, an outcome that has expired is stored again.
#[test]
fn model_finds_a_repeat_after_the_window() {
    let mut setting = Setting::of("rerun, a pause between two tries", Policy::DEFAULT)
        .faults(3, &[Fault::Twice, Fault::ReplyLost, Fault::Pause]);
    setting.body = (0, 0);
    setting.errors = false;
    setting.calm = 8;
    setting.repeats_after_window = true;
    find(&setting, "an outcome is revived", "an expired outcome stays expired");
}
