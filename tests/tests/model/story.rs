//! Runs of the checker on the protocol, and the paths they find as steps to read.

use std::fmt::Write as _;
use std::sync::Arc;

use idem_tests::properties::Property;
use idem_tests::soak::check::{Violation, check};
use idem_tests::soak::history::Line;
use idem_tests::soak::story::Story;
use stateright::{Checker, HasDiscoveries, Model, Path};

use crate::message::Fate;
use crate::model::Protocol;
use crate::properties::Situation;
use crate::report::{self, Told};
use crate::setting::Setting;
use crate::state::World;
use crate::steps::{Channel, Step};
use crate::telling::operation;

/// Explores all of a setting, and fails unless every property holds, every situation was come by
/// and exactly this many states were explored.
pub(crate) fn explore(mut setting: Setting, states: usize, situations: &[Situation]) {
    setting.faults = report::faults(setting.faults);
    let model = Protocol::new(setting.clone());
    let reached = Arc::clone(&model.reached);
    report::explore(model, states);
    for situation in situations {
        let come_by = reached.has(*situation as usize);
        assert!(come_by, "{}: nothing came by {situation:?}", setting.name);
    }
}

/// Lets the checker find what a mutant breaks, and fails if that is nothing, or another property.
pub(crate) fn kill(setting: &Setting, property: Property) {
    let mutant = setting.mutant.expect("a mutant");
    report::kill(Protocol::new(setting.clone()), &mutant, property.name());
}

impl Told for Protocol {
    fn name(&self) -> &'static str {
        self.setting.name
    }

    fn faults(&self) -> u8 {
        self.setting.faults
    }

    fn story(path: &Path<World, Step>) -> String {
        story(path)
    }
}

/// The shortest way on which a mutant breaks a property that begins with these steps, and ends in a
/// state which is as wanted.
pub(crate) fn shortest(
    setting: &Setting,
    first: &[Step],
    property: Property,
    goal: fn(&World) -> bool,
) -> Vec<Step> {
    let protocol = Protocol::new(setting.clone());
    let next =
        |world, step: &Step| protocol.next_state(&world, *step).expect("it changes something");
    let from = first.iter().fold(protocol.init_states().remove(0), next);
    let hunt = Hunt { protocol, from, property, goal };
    let checker = hunt.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let found = checker.discovery(property.name());
    let found = found.unwrap_or_else(|| panic!("{:?} breaks nothing", setting.mutant));
    first.iter().copied().chain(found.into_actions()).collect()
}

/// The model from a state on, looked through for one thing only.
struct Hunt {
    protocol: Protocol,
    from: World,
    property: Property,
    goal: fn(&World) -> bool,
}

impl Model for Hunt {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![self.from.clone()]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        self.protocol.actions(world, steps);
    }

    fn next_state(&self, last: &World, step: Step) -> Option<World> {
        self.protocol.next_state(last, step)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        vec![stateright::Property::always(self.property.name(), |hunt: &Self, world: &World| {
            world.broken != Some(hunt.property)
                || !(hunt.goal)(world)
                || !hunt.protocol.found.is_first()
        })]
    }
}

/// What the check of the soak's histories finds wrong with the history of a run.
pub(crate) fn judge(setting: &Setting, history: &[Line]) -> Vec<Violation> {
    check(&Story::of_calls_to(&[operation(setting)], history))
}

/// A path as steps to read, those without news joined.
fn story(path: &Path<World, Step>) -> String {
    let mut text = String::new();
    let steps = path.clone().into_vec();
    for pair in steps.windows(2) {
        let [(before, Some(step)), (after, _)] = pair else { continue };
        text.push_str(&line(before, *step, after));
    }
    let last = path.last_state();
    let _ = match last.broken {
        Some(property) => writeln!(text, "  {:>2}  broken: {property:?}", last.now),
        None => writeln!(text, "  {:>2}  the end", last.now),
    };
    text
}

/// A step as a line to read; nothing where it is no news.
pub(crate) fn line(before: &World, step: Step, after: &World) -> String {
    if step == Step::Pass {
        return String::new();
    }
    let mut text = format!("  {:>2}  {}", before.now, describe(before, step));
    if before.store != after.store {
        let _ = match after.store {
            None => write!(text, " -> nothing stands"),
            Some(kept) => write!(text, " -> {:?}, until {}", kept.record, kept.ends),
        };
    }
    text + "\n"
}

fn describe(world: &World, step: Step) -> String {
    let name = |caller: usize| char::from(b'A' + u8::try_from(caller).unwrap_or(25));
    match step {
        Step::Pass => "a tick".to_owned(),
        Step::Arrive(c) => format!("{} calls", name(c)),
        Step::Send(c, channel, fate) => {
            format!("{} sends {}: {}", name(c), asked(world, c, channel), fated(fate))
        }
        Step::GiveUp(c, channel) => format!("{} gives up {}", name(c), asked(world, c, channel)),
        Step::Start(c) => format!("{}'s body starts", name(c)),
        Step::Anew(c) => format!("{} has lost the key before its body ran", name(c)),
        Step::Answer(c, answer) => format!("{}'s reconcile answers {answer:?}", name(c)),
        Step::End(c, end) => format!("{}'s body ends: {end:?}", name(c)),
        Step::Stop(c) => format!("{}'s body is stopped", name(c)),
        Step::SettleUnasked(c) => format!("{} gives up its outcome", name(c)),
        Step::Deliver(index) => match world.network.get(index) {
            Some(message) => format!(
                "what {} sent at {} arrives: {:?}",
                name(usize::from(message.ask.caller)),
                message.ask.first,
                message.body
            ),
            None => "nothing arrives".to_owned(),
        },
        Step::Fault(fault, c) => format!("{}: {fault:?}", name(c)),
        Step::Resume(c) => format!("{} goes on", name(c)),
        Step::Back { wiped } => format!("the store is back, wiped: {wiped}"),
        Step::Operate(operation) => format!("the operator: {operation:?}"),
    }
}

fn asked(world: &World, caller: usize, channel: Channel) -> String {
    let call = &world.callers[caller].call;
    match (channel, call.ask()) {
        (Channel::Renewal, _) => "its renewal".to_owned(),
        (Channel::Again, _) => "its begin after gone".to_owned(),
        (Channel::Call, Some((_, ask))) => format!("{:?}", ask.purpose),
        (Channel::Call, None) => "a renewal before its first poll".to_owned(),
    }
}

pub(crate) fn fated(fate: Fate) -> &'static str {
    match fate {
        Fate::Answered => "answered",
        Fate::Lost => "lost",
        Fate::ReplyLost => "carried out, the reply is lost",
        Fate::Late => "held back",
        Fate::ReplyLate => "carried out, the reply is held back",
        Fate::Twice => "answered, and a copy is held back",
        Fate::Unheard => "the store is away",
    }
}
