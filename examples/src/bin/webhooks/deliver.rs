//! The run: deliveries in, a bounded number at once, each answered and counted.

use std::sync::Arc;

use anyhow::{Error, anyhow};
use idem_runtime::{Observed, observe};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::handler::{Booked, HandleError, Handler};
use crate::input::{Input, Item};
use crate::progress::Progress;
use crate::tally::{Fate, Tally};

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) tally: Tally,
    /// Why it could not go on.
    pub(crate) stopped: Option<Error>,
}

/// A run.
pub(crate) struct Run {
    pub(crate) handler: Arc<Handler>,
    pub(crate) concurrency: usize,
    pub(crate) verbose: bool,
    /// Ends the reading, not what is in flight.
    pub(crate) interrupted: CancellationToken,
}

/// A delivery that has its answer.
struct Answered {
    line: u64,
    id: String,
    observed: Observed<Result<Booked, HandleError>>,
}

impl Run {
    /// Handles the deliveries of the input until it ends, a Ctrl-C comes, or it cannot go on; what
    /// is in flight then is finished.
    pub(crate) async fn of(self, input: Input) -> Ended {
        let mut course = Course {
            progress: Progress::new(input.bytes),
            run: self,
            in_flight: JoinSet::new(),
            tally: Tally::default(),
            stopped: None,
        };
        course.read(input).await;
        while let Some(answered) = course.in_flight.join_next().await {
            course.count(answered);
        }
        course.progress.end();
        Ended { tally: course.tally, stopped: course.stopped }
    }
}

/// A run under way.
struct Course {
    run: Run,
    in_flight: JoinSet<Answered>,
    tally: Tally,
    progress: Progress,
    stopped: Option<Error>,
}

impl Course {
    async fn read(&mut self, input: Input) {
        let mut items = input.read();
        while self.stopped.is_none() {
            tokio::select! {
                () = self.run.interrupted.cancelled() => {
                    let left = self.in_flight.len();
                    self.progress.complain(format_args!(
                        "interrupted: finishing the {left} deliveries in flight; \
                         Ctrl-C again ends at once"
                    ));
                    return;
                }
                Some(answered) = self.in_flight.join_next() => self.count(answered),
                item = items.recv(), if self.in_flight.len() < self.run.concurrency => match item {
                    Some(Ok(item)) => self.take(item),
                    Some(Err(error)) => self.stopped = Some(error),
                    None => return,
                },
            }
        }
    }

    fn take(&mut self, item: Item) {
        let Item { line, starts_at, delivery } = item;
        self.progress.read_up_to(starts_at);
        match delivery {
            Ok(delivery) => {
                let handler = Arc::clone(&self.run.handler);
                self.in_flight.spawn(async move {
                    let observed = observe(handler.handle(&delivery)).await;
                    Answered { line, id: delivery.id, observed }
                });
            }
            Err(why) => {
                self.tally.invalid += 1;
                self.progress.complain(format_args!("line {line}: {why}"));
            }
        }
    }

    fn count(&mut self, answered: Result<Answered, JoinError>) {
        let Answered { line, id, observed } = match answered {
            Ok(answered) => answered,
            Err(error) => {
                // Only a panic ends a task early here, and it has told of itself.
                self.stopped.get_or_insert(anyhow!("a delivery's task ended early: {error}"));
                return;
            }
        };
        let fate = Fate::of(&observed);
        self.tally.count(fate);
        self.progress.show(&self.tally);
        if self.run.verbose {
            let answer = match &observed.result {
                Ok(Booked { at }) => format!("booked at byte {at}"),
                Err(error) => error.to_string(),
            };
            let id = id.escape_debug();
            self.progress.complain(format_args!("line {line}: {id}: {fate}: {answer}"));
        }
        if let Err(HandleError::Ledger(error)) = observed.result {
            let path = self.run.handler.ledger.path().display();
            self.stopped.get_or_insert(anyhow!("cannot write the ledger {path}: {error}"));
        }
    }
}
