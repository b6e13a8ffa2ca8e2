//! Renders reports in the background, behind receipts, while the workers that do it are killed; and
//! proves from a ledger that nothing was done twice.
//!
//! `cargo run --bin reports -- --help` tells everything.
//!
//! What a service would have of this is in `client` (the dispatch), `worker` (the attach) and `render`
//! (an effect that does not repeat across runs). The rest kills, notes and proves.

mod args;
mod client;
mod crew;
mod ledger;
mod progress;
mod proof;
mod queue;
mod render;
mod request;
mod story;
mod table;
mod worker;

use std::convert::Infallible;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Parser;
use fastrand::Rng;
use idem_redis::RedisBackend;
use idem_runtime::{Backend, BuildError, Idem, MemoryBackend};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing_subscriber::EnvFilter;

use crate::args::{Args, BackendChoice};
use crate::client::{Answers, Client};
use crate::crew::{Crew, Place};
use crate::ledger::{Ledger, What, micros};
use crate::progress::Progress;
use crate::proof::Proof;
use crate::queue::{MemoryQueue, Queue, RedisQueue};
use crate::request::Request;
use crate::table::Table;

/// How long a run, and an e-mail, outlives the last sign of life of its worker.
const LEASE: Duration = Duration::from_secs(1);
/// How long after that a run may still come back.
const HOLD: Duration = Duration::from_secs(2);
/// How long receipts and outcomes are kept: longer than the program runs.
const TTL: Duration = Duration::from_secs(600);
/// How long it takes from one killed worker to the next, in milliseconds.
const KILL_PAUSE: std::ops::Range<u64> = 300..1_500;

/// The ledger tells of something that must not be.
const NOT_PROVED: u8 = 1;
/// It could not run; also what a wrong command line ends with.
const NOT_RUN: u8 = 2;

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    if std::env::var_os(EnvFilter::DEFAULT_ENV).is_some() {
        let ansi = io::stderr().is_terminal();
        let filter = EnvFilter::from_default_env();
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(io::stderr)
            .with_ansi(ansi)
            .init();
    }
    match run(args).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(NOT_PROVED),
        Err(error) => {
            complain(format_args!("{error:#}"));
            ExitCode::from(NOT_RUN)
        }
    }
}

/// Whether everything holds.
async fn run(args: Args) -> Result<bool> {
    if args.worker {
        return worker::of_another_process().await.map(|()| true);
    }
    if let Some(ledger) = &args.check {
        let proof = Proof::of(ledger)?;
        return print(&proof.to_string()).map(|()| proof.holds());
    }
    let path = args.ledger.clone().map_or_else(ledger::new_path, Ok)?;
    let ledger = Arc::new(Ledger::open(&path)?);
    if !ledger.is_empty() {
        bail!("{} is there already: give --ledger a new path", path.display());
    }
    let (answers, dismissed) = render(&args, &ledger).await?;
    let proof = Proof::of(&path)?;
    print(&format!("{}\n{proof}", Table { answers: &answers, story: proof.story() }))?;
    dismissed.map(|()| proof.holds())
}

/// Has all reports rendered: how each was answered, and whether the workers came to a good end.
async fn render(args: &Args, ledger: &Arc<Ledger>) -> Result<(Vec<Answers>, Result<()>)> {
    let batch = format!("{:06x}", fastrand::u32(..1 << 24));
    let (idem, queue, place) = open_backend(&args.backend, &batch).await?;
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    print(&format!("{} reports, {} workers, seed {seed}\n\n", args.requests, args.workers))?;
    let mut rng = Rng::with_seed(seed);
    let requests = Request::batch(&batch, args.requests, &mut rng);
    let ids = requests.iter().map(|request| request.id.clone()).collect();
    ledger.note(What::Opened { hold_us: micros(HOLD), requests: ids })?;

    let progress = Progress::new(args.requests, args.verbose);
    let client = Client { idem, queue, ledger: Arc::clone(ledger), progress };
    let mut crew = Crew::new(place, Arc::clone(ledger));
    for _ in 0..args.workers {
        crew.hire().await?;
    }
    let answers = tokio::select! {
        answers = ask_for_all(&client, requests) => answers?,
        never = kill_some(&mut crew, args.kills, &mut rng, &client.progress) => match never? {},
    };
    client.progress.end();
    let dismissed = crew.dismiss().await;
    client.queue.close().await?;
    client.idem.shutdown(Duration::from_secs(5)).await;
    Ok((answers, dismissed))
}

/// Where records are kept, the queue, and where workers work, as it was asked for.
async fn open_backend(choice: &BackendChoice, batch: &str) -> Result<(Idem, Queue, Place)> {
    match choice {
        BackendChoice::Memory => {
            let backend = MemoryBackend::new();
            let queue = Queue::Memory(MemoryQueue::default());
            let place = Place::Tasks { backend: backend.clone(), queue: queue.clone() };
            Ok((open(backend)?, queue, place))
        }
        BackendChoice::Redis(url) => {
            let idem = open(RedisBackend::connect(url).await?)?;
            let queue = RedisQueue::connect(url, batch).await?;
            queue.create().await?;
            let place = Place::Processes { url: url.clone(), batch: batch.to_owned() };
            Ok((idem, Queue::Redis(queue), place))
        }
        BackendChoice::Unknown(name) => {
            bail!("there is no backend {name:?}: use --backend memory or redis://host:port")
        }
    }
}

/// As the client and every worker have it.
fn open(backend: impl Backend) -> Result<Idem, BuildError> {
    let builder = Idem::builder().backend(backend).prefix("examples");
    builder.lease(LEASE).ttl(TTL).retention(TTL).show_keys().build()
}

/// Asks for all of them at once, and has the first one cancelled.
async fn ask_for_all(client: &Client, requests: Vec<Request>) -> Result<Vec<Answers>> {
    let mut asks = JoinSet::new();
    for (nth, request) in requests.into_iter().enumerate() {
        asks.spawn(client.clone().ask(request, nth == 0));
    }
    let mut answers = Vec::new();
    while let Some(asked) = asks.join_next().await {
        answers.push(asked??);
    }
    answers.sort_by(|one, other| one.request.cmp(&other.request));
    Ok(answers)
}

/// Kills one worker after the other, whatever it is doing, and has another take its place.
async fn kill_some(
    crew: &mut Crew,
    kills: u16,
    rng: &mut Rng,
    progress: &Progress,
) -> Result<Infallible> {
    for _ in 0..kills {
        sleep(Duration::from_millis(rng.u64(KILL_PAUSE))).await;
        let name = crew.kill(rng.usize(..crew.len())).await?;
        progress.tell(format_args!("killed worker {name}"));
        crew.hire().await?;
    }
    std::future::pending().await
}

/// Writes to standard output. A reader that has seen enough is no failure.
fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            bail!("cannot write to standard output: {error}")
        }
        _ => Ok(()),
    }
}

/// Says something on standard error; if nobody listens there, there is nobody to tell.
fn complain(what: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "reports: {what}");
}
