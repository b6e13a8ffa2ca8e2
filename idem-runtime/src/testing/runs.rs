//! A counter of what ran.

use std::collections::HashMap;
use std::sync::Arc;

use crate::sync::{Mutex, lock};

/// Counts runs by a name, and how many of one name ran at the same time. Cheap to clone; clones
/// count together.
#[derive(Clone, Debug, Default)]
pub struct Runs(Arc<Mutex<HashMap<String, Count>>>);

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    total: usize,
    now: usize,
    most_at_once: usize,
}

/// Counts as running until it is dropped.
#[derive(Debug)]
#[must_use = "a run ends when this is dropped"]
pub struct Run(Runs, String);

impl Runs {
    /// Nothing has run.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Something named `name` starts to run.
    pub fn start(&self, name: impl Into<String>) -> Run {
        let name = name.into();
        let mut counts = lock(&self.0);
        let count = counts.entry(name.clone()).or_default();
        count.total += 1;
        count.now += 1;
        count.most_at_once = count.most_at_once.max(count.now);
        Run(self.clone(), name)
    }

    /// How often `name` has started.
    #[must_use]
    pub fn total(&self, name: &str) -> usize {
        lock(&self.0).get(name).map_or(0, |count| count.total)
    }

    /// How many of `name` ran at once, at most.
    #[must_use]
    pub fn most_at_once(&self, name: &str) -> usize {
        lock(&self.0).get(name).map_or(0, |count| count.most_at_once)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(count) = lock(&self.0.0).get_mut(&self.1) {
            count.now -= 1;
        }
    }
}
