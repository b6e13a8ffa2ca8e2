//! The workers, as whoever starts and kills them sees them.

use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context, Result};
use idem_runtime::MemoryBackend;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::ledger::{Ledger, What};
use crate::open;
use crate::queue::Queue;
use crate::render::Printer;
use crate::worker::{Settings, Worker};

/// Where workers work.
pub(crate) enum Place {
    /// Here, as tasks.
    Tasks { backend: MemoryBackend, queue: Queue },
    /// In processes of their own, on this Redis server.
    Processes { url: String, batch: String },
}

/// All workers there are.
pub(crate) struct Crew {
    place: Place,
    ledger: Arc<Ledger>,
    workers: Vec<Hired>,
    /// So many there were, those that are dead included: no name comes twice.
    hired: u32,
    stop: CancellationToken,
}

struct Hired {
    name: String,
    job: Job,
}

enum Job {
    Task(JoinHandle<Result<()>>),
    Process(Child),
}

impl Crew {
    pub(crate) fn new(place: Place, ledger: Arc<Ledger>) -> Self {
        Self { place, ledger, workers: Vec::new(), hired: 0, stop: CancellationToken::new() }
    }

    pub(crate) const fn len(&self) -> usize {
        self.workers.len()
    }

    /// Starts one more.
    ///
    /// # Errors
    /// It did not start.
    pub(crate) async fn hire(&mut self) -> Result<()> {
        self.hired += 1;
        let name = format!("w{}", self.hired);
        let job = match &self.place {
            Place::Tasks { backend, queue } => {
                let printer = Printer { worker: name.clone(), ledger: Arc::clone(&self.ledger) };
                let (idem, queue) = (open(backend.clone())?, queue.clone());
                let worker = Worker { idem, queue, printer };
                Job::Task(tokio::spawn(worker.work(self.stop.clone())))
            }
            Place::Processes { url, batch } => {
                let (url, batch) = (url.clone(), batch.clone());
                let ledger = std::path::absolute(self.ledger.path())?;
                let settings = Settings { name: name.clone(), url, batch, ledger };
                Job::Process(start(&settings).await.context("cannot start a worker")?)
            }
        };
        self.workers.push(Hired { name, job });
        Ok(())
    }

    /// Ends one, wherever it is in what it does, and gives its name when it is gone.
    ///
    /// # Errors
    /// It may live.
    pub(crate) async fn kill(&mut self, nth: usize) -> Result<String> {
        let Hired { name, job } = self.workers.swap_remove(nth);
        match job {
            Job::Task(task) => {
                task.abort();
                let _ = task.await;
            }
            Job::Process(mut process) => process.kill().await.context("cannot kill a worker")?,
        }
        self.ledger.note(What::Killed { worker: name.clone() })?;
        Ok(name)
    }

    /// Has them end what they have in hand, and waits for them.
    ///
    /// # Errors
    /// One of them could not go on earlier.
    pub(crate) async fn dismiss(self) -> Result<()> {
        self.stop.cancel();
        for Hired { name, job } in self.workers {
            let could_not = || format!("worker {name} could not go on");
            match job {
                Job::Task(task) => task.await.with_context(could_not)?.with_context(could_not)?,
                Job::Process(mut process) => {
                    drop(process.stdin.take());
                    let status = process.wait().await.with_context(could_not)?;
                    anyhow::ensure!(status.success(), "{}: {status}", could_not());
                }
            }
        }
        Ok(())
    }
}

/// A process of this program that is a worker. What it is told may hold a password, which a command line
/// would show to everybody.
async fn start(settings: &Settings) -> Result<Child> {
    let mut process = Command::new(std::env::current_exe()?)
        .arg("--worker")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut line = serde_json::to_vec(settings)?;
    line.push(b'\n');
    process.stdin.as_mut().context("no pipe")?.write_all(&line).await?;
    Ok(process)
}
