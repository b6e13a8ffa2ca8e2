//! Runs of the checker, and what is printed about them: a line for each setting, and for each
//! mutant the shortest way to what it breaks.

use std::fmt::Debug;
use std::hash::Hash;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model, Path};

/// A model that tells what it is and what a path through it shows.
pub(crate) trait Told:
    Model<State: Visited, Action: Visited> + Send + Sync + 'static
{
    fn name(&self) -> &'static str;

    fn faults(&self) -> u8;

    fn story(path: &Path<Self::State, Self::Action>) -> String;
}

/// What a checker needs of states and actions.
pub(crate) trait Visited: Clone + Debug + PartialEq + Send + Sync + 'static {}

impl<T: Clone + Debug + PartialEq + Send + Sync + 'static> Visited for T {}

/// The faults of a setting: with `MODEL_FAULTS` the adversary has that many at least.
pub(crate) fn faults(of_setting: u8) -> u8 {
    deeper().unwrap_or(0).max(of_setting)
}

fn deeper() -> Option<u8> {
    std::env::var("MODEL_FAULTS").ok().map(|n| n.parse().expect("a number"))
}

/// Explores all of a model, and fails unless every property holds and exactly this many states were
/// explored; with `MODEL_FAULTS` whatever number of states that makes is told.
pub(crate) fn explore<M: Told>(model: M, states: usize)
where
    M::State: Hash,
{
    let (name, faults) = (model.name(), model.faults());
    let properties = model.properties().len();
    let since = Instant::now();
    // Breadth first finds the shortest way; depth first needs less memory.
    let explored = if deeper().is_some() {
        Explored::by(&model.checker().spawn_dfs().join())
    } else {
        Explored::by(&model.checker().spawn_bfs().join())
    };
    let Explored { all, different, depth, broken } = explored;
    if let Some((property, story)) = broken {
        panic!("{name}: `{property}` is broken:\n{story}");
    }
    say(&format!(
        "model: {name}, faults {faults}: {all} states, {different} of them different, depth {depth}, \
         {:.1} s; {properties} properties hold",
        since.elapsed().as_secs_f64(),
    ));
    assert!(
        deeper().is_some() || different == states,
        "{name}: {different} states in the place of {states}: the model or the protocol has changed: \
         look whether it was meant to",
    );
}

/// What came of a run.
struct Explored {
    all: usize,
    different: usize,
    depth: usize,
    broken: Option<(&'static str, String)>,
}

impl Explored {
    fn by<M: Told>(checker: &impl Checker<M>) -> Self
    where
        M::State: Hash,
    {
        let broken = checker.discoveries().into_iter().next();
        Self {
            all: checker.state_count(),
            different: checker.unique_state_count(),
            depth: checker.max_depth(),
            broken: broken.map(|(property, path)| (property, M::story(&path))),
        }
    }
}

/// Lets the checker find what a mutant breaks, and fails if that is nothing, or another property.
pub(crate) fn kill<M: Told>(model: M, mutant: &dyn Debug, property: &str)
where
    M::State: Hash,
{
    let name = model.name();
    let since = Instant::now();
    let checker = model.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let took = since.elapsed().as_secs_f64();
    let states = checker.unique_state_count();
    let found = checker.discoveries().into_iter().next();
    let Some((broken, path)) = found else {
        panic!("mutant {mutant:?} survives: {states} states of `{name}` hold")
    };
    let story = M::story(&path);
    say(&format!(
        "model: mutant {mutant:?} is killed by `{broken}` in {} steps ({states} states, {took:.1} s; {name}):\n{story}",
        path.into_actions().len(),
    ));
    assert_eq!(broken, property, "{mutant:?} is killed by another property:\n{story}");
}

/// Past the harness, which keeps the output of tests that pass to itself.
pub(crate) fn say(text: &str) {
    // Nobody has to listen.
    let _ = writeln!(std::io::stdout().lock(), "\n{text}");
}

/// Whether a violation has been found. Stateright goes on for a while and keeps the last one; breadth
/// first, the first one is the shortest.
#[derive(Debug, Default)]
pub(crate) struct Found(AtomicBool);

impl Found {
    pub(crate) fn is_first(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }
}

/// How often each situation was come by: a check that never met what it checks proves nothing.
#[derive(Debug, Default)]
pub(crate) struct Reached([AtomicU64; 32]);

impl Reached {
    pub(crate) fn note(&self, situation: usize) {
        self.0[situation].fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it was come by since this was asked before.
    pub(crate) fn take(&self, situation: usize) -> bool {
        self.0[situation].swap(0, Ordering::Relaxed) > 0
    }

    pub(crate) fn has(&self, situation: usize) -> bool {
        self.0[situation].load(Ordering::Relaxed) > 0
    }
}
