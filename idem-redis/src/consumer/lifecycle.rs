//! A consumer: built, and run until it is shut down.

use std::fmt;
use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::builder::ConsumerBuilder;
use super::error::ConsumerError;
use super::hand::Hand;
use super::handler::Handler;
use super::intake::Intake;
use super::options::{OWN_NAMES, Options};
use super::payload::InFields;
use super::register::{Ready, register};
use super::settle::settle;
use super::start_runs::start_runs;
use super::stats::ConsumerStats;
use super::stream::Stream;
use super::teller::{Tally, Teller};
use crate::RedisBackend;
use crate::servers::Servers;

/// How long acknowledgements are tried after the grace period.
const LAST_ATTEMPTS: Duration = Duration::from_secs(2);

/// A consumer of a stream, one of a group. Cheap to clone; a clone is the same consumer.
#[derive(Clone)]
pub struct Consumer(Arc<Inner>);

/// What a consumer is made of.
pub(super) struct Inner {
    pub(super) servers: Arc<Servers>,
    pub(super) options: Options,
    pub(super) handler: Arc<Handler>,
    pub(super) stream: Stream,
    pub(super) hand: Arc<Hand>,
    pub(super) teller: Arc<Teller>,
    pub(super) tally: Arc<Tally>,
    /// Whether it runs: what is in hand is one run's.
    pub(super) runs: AtomicBool,
}

/// A consumer that runs, until this is dropped.
struct Running(Arc<Inner>);

impl Running {
    fn begin(Consumer(inner): &Consumer) -> Result<Self, ConsumerError> {
        if inner.runs.swap(true, Ordering::AcqRel) {
            return Err(ConsumerError::Running(inner.stream.consumer.to_string()));
        }
        Ok(Self(Arc::clone(inner)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.runs.store(false, Ordering::Release);
    }
}

impl Consumer {
    /// Settings of a consumer of the group `group` of `stream`, on the servers of `backend`. The stream
    /// and the group are created if they are missing, when it runs.
    pub fn builder(
        backend: &RedisBackend,
        stream: impl Into<String>,
        group: impl Into<String>,
    ) -> ConsumerBuilder<InFields> {
        ConsumerBuilder::new(backend, stream.into(), group.into())
    }

    pub(super) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// Its name in the group: the one that was set, or one that no other start of a process has.
    #[must_use]
    pub fn name(&self) -> &str {
        let Stream { consumer, .. } = &self.0.stream;
        consumer
    }

    /// What it has done since it was built, and has in hand now.
    #[must_use]
    pub fn stats(&self) -> ConsumerStats {
        let Inner { hand, tally, .. } = &*self.0;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ConsumerStats {
            in_hand: hand.count() as u64,
            read: count(&tally.read),
            reclaimed: count(&tally.reclaimed),
            renewed: count(&tally.renewed),
            lost: count(&tally.lost),
            trimmed: count(&tally.trimmed),
            done: count(&tally.done),
            failed: count(&tally.failed),
            dead: count(&tally.dead),
            given_back: count(&tally.given_back),
        }
    }

    /// Registers the consumer and takes messages until `shutdown` resolves.
    ///
    /// Then nothing is taken any more, what was taken and not started is given back to others at once,
    /// and handlers have the grace period to finish under their leases; async ones are dropped after
    /// it, blocking ones are waited for. Returns when all have ended and what they did is acknowledged:
    /// an idle consumer returns within half a second. Nothing that happens to the server or the
    /// connection ends it earlier.
    ///
    /// Dropped, it drops the handlers, and their messages go idle. Blocking handlers keep theirs until
    /// their threads return. Dropped before it has begun, it leaves the stream and the group that it
    /// created.
    ///
    /// # Errors
    /// [`ConsumerError`] says why it could not be registered.
    ///
    /// # Panics
    /// Outside of a tokio runtime with timers and IO.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Result<(), ConsumerError> {
        let _running = Running::begin(&self)?;
        let Ready { desk, reader, jobs, floor, _registered, _renewing } = register(&self.0).await?;
        let [stop, over, finish, give_up] = std::array::from_fn(|_| CancellationToken::new());
        let (queue, units) = mpsc::unbounded_channel();
        let intake = Intake::new(Arc::clone(&desk), reader, queue, floor);
        let works = async {
            let runs = start_runs(&desk, units, stop.clone(), over.clone());
            tokio::join!(intake.run(stop.clone()), runs);
            finish.cancel();
        };
        let all = async {
            tokio::join!(works, settle(&desk, jobs, finish.clone(), give_up.clone()));
        };
        let times = async {
            shutdown.await;
            stop.cancel();
            sleep(desk.options.grace).await;
            over.cancel();
            sleep(LAST_ATTEMPTS).await;
            give_up.cancel();
            pending::<()>().await;
        };
        tokio::select! {
            () = all => {}
            () = times => {}
        }
        self.leave().await;
        Ok(())
    }

    /// Takes the consumer out of the group if nobody has named it: the next start has another name.
    async fn leave(&self) {
        let Inner { options, stream, .. } = &*self.0;
        if options.consumer.is_none()
            && let Err(error) = stream.leave(true, OWN_NAMES, Duration::MAX).await
        {
            tracing::debug!(target: "idem", %error, "a consumer stays in its group");
        }
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { servers: _, options, handler, stream: _, hand: _, teller: _, tally, runs } =
            &*self.0;
        f.debug_struct("Consumer")
            .field("name", &self.name())
            .field("options", options)
            .field("handler", handler)
            .field("tally", tally)
            .field("runs", runs)
            .finish_non_exhaustive()
    }
}
