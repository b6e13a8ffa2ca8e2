//! How much may be taken: one message for each run that is free, unless a batch or a read-ahead is
//! asked for. An idle consumer takes the next message then, and not a busy one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The runs that there may be at once, and what waits for one.
#[derive(Debug)]
pub(super) struct Slots {
    runs: usize,
    portion: Portion,
    state: Mutex<State>,
    /// Woken when there may be room. Only the intake waits for that.
    room: Notify,
    /// Woken when a run's place is free. Only who starts runs waits for that.
    place: Notify,
}

/// What is taken for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Portion {
    /// One message, and so many more that wait for a run.
    Single { ahead: usize },
    /// So many at most, and none that wait.
    Batch { most: usize },
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    busy: usize,
    /// Messages or batches that were taken and wait for a run.
    waiting: usize,
    /// What has run and waits for the server to hear of it.
    unsettled: usize,
}

/// A run's place; free again when it is dropped.
#[derive(Debug)]
pub(super) struct Slot(Arc<Slots>);

/// Counts as something that has run and is not settled, until it is dropped.
#[derive(Debug)]
pub(super) struct Unsettled(Arc<Slots>);

/// So much may wait to be settled beside what the runs may hand in at once: a page for the server.
const MOST_UNSETTLED: usize = 100;

impl Slots {
    pub(super) fn new(runs: usize, portion: Portion) -> Arc<Self> {
        let [room, place] = [Notify::new(), Notify::new()];
        Arc::new(Self { runs, portion, state: Mutex::default(), room, place })
    }

    /// Resolves as soon as messages may be taken, with how many.
    pub(super) async fn room(&self) -> usize {
        loop {
            let room = self.room_in(*self.state());
            if room > 0 {
                return room;
            }
            // What changes from here on is remembered for this one.
            self.room.notified().await;
        }
    }

    fn room_in(&self, State { busy, waiting, unsettled }: State) -> usize {
        if unsettled >= self.runs + MOST_UNSETTLED {
            return 0;
        }
        match self.portion {
            Portion::Single { ahead } => (self.runs + ahead).saturating_sub(busy + waiting),
            Portion::Batch { most } if busy + waiting < self.runs => most,
            Portion::Batch { .. } => 0,
        }
    }

    /// Whether messages are handled as batches.
    pub(super) fn in_batches(&self) -> bool {
        matches!(self.portion, Portion::Batch { .. })
    }

    /// So many messages or batches were taken and wait for a run.
    pub(super) fn wait(&self, count: usize) {
        self.state().waiting += count;
    }

    /// A place for one that waits, as soon as there is one.
    pub(super) async fn take(self: &Arc<Self>) -> Slot {
        loop {
            if let Some(slot) = self.try_take() {
                return slot;
            }
            self.place.notified().await;
        }
    }

    /// Something has run and is to be settled.
    pub(super) fn unsettled(self: &Arc<Self>) -> Unsettled {
        self.state().unsettled += 1;
        Unsettled(Arc::clone(self))
    }

    fn try_take(self: &Arc<Self>) -> Option<Slot> {
        let mut state = self.state();
        if state.busy == self.runs {
            return None;
        }
        state.busy += 1;
        state.waiting -= 1;
        Some(Slot(Arc::clone(self)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        let Self(slots) = self;
        slots.state().unsettled -= 1;
        slots.room.notify_one();
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Self(slots) = self;
        slots.state().busy -= 1;
        slots.room.notify_one();
        slots.place.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn room(slots: &Slots) -> usize {
        slots.room().now_or_never().unwrap_or(0)
    }

    #[test]
    fn one_message_is_taken_for_each_free_run() {
        let slots = Slots::new(2, Portion::Single { ahead: 0 });
        assert_eq!(room(&slots), 2);
        slots.wait(1);
        assert_eq!(room(&slots), 1);
        let slot = slots.take().now_or_never().expect("a free run");
        assert_eq!(room(&slots), 1);
        slots.wait(1);
        assert_eq!(room(&slots), 0);
        drop(slot);
        assert_eq!(room(&slots), 1);
    }

    #[test]
    fn no_more_is_taken_while_much_is_not_settled() {
        let slots = Slots::new(2, Portion::Single { ahead: 0 });
        let mut unsettled: Vec<_> = (0..102).map(|_| slots.unsettled()).collect();
        assert_eq!(room(&slots), 0);
        unsettled.pop();
        assert_eq!(room(&slots), 2);
    }

    #[test]
    fn so_many_more_are_read_ahead() {
        let slots = Slots::new(1, Portion::Single { ahead: 2 });
        assert_eq!(room(&slots), 3);
        slots.wait(3);
        let _slot = slots.take().now_or_never().expect("a free run");
        assert_eq!((room(&slots), slots.take().now_or_never().is_some()), (0, false));
    }

    #[test]
    fn a_batch_is_taken_when_a_run_is_free() {
        let slots = Slots::new(1, Portion::Batch { most: 50 });
        assert_eq!(room(&slots), 50);
        slots.wait(1);
        assert_eq!(room(&slots), 0);
        drop(slots.take().now_or_never().expect("a free run"));
        assert_eq!(room(&slots), 50);
    }
}
