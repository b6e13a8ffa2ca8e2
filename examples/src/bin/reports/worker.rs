//! A worker: takes orders from the queue, and runs their runs.

use std::io::{self, BufRead};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use idem_redis::RedisBackend;
use idem_runtime::{Idem, OnLost};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::ledger::Ledger;
use crate::open;
use crate::queue::{Queue, RedisQueue, Taken};
use crate::render::Printer;
use crate::request::Order;

/// How often a worker that has nothing to do looks for something.
const IDLE: Duration = Duration::from_millis(50);
/// How long a worker's calls and outcomes are waited for at its end.
const GRACE: Duration = Duration::from_secs(5);

/// A worker, with an `Idem` of its own, whether it is a process or not.
pub(crate) struct Worker {
    pub(crate) idem: Idem,
    pub(crate) queue: Queue,
    pub(crate) printer: Printer,
}

/// What a worker that is a process is told.
#[derive(Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) batch: String,
    pub(crate) ledger: PathBuf,
}

impl Worker {
    /// Works until it is to stop, and ends what it has in hand then.
    ///
    /// # Errors
    /// The queue does not answer.
    pub(crate) async fn work(self, stop: CancellationToken) -> Result<()> {
        let worked = self.idem.scope(self.work_off(&stop)).await;
        self.idem.shutdown(GRACE).await;
        worked
    }

    async fn work_off(&self, stop: &CancellationToken) -> Result<()> {
        while !stop.is_cancelled() {
            match self.queue.take(&self.printer.worker).await? {
                Some(taken) => self.run(&taken).await?,
                None => sleep(IDLE).await,
            }
        }
        Ok(())
    }

    async fn run(&self, taken: &Taken) -> Result<()> {
        let Order { run, request } = &taken.order;
        let body = self.printer.render(*run, request);
        let is_done = match self.idem.attach(*run).on_lost(OnLost::Cancel).run(body).await {
            Ok(ran) => ran.is_done(),
            // Lost, or past its deadline: it has ended here.
            Err(error) => error.may_have_run(),
        };
        // Otherwise it is handed out again.
        if is_done { self.queue.done(taken).await } else { Ok(()) }
    }
}

/// Is a worker until standard input ends, whose first line says which.
///
/// # Errors
/// It cannot work, or not go on.
pub(crate) async fn of_another_process() -> Result<()> {
    let stop = CancellationToken::new();
    let Settings { name, url, batch, ledger } = told(stop.clone())?;
    let idem = open(RedisBackend::connect(&url).await?)?;
    let queue = Queue::Redis(RedisQueue::connect(&url, &batch).await?);
    let printer = Printer { worker: name, ledger: Arc::new(Ledger::open(&ledger)?) };
    Worker { idem, queue, printer }.work(stop).await
}

/// What standard input says first. When it ends, so that nobody is left to work for, `stop` is
/// cancelled.
fn told(stop: CancellationToken) -> Result<Settings> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let settings =
        serde_json::from_str(&line).context("a worker is started by this program only")?;
    // A thread of its own: nothing waits for it at the end.
    std::thread::spawn(move || {
        let rest = io::stdin().lock().lines().map_while(Result::ok);
        rest.for_each(drop);
        stop.cancel();
    });
    Ok(settings)
}
