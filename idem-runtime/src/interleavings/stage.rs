//! An `Idem` under the scheduler, and who listens to it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::store::Store;
use crate::builder::Builder;
use crate::event::{Event, Observer};
use crate::idem::Idem;

pub(super) const LEASE: Duration = Duration::from_millis(100);

pub(super) fn builder(store: &Store) -> Builder {
    Idem::builder().backend(store.clone()).keeper_as_task().lease(LEASE)
}

pub(super) fn idem(store: &Store) -> Idem {
    builder(store).build().unwrap()
}

/// The names of all events, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Events(Arc<Mutex<Vec<&'static str>>>);

impl Events {
    pub(super) fn count(&self, name: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|event| **event == name).count()
    }
}

impl Observer for Events {
    fn observe(&self, event: &Event<'_>) {
        self.0.lock().unwrap().push(event.kind.name());
    }
}
