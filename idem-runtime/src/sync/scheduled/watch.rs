//! The sender of tokio's `watch`, each operation a step.

use super::step;

pub(crate) use tokio::sync::watch::Receiver;

pub(crate) struct Sender<T>(tokio::sync::watch::Sender<T>);

pub(crate) fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = tokio::sync::watch::channel(value);
    (Sender(sender), receiver)
}

impl<T> Sender<T> {
    pub(crate) fn send_replace(&self, value: T) -> T {
        step();
        self.0.send_replace(value)
    }

    pub(crate) fn subscribe(&self) -> Receiver<T> {
        step();
        self.0.subscribe()
    }

    pub(crate) fn receiver_count(&self) -> usize {
        step();
        self.0.receiver_count()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
