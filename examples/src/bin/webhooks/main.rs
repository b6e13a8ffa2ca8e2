//! Handles webhook deliveries, each event once, and proves it from the ledger on the disk.
//!
//! `cargo run --bin webhooks -- --help` tells everything.
//!
//! The annotated function is in `handler`. The modules are in the order in which a delivery meets
//! them.

mod args;
mod deliver;
mod delivery;
mod handler;
mod input;
mod ledger;
mod lines;
mod progress;
mod proof;
mod tally;

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Parser;
use idem_redis::RedisBackend;
use idem_runtime::{Idem, MemoryBackend};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::args::{Args, BackendChoice};
use crate::deliver::{Ended, Run};
use crate::handler::Handler;
use crate::input::Input;
use crate::ledger::Ledger;
use crate::proof::Proof;

/// What an interrupted process ends with.
const INTERRUPTED: u8 = 130;

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
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            complain(format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The exit status; `--help` says what each means.
async fn run(args: Args) -> Result<u8> {
    let (idem, remembers) = open_backend(&args.backend).await?;
    idem.install()?;
    let input = Input::open(args.file.as_deref())?;
    let ledger = args.ledger.map_or_else(ledger::new_path, Ok)?;
    if args.file.as_deref().is_some_and(|file| is_same(file, &ledger)) {
        bail!("the ledger is the input, {}: give --ledger another path", ledger.display());
    }
    let handler = Arc::new(Handler::new(Ledger::open(&ledger, args.crash_after)?));
    let interrupted = on_ctrl_c();
    let run = Run {
        handler: Arc::clone(&handler),
        concurrency: args.concurrency.into(),
        verbose: args.verbose,
        interrupted: interrupted.clone(),
    };
    let ended = run.of(input).await;
    let left = idem.shutdown(Duration::from_secs(10)).await;
    if !left.is_clean() {
        complain(format_args!(
            "{} calls and {} outcomes were left undone",
            left.running, left.unsettled
        ));
    }
    conclude(ended, &handler.ledger, remembers, interrupted.is_cancelled())
}

/// The backend that was asked for, and whether it remembers beyond this process.
async fn open_backend(choice: &BackendChoice) -> Result<(Idem, bool)> {
    let builder = Idem::builder().prefix("examples");
    let (builder, remembers) = match choice {
        BackendChoice::Memory => (builder.backend(MemoryBackend::new()), false),
        BackendChoice::Redis(url) => (builder.backend(RedisBackend::connect(url).await?), true),
        BackendChoice::Unknown(name) => {
            bail!("there is no backend {name:?}: use --backend memory or redis://host:port")
        }
    };
    Ok((builder.build()?, remembers))
}

/// The first Ctrl-C cancels the token, the second one ends the process.
fn on_ctrl_c() -> CancellationToken {
    let token = CancellationToken::new();
    let interrupted = token.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            interrupted.cancel();
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(INTERRUPTED.into());
        }
    });
    token
}

fn conclude(ended: Ended, ledger: &Ledger, remembers: bool, interrupted: bool) -> Result<u8> {
    let Ended { tally, stopped } = ended;
    let synced = ledger.sync();
    let proof = Proof::read(ledger, tally.handled, remembers);
    let mut text = tally.to_string();
    if let Ok(proof) = &proof {
        text.push_str(&format!("\n{proof}"));
    }
    print(&text)?;
    // What stopped the run is the one thing to tell: the rest follows from it.
    if let Some(error) = stopped {
        return Err(error);
    }
    synced?;
    Ok(match proof? {
        _ if interrupted => INTERRUPTED,
        proof if !proof.holds() => 4,
        _ if tally.invalid > 0 => 3,
        _ => 0,
    })
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
    let _ = writeln!(io::stderr(), "webhooks: {what}");
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
