//! When the keeper looks next, known to calls so that most of them need not wake it.

use crate::protocol::Moment;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The keeper's next tick.
///
/// While the keeper walks the flights, the agenda is open: what calls write in meanwhile may have
/// been missed by the walk and is taken over when it is closed. All accesses are sequentially
/// consistent, those of a flight's own moment as well: a call writes its flight's moment and then
/// reads `next`, the keeper empties `next` and then reads the flights; a call writes `next` and then
/// reads `open`, the keeper closes and then reads `next`. In each pair one sees the other.
pub(super) struct Agenda {
    next: AtomicU64,
    open: AtomicBool,
}

impl Agenda {
    pub(super) fn new() -> Self {
        Self { next: AtomicU64::new(u64::MAX), open: AtomicBool::new(false) }
    }

    /// Writes in a moment; says whether the keeper has to be woken for it.
    pub(super) fn is_news(&self, moment: Moment) -> bool {
        let moment = moment.as_nanos();
        if self.next.load(Ordering::SeqCst) <= moment {
            return false;
        }
        let earlier = self.next.fetch_min(moment, Ordering::SeqCst) > moment;
        earlier && !self.open.load(Ordering::SeqCst)
    }

    /// Nobody will look: the next moment written in is news.
    pub(super) fn clear(&self) {
        self.open.store(false, Ordering::SeqCst);
        self.next.store(u64::MAX, Ordering::SeqCst);
    }

    /// The walk begins.
    pub(super) fn open(&self) {
        self.open.store(true, Ordering::SeqCst);
        self.next.swap(u64::MAX, Ordering::SeqCst);
    }

    /// The walk has ended and found `next`: gives that, or what calls wrote in meanwhile.
    pub(super) fn close(&self, next: Moment) -> Moment {
        self.open.store(false, Ordering::SeqCst);
        let written = self.next.fetch_min(next.as_nanos(), Ordering::SeqCst);
        next.min(Moment::from_nanos(written))
    }
}

#[cfg(all(test, idem_interleave = "loom"))]
mod reordered;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Moment {
        Moment::from_nanos(nanos)
    }

    #[test]
    fn only_what_comes_before_the_next_tick_is_news() {
        let agenda = Agenda::new();
        assert!(agenda.is_news(at(50)));
        assert!(!agenda.is_news(at(50)));
        assert!(!agenda.is_news(at(60)));
        assert!(agenda.is_news(at(40)));
        assert!(!Agenda::new().is_news(Moment::NEVER));
    }

    #[test]
    fn what_is_written_during_the_walk_wakes_nobody_and_is_not_missed() {
        let agenda = Agenda::new();
        agenda.open();
        assert!(!agenda.is_news(at(30)));
        assert_eq!(agenda.close(at(70)), at(30));
        assert!(!agenda.is_news(at(40)));
        assert!(agenda.is_news(at(20)));
    }
}
