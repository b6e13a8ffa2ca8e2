//! The client: asks for a report, word for word, until it has it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use idem_runtime::{ErrorKind, Idem, Receipt, RunId, RunStatus};
use thiserror::Error;
use tokio::time::{Instant, sleep};

use crate::HOLD;
use crate::ledger::{Ledger, What};
use crate::progress::Progress;
use crate::queue::Queue;
use crate::request::{Order, Report, Request};

/// How often it asks.
const PAUSE: Duration = Duration::from_millis(250);
/// How long a run may wait for a worker before the next ask starts another.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long it goes on asking.
const PATIENCE: Duration = Duration::from_secs(180);

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) idem: Idem,
    pub(crate) queue: Queue,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) progress: Progress,
}

/// How a request was answered, over and over.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) request: String,
    pub(crate) new: u64,
    pub(crate) replays: u64,
    pub(crate) refused: u64,
}

/// Why an ask was refused.
#[derive(Debug, Error)]
enum Refused {
    #[error(transparent)]
    Idem(#[from] idem_runtime::Error),
    #[error("the queue: {0:#}")]
    Queue(anyhow::Error),
}

impl Client {
    /// Asks until the report is there, or `PATIENCE` ends. `cancels`: the first run that is seen to run is
    /// cancelled.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub(crate) async fn ask(self, request: Request, mut cancels: bool) -> Result<Answers> {
        let id = &request.id;
        let mut answers = Answers { request: id.clone(), new: 0, replays: 0, refused: 0 };
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            match self.dispatch(&request).await {
                Err(why) => {
                    answers.refused += 1;
                    self.progress.tell(format_args!("{id}: refused: {why}"));
                }
                Ok(receipt) => {
                    self.count(&mut answers, &receipt);
                    if cancels && matches!(receipt.status().await, Ok(RunStatus::Running { .. })) {
                        cancels = !self.cancel(id, &receipt).await?;
                    } else if self.has_report(&request, &receipt).await? {
                        break;
                    }
                }
            }
            sleep(PAUSE).await;
        }
        Ok(answers)
    }

    /// The same words each time. What is behind them (is there a run, does it live, did it fail) is not
    /// the client's business.
    async fn dispatch(&self, request: &Request) -> Result<Receipt, Refused> {
        self.idem
            .dispatch("reports.render")
            .key(&request.id)
            .fingerprint(request)
            .hold(HOLD)
            .queue_timeout(QUEUE_TIMEOUT)
            .enqueue(async |run| {
                let order = Order { run: run.id(), request: request.clone() };
                self.queue.push(&order).await.map_err(Refused::Queue)
            })
            .await
    }

    fn count(&self, answers: &mut Answers, receipt: &Receipt) {
        let (count, said) = match receipt.is_replay() {
            true => (&mut answers.replays, "replay: run"),
            false => (&mut answers.new, "new run"),
        };
        *count += 1;
        self.progress.tell(format_args!("{}: {said} {}", answers.request, receipt.id()));
    }

    /// Whether the run was cancelled, and had not ended before. Before that is known nothing is asked
    /// again: the ledger is to say first why another run may begin.
    async fn cancel(&self, id: &str, receipt: &Receipt) -> Result<bool> {
        let is_cancelled = loop {
            match receipt.cancel().await {
                Ok(status) => break status == RunStatus::Cancelled,
                Err(error) => self.progress.tell(format_args!("{id}: not cancelled: {error}")),
            }
            sleep(PAUSE).await;
        };
        if is_cancelled {
            let (request, run) = (id.to_owned(), receipt.id());
            self.ledger.note(What::Cancelled { request, run })?;
            self.progress.tell(format_args!("{id}: cancelled run {run}"));
        }
        Ok(is_cancelled)
    }

    async fn has_report(&self, request: &Request, receipt: &Receipt) -> Result<bool> {
        let (id, run): (&str, RunId) = (&request.id, receipt.id());
        match receipt.result::<Report>().await {
            Ok(report) => {
                let pages = report.pages.len();
                anyhow::ensure!(
                    report.request == *id && pages == request.pages as usize,
                    "{id} has got another's report: {report:?}"
                );
                self.ledger.note(What::Received { request: id.to_owned(), run })?;
                self.progress.tell(format_args!("{id}: {pages} pages of run {run}"));
                self.progress.one_more();
                Ok(true)
            }
            Err(error) => {
                if error.kind() != ErrorKind::InProgress {
                    self.progress.tell(format_args!("{id}: {error}"));
                }
                Ok(false)
            }
        }
    }
}
