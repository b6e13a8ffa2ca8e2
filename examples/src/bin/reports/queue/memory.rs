//! A queue for the workers of this process.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{AGAIN_AFTER, Taken};
use crate::request::Order;

#[derive(Clone, Default)]
pub(crate) struct MemoryQueue(Arc<Mutex<Shelf>>);

#[derive(Default)]
struct Shelf {
    waiting: VecDeque<Order>,
    /// Taken, the oldest first.
    in_hand: VecDeque<(Instant, Order)>,
}

impl MemoryQueue {
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, order: Order) {
        self.shelf().waiting.push_back(order);
    }

    pub(super) fn take(&self) -> Option<Taken> {
        let mut shelf = self.shelf();
        let now = Instant::now();
        let is_late = |(taken, _): &(Instant, Order)| now.duration_since(*taken) >= AGAIN_AFTER;
        let order = match shelf.in_hand.front() {
            Some(oldest) if is_late(oldest) => shelf.in_hand.pop_front()?.1,
            _ => shelf.waiting.pop_front()?,
        };
        shelf.in_hand.push_back((now, order.clone()));
        Some(Taken { ticket: order.run.to_string(), order })
    }

    pub(super) fn done(&self, taken: &Taken) {
        self.shelf().in_hand.retain(|(_, order)| order.run != taken.order.run);
    }
}
