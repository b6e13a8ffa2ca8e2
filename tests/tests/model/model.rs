//! The model as stateright explores it.

use std::sync::Arc;

use stateright::{Model, Property};

use crate::message::Fate;
use crate::operator::Operator;
use crate::properties;
use crate::report::{Found, Reached};
use crate::setting::{Fault, Setting};
use crate::state::{Call, Caller, History, Stage, World};
use crate::steps::{Channel, Open, Step};
use crate::turn::Turn;

pub(crate) struct Protocol {
    pub(crate) setting: Setting,
    pub(crate) reached: Arc<Reached>,
    pub(crate) found: Found,
}

impl Protocol {
    pub(crate) fn new(setting: Setting) -> Self {
        Self { setting, reached: Arc::default(), found: Found::default() }
    }

    /// Whether the adversary may do this now.
    pub(crate) fn may(&self, world: &World, fault: Fault) -> bool {
        let until = self.setting.faults_until.min(self.setting.calm);
        world.faults > 0 && world.now < until && self.setting.kinds.contains(&fault)
    }

    /// Whether this is the end of a run: nothing that matters can happen any more, or the last tick
    /// has come.
    pub(crate) fn is_final(&self, world: &World) -> bool {
        let quiet = world.network.is_empty()
            && world.calls_are_over()
            && world.key_is_free()
            && !(world.operator.is_at_it() && world.now < self.setting.late_until);
        world.broken.is_some() || quiet || world.now >= self.setting.end
    }

    fn turn(&self, world: &World) -> Turn<'_> {
        Turn { setting: &self.setting, reached: &self.reached, world: world.clone() }
    }
}

impl Model for Protocol {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let caller = |calls| Caller {
            paused: false,
            calls,
            arrived: 0,
            owners: 0,
            robbed: false,
            call: Call::Away,
        };
        vec![World {
            // There is a moment before the first one.
            now: 1,
            store: None,
            away: false,
            network: Vec::new(),
            callers: self.setting.callers.iter().map(|policy| caller(policy.calls)).collect(),
            operator: if self.setting.operator { Operator::Ready } else { Operator::Absent },
            faults: self.setting.faults,
            history: History::default(),
            broken: None,
        }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        if self.is_final(world) {
            return;
        }
        let mut open = Open { model: self, turn: self.turn(world), steps, urgent: false };
        for caller in 0..world.callers.len() {
            open.of_caller(caller);
        }
        open.of_network();
        open.of_adversary();
        open.of_operator();
        if !open.urgent {
            steps.push(Step::Pass);
        }
    }

    fn next_state(&self, last: &World, step: Step) -> Option<World> {
        let mut turn = self.turn(last);
        turn.take(step);
        let mut world = turn.world;
        world.normalise(self.setting.late_until);
        world.broken = world.broken.or_else(|| properties::broken_by(&world));
        // A step that changes nothing is none: a caller that could only take such a step would be one
        // that is stuck, and not one on its way.
        (world != *last).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

impl Turn<'_> {
    fn take(&mut self, step: Step) {
        match step {
            Step::Pass => self.pass(),
            Step::Arrive(caller) => self.arrive(caller),
            Step::Send(caller, channel, fate) => {
                if !matches!(fate, Fate::Answered | Fate::Unheard) {
                    self.world.faults -= 1;
                }
                self.send_on(caller, channel, fate);
            }
            Step::GiveUp(caller, channel) => self.give_up(caller, channel),
            Step::Start(caller) => self.start(caller),
            Step::Anew(caller) => self.anew(caller),
            Step::Answer(caller, answer) => self.answer(caller, answer),
            Step::End(caller, end) => self.end(caller, end),
            Step::Stop(caller) => self.stop(caller),
            Step::SettleUnasked(caller) => self.settle_unasked(caller),
            Step::Deliver(index) => self.deliver(index),
            Step::Fault(fault, caller) => {
                self.world.faults -= 1;
                self.fault(fault, caller);
            }
            Step::Resume(caller) => self.resume(caller),
            Step::Back { wiped } => self.back(wiped),
            Step::Operate(operation) => self.operate(operation),
        }
    }

    fn send_on(&mut self, caller: usize, channel: Channel, fate: Fate) {
        match (channel, self.stage_of(caller)) {
            (Channel::Renewal, _) => self.send_renewal(caller, fate),
            (Channel::Again, _) => self.send_again(caller, fate),
            (Channel::Call, None) => self.send_for_begin(caller, fate),
            (Channel::Call, Some(Stage::Settling)) => self.send_outcome(caller, fate),
            (Channel::Call, Some(Stage::Releasing)) => self.send_release(caller, fate),
            (Channel::Call, Some(_)) => self.send_ready(caller, fate),
        }
    }

    fn give_up(&mut self, caller: usize, channel: Channel) {
        match (channel, self.stage_of(caller)) {
            (Channel::Renewal, _) => self.renewal_unanswered(caller),
            (Channel::Again, _) => self.give_up_again(caller),
            (Channel::Call, None) => self.give_up_begin(caller),
            (Channel::Call, Some(Stage::Settling)) => self.give_up_outcome(caller),
            (Channel::Call, Some(Stage::Releasing)) => self.set(caller, Call::Over),
            (Channel::Call, Some(_)) => self.give_up_ready(caller),
        }
    }
}
