//! The model as stateright explores it.

use std::sync::Arc;

use stateright::{Model, Property};

use super::properties;
use super::setting::Setting;
use super::state::{Actor, World};
use super::steps::{Open, Step};
use super::turn::Turn;
use crate::report::{Found, Reached};
use crate::setting::Fault;

pub(crate) struct Receipts {
    pub(crate) setting: Setting,
    pub(crate) reached: Arc<Reached>,
    pub(crate) found: Found,
}

impl Receipts {
    pub(crate) fn new(setting: Setting) -> Self {
        Self { setting, reached: Arc::default(), found: Found::default() }
    }

    /// Whether the adversary may do this now.
    pub(crate) fn may(&self, world: &World, fault: Fault) -> bool {
        world.faults > 0 && world.now < self.setting.calm && self.setting.kinds.contains(&fault)
    }

    /// Whether this is the end of a run: nothing that matters can happen any more, or the last tick
    /// has come.
    pub(crate) fn is_final(&self, world: &World) -> bool {
        let late = world.now >= self.setting.late_until;
        let callers = self.setting.callers.len();
        let called = world.actors[..callers].iter().all(|actor| actor.calls == 0);
        let idle = world.actors.iter().all(Actor::is_idle);
        let quiet = called && idle && world.network.is_empty() && (late || world.queue.is_empty());
        world.broken.is_some() || quiet || world.now >= self.setting.end
    }

    fn turn(&self, world: &World) -> Turn<'_> {
        Turn { setting: &self.setting, reached: &self.reached, world: world.clone() }
    }
}

impl Model for Receipts {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let Setting { callers, workers, cancels, faults, .. } = &self.setting;
        let callers = callers.iter().map(|caller| Actor::new(caller.calls));
        let workers = (0..*workers).map(|_| Actor::new(0));
        vec![World {
            // There is a moment before the first one.
            now: 1,
            receipt: None,
            runs: Vec::new(),
            queue: Vec::new(),
            network: Vec::new(),
            actors: callers.chain(workers).chain([Actor::new(*cancels)]).collect(),
            faults: *faults,
            broken: None,
        }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        if self.is_final(world) {
            return;
        }
        let mut open = Open { model: self, turn: self.turn(world), steps, urgent: false };
        for actor in 0..world.actors.len() {
            open.of_actor(actor);
        }
        open.of_network();
        open.of_adversary();
        if !open.urgent {
            steps.push(Step::Pass);
        }
    }

    fn next_state(&self, last: &World, step: Step) -> Option<World> {
        let mut turn = self.turn(last);
        turn.take(step);
        let mut world = turn.world;
        world.network.sort_unstable();
        if world.now >= self.setting.late_until {
            world.network.clear();
        }
        // A step that changes nothing is none: who could only take such a step would be stuck, and not
        // on its way.
        (world != *last).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
