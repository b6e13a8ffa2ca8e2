//! The messages in hand: taken by this consumer and not yet settled. What is in hand is renewed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;

use super::hold::Hold;
use super::message_id::MessageId;
use super::stream::Leased;

/// All messages in hand. Those read ahead as well, and none that an earlier process of the same name has
/// left.
#[derive(Debug)]
pub(super) struct Hand {
    state: Mutex<State>,
    /// Tells deliveries of one message apart: a group that was created again counts from 1 again.
    serials: AtomicU64,
    /// How many there are, for those who wait for that.
    count: watch::Sender<usize>,
    /// The same, in sum over the consumers of this process, for those who watch from outside.
    #[cfg(feature = "metrics")]
    gauge: metrics::Gauge,
}

#[derive(Debug, Default)]
struct State {
    held: Held,
    /// Runs that have lost a message and have not ended: a later delivery of it waits for them.
    lingering: BTreeMap<MessageId, Arc<Hold>>,
}

type Held = BTreeMap<MessageId, Message>;

#[derive(Debug)]
struct Message {
    deliveries: u64,
    serial: u64,
    /// Until now it was known to be this consumer's when this was asked.
    known: Instant,
    /// Its run, once that has begun.
    hold: Option<Arc<Hold>>,
    stage: Stage,
}

/// How far a message in hand has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It is to be renewed.
    Leased,
    /// Deleted from the stream: nobody can be given it any more, so it need not be kept.
    Trimmed,
    /// Its end has been sent to the server: that it is not pending any more is no loss.
    Settling,
    /// It is not pending any more, so its end has arrived.
    Settled,
}

/// What there is to send to settle messages.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Settling {
    /// Those whose end has to be sent. Those that have been deleted from the stream need none, nor do
    /// those whose end has arrived.
    pub(super) to_send: Vec<Taken>,
    /// Whether one has been lost, and told to be.
    pub(super) is_lost: bool,
}

/// A message in hand, as whoever took it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) leased: Leased,
    serial: u64,
}

/// Messages that a run has lost, and all of that run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Loss {
    pub(super) lost: Vec<MessageId>,
    pub(super) all: Vec<MessageId>,
}

/// Messages whose run begins.
pub(super) struct Started {
    pub(super) messages: Vec<Taken>,
    pub(super) hold: Arc<Hold>,
    /// The runs of earlier deliveries of theirs, to be waited for.
    pub(super) earlier: Vec<Arc<Hold>>,
}

impl Hand {
    /// An empty one, of a consumer of this group of this stream.
    pub(super) fn new(#[cfg_attr(not(feature = "metrics"), expect(unused))] of: [&str; 2]) -> Self {
        Self {
            state: Mutex::default(),
            serials: AtomicU64::new(0),
            count: watch::channel(0).0,
            #[cfg(feature = "metrics")]
            gauge: super::metrics::in_hand(of),
        }
    }

    /// Takes messages that the server has just delivered, and gives what was lost by that: a message
    /// that is in hand and delivered again is not the earlier run's any more. They were asked for then.
    pub(super) fn take(&self, delivered: &[Leased], asked: Instant) -> (Vec<Taken>, Vec<Loss>) {
        let mut state = self.lock();
        let State { held, lingering } = &mut *state;
        let mut losses = Vec::new();
        let mut take = |leased: &Leased| {
            let serial = self.serials.fetch_add(1, Ordering::Relaxed);
            let deliveries = leased.deliveries;
            let message =
                Message { deliveries, serial, known: asked, hold: None, stage: Stage::Leased };
            if let Some(earlier) = held.insert(leased.id, message) {
                losses.extend(earlier.lose(leased.id));
                lingering.extend(earlier.hold.map(|hold| (leased.id, hold)));
            }
            Taken { leased: *leased, serial }
        };
        let taken = delivered.iter().map(&mut take).collect();
        self.tell(&state);
        (taken, losses)
    }

    /// Whether a message is in hand.
    pub(super) fn has(&self, id: MessageId) -> bool {
        self.lock().held.contains_key(&id)
    }

    /// Those of these messages that are still in hand, and what their run has to wait for. They begin
    /// to run, under this hold.
    pub(super) fn start(
        &self,
        taken: &[Taken],
        hold: impl FnOnce(Vec<MessageId>) -> Arc<Hold>,
    ) -> Option<Started> {
        let mut state = self.lock();
        let State { held, lingering } = &mut *state;
        let here: Vec<_> = taken.iter().copied().filter(|taken| taken.is_in(held)).collect();
        if here.is_empty() {
            return None;
        }
        let hold = hold(here.iter().map(|taken| taken.leased.id).collect());
        let mut earlier = Vec::new();
        for taken in &here {
            if let Some(message) = held.get_mut(&taken.leased.id) {
                message.hold = Some(Arc::clone(&hold));
                earlier.extend(lingering.remove(&taken.leased.id));
            }
        }
        Some(Started { messages: here, hold, earlier })
    }

    /// These were this consumer's when that was asked.
    pub(super) fn know(&self, taken: &[Taken], asked: Instant) {
        let mut state = self.lock();
        for taken in taken {
            if let Some(found) = taken.find(&mut state.held) {
                found.known = found.known.max(asked);
            }
        }
    }

    /// Those of these that were not known to be this consumer's at or after then, and may be another's.
    pub(super) fn doubtful(&self, taken: &[Taken], since: Instant) -> Vec<Taken> {
        let mut state = self.lock();
        let is_doubtful = |taken: &&Taken| {
            let found = taken.find(&mut state.held);
            found.is_some_and(|message| message.stage == Stage::Leased && message.known < since)
        };
        taken.iter().filter(is_doubtful).copied().collect()
    }

    /// Those whose lease is to be renewed.
    pub(super) fn due(&self) -> Vec<Taken> {
        let state = self.lock();
        let is_due = |message: &Message| matches!(message.stage, Stage::Leased | Stage::Settling);
        let due = state.held.iter().filter(|(_, message)| is_due(message));
        due.map(|(id, message)| message.taken(*id)).collect()
    }

    /// The server does not have these as this consumer's any more; where `is_gone`, as nobody's. Gives
    /// what was lost, by runs.
    pub(super) fn lose(&self, lost: &[(Taken, bool)]) -> Vec<Loss> {
        let mut state = self.lock();
        let State { held, lingering } = &mut *state;
        let mut losses: Vec<(Option<Arc<Hold>>, Vec<MessageId>)> = Vec::new();
        for (taken, is_gone) in lost {
            let Some(found) = taken.find(held) else { continue };
            if *is_gone && found.stage == Stage::Settling {
                found.stage = Stage::Settled;
                continue;
            }
            let hold = found.hold.clone();
            held.remove(&taken.leased.id);
            lingering.extend(hold.clone().map(|hold| (taken.leased.id, hold)));
            let same = |(known, _): &&mut (Option<Arc<Hold>>, _)| match (known, &hold) {
                (Some(known), Some(hold)) => Arc::ptr_eq(known, hold),
                _ => false,
            };
            match losses.iter_mut().find(same) {
                Some((_, ids)) => ids.push(taken.leased.id),
                None => losses.push((hold, vec![taken.leased.id])),
            }
        }
        self.tell(&state);
        drop(state);
        losses.into_iter().map(|(hold, lost)| Loss::of(hold.as_deref(), lost)).collect()
    }

    /// This one has been deleted from the stream. `false` if it is not in hand any more.
    pub(super) fn trim(&self, taken: Taken) -> bool {
        taken.find(&mut self.lock().held).map(|found| found.stage = Stage::Trimmed).is_some()
    }

    /// The end of these is about to be sent.
    pub(super) fn settle(&self, taken: &[Taken]) -> Settling {
        let mut state = self.lock();
        let mut settling = Settling { to_send: Vec::with_capacity(taken.len()), is_lost: false };
        for taken in taken {
            match taken.find(&mut state.held) {
                None => settling.is_lost = true,
                Some(found) if matches!(found.stage, Stage::Leased | Stage::Settling) => {
                    found.stage = Stage::Settling;
                    settling.to_send.push(*taken);
                }
                Some(_) => {}
            }
        }
        settling
    }

    /// Lets these go.
    pub(super) fn let_go(&self, taken: &[Taken]) {
        let mut state = self.lock();
        state.let_go(taken);
        self.tell(&state);
    }

    /// A run has ended: lets its messages go, and those wait no longer that were delivered again.
    pub(super) fn end(&self, taken: &[Taken], hold: &Arc<Hold>) {
        let mut state = self.lock();
        state.let_go(taken);
        // Seldom more than none.
        state.lingering.retain(|_, lingering| !Arc::ptr_eq(lingering, hold));
        self.tell(&state);
        drop(state);
        hold.end();
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// Resolves when there are none.
    pub(super) async fn is_empty(&self) {
        // The sender is this one's own.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    fn tell(&self, State { held, .. }: &State) {
        self.count.send_if_modified(|count| {
            let before = std::mem::replace(count, held.len());
            #[cfg(feature = "metrics")]
            self.gauge.increment(held.len() as f64 - before as f64);
            before != held.len()
        });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn let_go(&mut self, taken: &[Taken]) {
        for taken in taken {
            if taken.is_in(&self.held) {
                self.held.remove(&taken.leased.id);
            }
        }
    }
}

impl Message {
    fn taken(&self, id: MessageId) -> Taken {
        Taken { leased: Leased { id, deliveries: self.deliveries }, serial: self.serial }
    }

    /// Another delivery has taken its place.
    fn lose(&self, id: MessageId) -> Option<Loss> {
        let is_lost = matches!(self.stage, Stage::Leased | Stage::Trimmed);
        is_lost.then(|| Loss::of(self.hold.as_deref(), vec![id]))
    }
}

impl Taken {
    fn is_in(&self, held: &Held) -> bool {
        held.get(&self.leased.id).is_some_and(|message| message.serial == self.serial)
    }

    fn find<'a>(&self, held: &'a mut Held) -> Option<&'a mut Message> {
        held.get_mut(&self.leased.id).filter(|message| message.serial == self.serial)
    }
}

impl Loss {
    /// Tells the run, if there is one.
    fn of(hold: Option<&Hold>, lost: Vec<MessageId>) -> Self {
        let all = match hold {
            Some(hold) => {
                hold.lose();
                hold.all().to_vec()
            }
            None => lost.clone(),
        };
        Self { lost, all }
    }
}
