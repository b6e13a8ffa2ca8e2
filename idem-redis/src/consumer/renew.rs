//! The thread that keeps messages in hand from going idle. It has a runtime and connections of its own,
//! so that no handler that blocks the service's threads holds it up.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use idem_runtime::BackendError;
use tokio::sync::oneshot;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use super::event::ConsumerEventKind as Kind;
use super::hand::{Hand, Taken};
use super::replies::Owned;
use super::run::ids;
use super::stream::{PAGE, Stream};
use super::teller::Teller;

/// What the thread sees to.
pub(super) struct Renewer {
    pub(super) stream: Stream,
    pub(super) hand: Arc<Hand>,
    pub(super) teller: Arc<Teller>,
    pub(super) every: Duration,
    /// Cancelled when the consumer has ended. What is in hand then is renewed until it is let go.
    pub(super) closed: CancellationToken,
}

/// Starts the thread. The receiver hears whether its connection stands.
pub(super) fn start(renewer: Renewer) -> io::Result<oneshot::Receiver<Result<(), BackendError>>> {
    let (tell, ready) = oneshot::channel();
    let run = move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(renewer.run(tell)),
        Err(error) => {
            let told = format!("the thread that renews messages has no runtime: {error}");
            // Whoever asked may have gone.
            let _ = tell.send(Err(BackendError::answered(told)));
        }
    };
    std::thread::Builder::new().name("idem-redis-consumer".to_owned()).spawn(run)?;
    Ok(ready)
}

impl Renewer {
    async fn run(mut self, tell: oneshot::Sender<Result<(), BackendError>>) {
        self.stream = self.stream.separate();
        let stands = self.stream.floor().await.map(drop);
        let fails = stands.is_err();
        if tell.send(stands).is_err() || fails {
            return;
        }
        let mut ticks = interval_at(Instant::now() + self.every, self.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let planned = tokio::select! {
                planned = ticks.tick() => planned,
                () = self.is_over() => return,
            };
            self.renew(planned).await;
        }
    }

    async fn is_over(&self) {
        self.closed.cancelled().await;
        self.hand.is_empty().await;
    }

    /// Renews all that is in hand, within half an interval.
    async fn renew(&self, planned: Instant) {
        let due = self.hand.due();
        if due.is_empty() {
            return;
        }
        let (late, patience, asked) = (planned.elapsed(), self.every / 2, Instant::now());
        let pages: Vec<&[Taken]> = due.chunks(PAGE).collect();
        let leased: Vec<Vec<_>> =
            pages.iter().map(|page| page.iter().map(|taken| taken.leased).collect()).collect();
        let renewed = timeout(patience, self.stream.renew(&leased, patience / 2)).await;
        let Ok(answers) = renewed else {
            let error = BackendError::unanswered(format!(
                "Redis did not answer in half an interval ({patience:?}); they may have been renewed"
            ));
            return self.teller.tell(Kind::RenewalFailed { ids: &ids(&due), error: &error });
        };
        let mut count = 0;
        for (page, answer) in pages.into_iter().zip(answers) {
            match answer {
                Ok(owned) => count += judge(&self.hand, &self.teller, page, &owned, asked),
                Err(error) => {
                    self.teller.tell(Kind::RenewalFailed { ids: &ids(page), error: &error });
                }
            }
        }
        if count > 0 {
            self.teller.tell(Kind::Renewed { count, late });
        }
    }
}

/// Takes note of what the server found of these when it was asked; how many were renewed.
pub(super) fn judge(
    hand: &Hand,
    teller: &Teller,
    page: &[Taken],
    owned: &[Owned],
    asked: Instant,
) -> usize {
    let (mut lost, mut renewed) = (Vec::new(), Vec::new());
    for (taken, owned) in page.iter().zip(owned) {
        match owned {
            Owned::Mine => renewed.push(*taken),
            Owned::Gone => lost.push((*taken, true)),
            Owned::Taken => lost.push((*taken, false)),
            Owned::Trimmed => {
                if hand.trim(*taken) {
                    teller.tell(Kind::Trimmed { id: taken.leased.id });
                }
            }
        }
    }
    hand.know(&renewed, asked);
    for loss in hand.lose(&lost) {
        teller.tell(Kind::LeaseLost { lost: &loss.lost, all: &loss.all });
    }
    renewed.len()
}
