//! A history put in order: the calls of each key with all that is known of them, and what went wrong.

use std::collections::{BTreeMap, HashMap};

use super::disturbances::Disturbances;
use super::history::{Answer, Call, CallId, Disturbance, Effect, End, Given, Line, Micros, What};
use super::{OPERATIONS, Operation};

/// All that happened.
#[derive(Debug)]
pub struct Story {
    /// The calls of each operation and key, in the order in which they were made.
    pub keys: BTreeMap<(String, u64), KeyStory>,
    /// What went wrong, and when.
    pub disturbances: Disturbances,
    /// When the last calls began, after everything else.
    pub calm: Option<Micros>,
    /// What is wrong with the history itself.
    pub gaps: Vec<String>,
}

/// The calls of one key.
#[derive(Debug)]
pub struct KeyStory {
    /// Their operation.
    pub operation: Operation,
    /// Their key.
    pub key: u64,
    /// The calls.
    pub calls: Vec<CallStory>,
}

/// One call.
#[derive(Debug)]
pub struct CallStory {
    /// What was called.
    pub call: Call,
    /// When it was made.
    pub at: Micros,
    /// Its action, if that ran.
    pub run: Option<Run>,
    /// What it was told of its predecessor's effect, and when.
    pub asked: Option<(Micros, Option<Effect>)>,
    /// How it ended, and when.
    pub answered: Option<(Micros, Answer)>,
    /// When its caller dropped it.
    pub abandoned: Option<Micros>,
    /// When its process was killed: before this nothing was certain, after it nothing happened. Only
    /// if it had not ended by then.
    pub killed: Option<(Micros, Micros)>,
}

/// An action that ran.
#[derive(Debug)]
pub struct Run {
    /// When it was first polled.
    pub began: Micros,
    /// The attempt, as its lease said.
    pub attempt: u32,
    /// Whether it ran under a lease.
    pub protected: bool,
    /// Until when the owner claimed its key, and when it was asked, in order.
    pub holds: Vec<(Micros, Micros)>,
    /// When it had its effect.
    pub effect: Option<Micros>,
    /// Its fence, and when it had it.
    pub fence: Option<(Micros, u64)>,
    /// How it ended, and when.
    pub ended: Option<(Micros, End)>,
}

impl CallStory {
    /// Its value, if it has one.
    #[must_use]
    pub fn given(&self) -> Option<(Micros, &Given)> {
        match &self.answered {
            Some((at, Answer::Given(given))) => Some((*at, given)),
            _ => None,
        }
    }

    /// Its action, if that ran under a lease.
    #[must_use]
    pub fn protected_run(&self) -> Option<&Run> {
        self.run.as_ref().filter(|run| run.protected)
    }

    /// When its action had ended for certain, if it has.
    #[must_use]
    pub fn run_ended(&self) -> Option<Micros> {
        let ended = self.run.as_ref()?.ended.map(|(at, _)| at);
        ended.or(self.killed.map(|(_, gone)| gone))
    }

    /// When it had ended for certain, if it has: answered, dropped or killed.
    #[must_use]
    pub fn over(&self) -> Option<Micros> {
        let answered = self.answered.as_ref().map(|(at, _)| *at);
        answered.or(self.abandoned).or(self.killed.map(|(_, gone)| gone))
    }
}

impl Run {
    /// Whether the owner claimed its key when the action began.
    #[must_use]
    pub fn claimed_at_first(&self) -> bool {
        self.claims_from().is_some()
    }

    /// Since when the owner claimed its key, if it did when the action began.
    #[must_use]
    pub fn claims_from(&self) -> Option<Micros> {
        self.holds.first().filter(|(at, until)| until > at).map(|(at, _)| *at)
    }

    /// Whether the owner claimed its key all the time between two moments, as far as it wrote down.
    #[must_use]
    pub fn claimed_all_the_time(&self, from: Micros, until: Micros) -> bool {
        let mut claimed = None;
        for (at, to) in self.holds.iter().take_while(|(at, _)| *at <= until) {
            // A claim that had ended, or was given up, is one that begins anew.
            let goes_on = claimed.is_some_and(|(_, end)| *at <= end);
            claimed = match claimed {
                Some((since, _)) if goes_on => Some((since, *to)),
                _ => Some((*at, *to)),
            };
        }
        let ended = self.ended.is_some_and(|(at, _)| at < until);
        !ended && claimed.is_some_and(|(since, end)| since <= from && until <= end)
    }

    /// The last moment up to which the owner claimed its key; `None`: never.
    #[must_use]
    pub fn claimed_until(&self) -> Option<Micros> {
        self.holds.iter().filter(|(at, until)| until > at).map(|(_, until)| *until).max()
    }
}

impl Story {
    /// Puts the lines of a history, which are in the order of time, together.
    #[must_use]
    pub fn of(lines: &[Line]) -> Self {
        Self::of_calls_to(&OPERATIONS, lines)
    }

    /// The same, of calls to other operations than those of the soak.
    #[must_use]
    pub fn of_calls_to(operations: &[Operation], lines: &[Line]) -> Self {
        let mut told = Told::default();
        for line in lines {
            told.take(line);
        }
        told.into_story(operations)
    }
}

/// A story while it is told.
#[derive(Default)]
struct Told {
    calls: HashMap<CallId, CallStory>,
    disturbances: Vec<(Micros, Micros, Disturbance)>,
    kills: HashMap<(u64, u64), (Micros, Micros)>,
    calm: Option<Micros>,
    gaps: Vec<String>,
}

impl Told {
    fn take(&mut self, line: &Line) {
        let at = line.at;
        match &line.what {
            What::Called(call) => {
                let fresh = CallStory {
                    call: call.clone(),
                    at,
                    run: None,
                    asked: None,
                    answered: None,
                    abandoned: None,
                    killed: None,
                };
                if self.calls.insert(call.id, fresh).is_some() {
                    self.gaps.push(format!("{:?} was made twice", call.id));
                }
            }
            What::Began { call, attempt, protected } => {
                let (attempt, protected) = (*attempt, *protected);
                let holds = Vec::new();
                let run = Run {
                    began: at,
                    attempt,
                    protected,
                    holds,
                    effect: None,
                    fence: None,
                    ended: None,
                };
                self.of(*call, |story| story.run.replace(run).is_none());
            }
            What::Holds { call, until } => {
                self.run_of(*call, |run| run.holds.push((at, *until)));
            }
            What::Fence { call, number } => {
                self.run_of(*call, |run| run.fence = Some((at, *number)));
            }
            What::Effect { call } => self.run_of(*call, |run| run.effect = Some(at)),
            What::Ended { call, end } => self.run_of(*call, |run| run.ended = Some((at, *end))),
            What::Asked { call, answer } => {
                self.of(*call, |story| story.asked.replace((at, *answer)).is_none());
            }
            What::Answered { call, answer } => {
                self.of(*call, |story| story.answered.replace((at, answer.clone())).is_none());
            }
            What::Abandoned { call } => {
                self.of(*call, |story| story.abandoned.replace(at).is_none());
            }
            What::Disturbed { by, since } => {
                if let Disturbance::Killed { process, life } = by {
                    self.kills.insert((*process, *life), (*since, at));
                }
                self.disturbances.push((*since, at, *by));
            }
            What::Calm => self.calm = Some(at),
        }
    }

    /// Adds to a call something that happens once.
    fn of(&mut self, call: CallId, add: impl FnOnce(&mut CallStory) -> bool) {
        let Some(story) = self.calls.get_mut(&call) else {
            return self.gaps.push(format!("{call:?} was never made"));
        };
        if !add(story) {
            self.gaps.push(format!("{call:?}: twice, or out of order, what happens once"));
        }
    }

    fn run_of(&mut self, call: CallId, add: impl FnOnce(&mut Run)) {
        self.of(call, |story| story.run.as_mut().map(add).is_some());
    }

    fn into_story(self, operations: &[Operation]) -> Story {
        let Self { calls, disturbances, kills, calm, mut gaps } = self;
        let mut keys = BTreeMap::new();
        for mut story in calls.into_values() {
            let Call { id, operation: name, key, .. } = &story.call;
            let Some(operation) = operations.iter().find(|operation| operation.name == name) else {
                gaps.push(format!("{id:?} is of an operation that there is not: {name}"));
                continue;
            };
            if story.answered.is_none() {
                story.killed = kills.get(&(id.process(), id.life())).copied();
            }
            let of = (name.clone(), *key);
            let fresh = || KeyStory { operation: operation.clone(), key: of.1, calls: Vec::new() };
            keys.entry(of.clone()).or_insert_with(fresh).calls.push(story);
        }
        for story in keys.values_mut() {
            story.calls.sort_by_key(|call| (call.at, call.call.id));
        }
        Story { keys, disturbances: Disturbances::of(disturbances), calm, gaps }
    }
}
