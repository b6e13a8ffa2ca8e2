//! Runs of the checker on receipts, and the paths they find as steps to read.

use std::fmt::Write as _;
use std::sync::Arc;

use stateright::Path;

use super::model::Receipts;
use super::properties::Situation;
use super::run::{Run, RunState};
use super::setting::Setting;
use super::state::{Again, World};
use super::steps::{Channel, Step};
use crate::record::{Id, Kept};
use crate::report::{self, Told};
use crate::story::fated;

/// Explores all of a setting, and fails unless every property holds, every situation was come by
/// and exactly this many states were explored.
pub(crate) fn explore(mut setting: Setting, states: usize, situations: &[Situation]) {
    setting.faults = report::faults(setting.faults);
    let model = Receipts::new(setting.clone());
    let reached = Arc::clone(&model.reached);
    report::explore(model, states);
    for situation in situations {
        let come_by = reached.has(*situation as usize);
        assert!(come_by, "{}: nothing came by {situation:?}", setting.name);
    }
}

/// Lets the checker find what a mutant breaks, and fails if that is nothing, or another property.
pub(crate) fn kill(setting: &Setting, property: &str) {
    let mutant = setting.mutant.expect("a mutant");
    report::kill(Receipts::new(setting.clone()), &mutant, property);
}

impl Told for Receipts {
    fn name(&self) -> &'static str {
        self.setting.name
    }

    fn faults(&self) -> u8 {
        self.setting.faults
    }

    fn story(path: &Path<World, Step>) -> String {
        let mut text = String::new();
        let steps = path.clone().into_vec();
        for pair in steps.windows(2) {
            let [(before, Some(step)), (after, _)] = pair else { continue };
            if *step == Step::Pass {
                continue;
            }
            let _ = write!(text, "  {:>2}  {}", before.now, describe(before, *step));
            let _ = writeln!(text, "{}", changed(before, after));
        }
        let last = path.last_state();
        let _ = match last.broken {
            Some(rule) => writeln!(text, "  {:>2}  broken: {rule:?}", last.now),
            None => writeln!(text, "  {:>2}  the end", last.now),
        };
        text
    }
}

/// What a step has changed in the store.
fn changed(before: &World, after: &World) -> String {
    let mut text = String::new();
    if before.receipt != after.receipt {
        let _ = match after.receipt {
            None => write!(text, " -> no receipt"),
            Some(Kept { record, ends }) if record.completed => {
                write!(text, " -> receipt of run {:?}, until {ends}", record.owner)
            }
            Some(Kept { record, ends }) => {
                write!(text, " -> reserved for run {:?}, until {ends}", record.owner)
            }
        };
    }
    for run in &after.runs {
        let stood = before.runs.iter().find(|other| other.id == run.id);
        if stood.and_then(|stood| stood.record) != run.record {
            let _ = write!(text, " -> run {:?} {}", run.id, shown(run));
        }
    }
    text
}

fn shown(run: &Run) -> String {
    match run.record {
        None => "is gone".to_owned(),
        Some(Kept { record, ends }) if record.completed => {
            format!("{:?}, until {ends}", RunState::of(record))
        }
        Some(Kept { record, ends }) => {
            format!("reserved by {:?}, until {}", record.owner, ends - record.retention)
        }
    }
}

fn describe(world: &World, step: Step) -> String {
    let name = |actor: usize| {
        let letter = Id::of(actor, 0);
        format!("{letter:?}").trim_end_matches('0').to_owned()
    };
    let doing = |actor: usize| format!("{:?}", world.actors[actor].doing);
    match step {
        Step::Pass => "a tick".to_owned(),
        Step::Call(a) => format!("{} calls", name(a)),
        Step::Send(a, Channel::Own, fate) => {
            format!("{} sends {}: {}", name(a), doing(a), fated(fate))
        }
        Step::Send(a, Channel::Keeper, fate) => {
            let what = match world.actors[a].held.as_ref().map(|held| held.again) {
                Some(Again::Reads) => "read after gone",
                Some(Again::Begins) => "begin after gone",
                _ => "renewal",
            };
            format!("{} sends its {what}: {}", name(a), fated(fate))
        }
        Step::GiveUp(a, Channel::Own) => format!("{} gives up {}", name(a), doing(a)),
        Step::GiveUp(a, Channel::Keeper) => format!("{} gives up its begin after gone", name(a)),
        Step::Start(a) => format!("{} starts: {}", name(a), doing(a)),
        Step::Push(a) => format!("the queue has the run of {}", name(a)),
        Step::Answer(a, true) => format!("the queue tells {} that it has the run", name(a)),
        Step::Answer(a, false) => format!("the queue tells {} that it has not", name(a)),
        Step::End(a, state) => format!("{}'s body ends: {state:?}", name(a)),
        Step::Drop(a) => format!("{} does not store it: {}", name(a), doing(a)),
        Step::Hand(a, run) => format!("the queue hands run {run:?} to {}", name(a)),
        Step::Cancel(_, run) => format!("somebody is to cancel run {run:?}"),
        Step::Deliver(index) => match world.network.get(index) {
            Some(asked) => format!("what {} sent arrives: {:?}", name(asked.actor), asked.command),
            None => "nothing arrives".to_owned(),
        },
        Step::Fault(fault, a) => format!("{}: {fault:?}", name(a)),
        Step::Resume(a) => format!("{} goes on", name(a)),
    }
}
