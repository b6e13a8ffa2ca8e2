//! An `AtomicWaker`, each operation a step.

use std::task::Waker;

use super::step;

#[derive(Debug, Default)]
pub(crate) struct AtomicWaker(atomic_waker::AtomicWaker);

impl AtomicWaker {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn register(&self, waker: &Waker) {
        step();
        self.0.register(waker);
    }

    pub(crate) fn wake(&self) {
        step();
        self.0.wake();
    }
}
