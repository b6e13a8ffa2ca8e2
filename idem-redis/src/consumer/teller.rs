//! Tells observers, the log and metrics what happens, and counts it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::event::{ConsumerEvent, ConsumerEventKind as Kind};
use super::stream::Stream;

/// Who hears of a consumer's events.
pub(super) type Observer = Box<dyn Fn(&ConsumerEvent<'_>) + Send + Sync>;

/// Everybody who hears of a consumer's events.
pub(super) struct Teller {
    stream: Arc<str>,
    group: Arc<str>,
    consumer: Arc<str>,
    observers: Vec<Observer>,
    tally: Arc<Tally>,
}

/// How often what has happened.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) read: AtomicU64,
    pub(super) reclaimed: AtomicU64,
    pub(super) renewed: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) trimmed: AtomicU64,
    pub(super) done: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) dead: AtomicU64,
    pub(super) given_back: AtomicU64,
}

impl Teller {
    pub(super) fn new(stream: &Stream, observers: Vec<Observer>, tally: Arc<Tally>) -> Self {
        let [name, group, consumer] =
            [&stream.name, &stream.group, &stream.consumer].map(Arc::clone);
        Self { stream: name, group, consumer, observers, tally }
    }

    pub(super) fn tell(&self, kind: Kind<'_>) {
        self.tally.add(&kind);
        let Self { stream, group, consumer, observers, .. } = self;
        let event = ConsumerEvent { stream, group, consumer, kind };
        log(&event);
        #[cfg(feature = "metrics")]
        super::metrics::count(&event);
        for observer in observers {
            // An observer that panics must end neither the renewing thread nor the read loop.
            if catch_unwind(AssertUnwindSafe(|| observer(&event))).is_err() {
                let event = event.kind.name();
                tracing::error!(target: "idem", event, "an observer panicked");
            }
        }
    }
}

impl Tally {
    fn add(&self, kind: &Kind<'_>) {
        let counter = match kind {
            Kind::Read { .. } => &self.read,
            Kind::Reclaimed { .. } => &self.reclaimed,
            Kind::Renewed { .. } => &self.renewed,
            Kind::LeaseLost { .. } => &self.lost,
            Kind::Trimmed { .. } => &self.trimmed,
            Kind::Done { .. } => &self.done,
            Kind::Failed { .. } | Kind::TooLong { .. } | Kind::Undecodable { .. } => &self.failed,
            Kind::Dead { .. } => &self.dead,
            Kind::GivenBack { .. } => &self.given_back,
            Kind::Created { .. }
            | Kind::ReadFailed { .. }
            | Kind::RenewalFailed { .. }
            | Kind::Cancelled { .. }
            | Kind::SettleFailed { .. } => return,
        };
        counter.fetch_add(kind.messages() as u64, Ordering::Relaxed);
    }
}

fn log(event: &ConsumerEvent<'_>) {
    let ConsumerEvent { stream, group, consumer, kind } = event;
    macro_rules! log {
        ($level:ident, $($rest:tt)*) => {
            tracing::$level!(target: "idem", stream, group, consumer, $($rest)*)
        };
    }
    match kind {
        Kind::Created { stream, again: true } => {
            log!(warn, with_stream = stream, "the group had vanished and has been created again");
        }
        Kind::Created { stream, again: false } => {
            log!(info, with_stream = stream, "the group has been created");
        }
        Kind::Read { count } => log!(trace, count, "messages were read"),
        Kind::ReadFailed { error } => {
            log!(warn, %error, "messages could not be read; the next attempt follows");
        }
        Kind::Reclaimed { id, deliveries, from } => {
            log!(debug, %id, deliveries, from, "an idle message was taken over");
        }
        Kind::Renewed { count, late } => log!(trace, count, ?late, "messages were renewed"),
        Kind::RenewalFailed { ids, error } => {
            log!(warn, %error, ?ids, "messages could not be renewed; the next interval tries again");
        }
        Kind::LeaseLost { lost, all } => {
            log!(warn, ?lost, ?all, "messages were lost: none of this run is acknowledged");
        }
        Kind::Trimmed { id } => {
            log!(warn, %id, "a pending message has been deleted from the stream: nobody can be given it again");
        }
        Kind::Failed { id, deliveries, error } => {
            log!(warn, %id, deliveries, error, "a handler failed");
        }
        Kind::TooLong { ids, took } => log!(warn, ?ids, ?took, "a handler ran past max_processing"),
        Kind::Cancelled { ids } => {
            log!(warn, ?ids, "a handler was dropped: the grace period is over");
        }
        Kind::Done { ids, took } => log!(trace, ?ids, ?took, "messages are done"),
        Kind::Undecodable { id, error } => {
            log!(error, %id, error, "a message cannot be read, and there are no dead letters for it");
        }
        Kind::Dead { id, deliveries, error } => {
            log!(error, %id, deliveries, error, "a message was moved to the dead letters");
        }
        Kind::SettleFailed { ids, error } => {
            log!(warn, %error, ?ids, "messages could not be settled");
        }
        Kind::GivenBack { ids } => {
            log!(debug, ?ids, "messages that were not started were given back");
        }
    }
}

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Teller").field("tally", &self.tally).finish_non_exhaustive()
    }
}
