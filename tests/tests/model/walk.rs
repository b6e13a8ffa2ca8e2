//! Random runs of the model, from its begin or from a state on the way, to their end.

use idem_tests::properties::Property;
use idem_tests::soak::Dice;
use stateright::Model;

use crate::message::Fate;
use crate::model::Protocol;
use crate::properties::Situation;
use crate::running::Answer;
use crate::setting::Setting;
use crate::state::World;
use crate::steps::Step;
use crate::story::line;

/// One step of a run.
pub(crate) struct Stride {
    pub(crate) before: World,
    pub(crate) step: Step,
    pub(crate) after: World,
    /// What was come by in it.
    pub(crate) reached: Vec<Situation>,
}

/// A run.
pub(crate) struct Walk {
    pub(crate) strides: Vec<Stride>,
    /// The properties that it broke.
    pub(crate) broken: Vec<Property>,
}

/// How a run is thrown: in how many of sixteen steps the adversary acts, and in how many of the others
/// whoever may wait does.
struct Temper {
    malice: u64,
    patience: u64,
}

impl Walk {
    /// A run that begins with these steps and goes on at random, also past what it breaks.
    pub(crate) fn throw(setting: &Setting, first: &[Step], dice: &mut Dice) -> Self {
        let model = Protocol::new(setting.clone());
        let mut world = model.init_states().remove(0);
        let mut walk = Self { strides: Vec::new(), broken: Vec::new() };
        for step in first {
            assert!(walk.go(&model, &mut world, *step), "{step:?} changes nothing in {world:?}");
        }
        let temper = Temper { malice: dice.pick(&[1, 2, 8]), patience: dice.pick(&[8, 12, 15]) };
        loop {
            let mut steps = Vec::new();
            model.actions(&world, &mut steps);
            // Whoever is asked finds no effect where no body has begun.
            steps
                .retain(|step| !matches!(step, Step::Answer(_, Answer::Value)) || walk.has_begun());
            // A step that changes nothing is none.
            while !steps.is_empty() {
                let step = temper.choose(&mut steps, dice);
                if walk.go(&model, &mut world, step) {
                    break;
                }
            }
            if model.is_final(&world) {
                return walk;
            }
        }
    }

    /// The run as steps to read.
    pub(crate) fn describe(&self) -> String {
        let strides = self.strides.iter();
        strides.map(|stride| line(&stride.before, stride.step, &stride.after)).collect()
    }

    fn has_begun(&self) -> bool {
        self.strides.iter().any(|stride| matches!(stride.step, Step::Start(_)))
    }

    fn go(&mut self, model: &Protocol, world: &mut World, step: Step) -> bool {
        Situation::taken(&model.reached);
        let Some(mut after) = model.next_state(world, step) else { return false };
        self.broken.extend(after.broken.take());
        let before = std::mem::replace(world, after.clone());
        self.strides.push(Stride {
            before,
            step,
            after,
            reached: Situation::taken(&model.reached),
        });
        true
    }
}

/// What a step is to whoever throws it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Fault,
    /// It could as well be taken later.
    Waits,
    /// What is due, or else a tick.
    Due,
}

impl Temper {
    /// Takes one of the steps.
    fn choose(&self, steps: &mut Vec<Step>, dice: &mut Dice) -> Step {
        let faults = dice.below(16) < self.malice;
        let waits = dice.below(16) < self.patience;
        let order = match (faults, waits) {
            (true, _) => [Kind::Fault, Kind::Due, Kind::Waits],
            (false, true) => [Kind::Due, Kind::Waits, Kind::Fault],
            (false, false) => [Kind::Waits, Kind::Due, Kind::Fault],
        };
        let of = |kind| (0..steps.len()).filter(|at| Kind::of(steps[*at]) == kind).collect();
        let places: Vec<_> =
            order.into_iter().map(of).find(|of: &Vec<_>| !of.is_empty()).expect("a step");
        steps.swap_remove(dice.pick(&places))
    }
}

impl Kind {
    fn of(step: Step) -> Self {
        match step {
            Step::Fault(..) => Self::Fault,
            Step::Send(_, _, fate) if !matches!(fate, Fate::Answered | Fate::Unheard) => {
                Self::Fault
            }
            Step::Arrive(_)
            | Step::Answer(..)
            | Step::End(..)
            | Step::Deliver(_)
            | Step::Resume(_)
            | Step::Back { .. }
            | Step::Operate(_) => Self::Waits,
            _ => Self::Due,
        }
    }
}
