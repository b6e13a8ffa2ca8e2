//! The consumers that run in this process, so that two of one name agree on their leases.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use super::options::LeaseOptions;

/// Where, stream, group, consumer.
pub(super) type Name = [String; 4];

type Known = HashMap<Name, (LeaseOptions, usize)>;

static REGISTERED: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// A consumer's place in the registry; given up when it is dropped.
#[derive(Debug)]
pub(super) struct Registered(Name);

impl Registered {
    /// None if a consumer of this name runs with other lease options.
    pub(super) fn new(name: Name, lease: LeaseOptions) -> Option<Self> {
        match registered().entry(name.clone()) {
            Entry::Occupied(mut known) if known.get().0 == lease => known.get_mut().1 += 1,
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => drop(place.insert((lease, 1))),
        }
        Some(Self(name))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut registered = registered();
        if let Some((_, count)) = registered.get_mut(&self.0) {
            *count -= 1;
            if *count == 0 {
                registered.remove(&self.0);
            }
        }
    }
}

fn registered() -> MutexGuard<'static, Known> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}
