//! Bills orders from a Redis stream, by consumers in processes of their own that are killed at random;
//! and proves from a ledger that each order was billed once.
//!
//! `cargo run --bin orders -- --help` tells everything.
//!
//! What a service would have of this is in `consumer` (the consumer and its settings) and `billing` (the
//! handler, which is safe to be called again). The rest adds orders, kills, shows and proves.

mod args;
mod billing;
mod consumer;
mod crew;
mod ledger;
mod order;
mod proof;
mod show;
mod stream;
mod told;
mod work;

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Result, bail};
use clap::Parser;
use idem_processes::RedisServer;
use tracing_subscriber::EnvFilter;

use crate::args::Args;
use crate::ledger::Ledger;
use crate::proof::Proof;
use crate::work::bill_all;

/// Not every order was billed once.
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
    if args.consumer {
        return consumer::of_another_process().await.map(|()| true);
    }
    let path = args.ledger.clone().map_or_else(ledger::new_path, Ok)?;
    let ledger = Ledger::open(&path)?;
    if !ledger.is_empty() {
        bail!("{} is there already: give --ledger a new path", path.display());
    }
    let done = match &args.backend {
        Some(url) => bill_all(&args, url, ledger.path()).await?,
        None => {
            let server = start_server()?;
            bill_all(&args, &server.url(), ledger.path()).await?
        }
    };
    let proof = Proof::of(&path, done)?;
    print(&format!("\n{proof}"))?;
    Ok(proof.holds())
}

/// A server that ends with this program, however that ends.
fn start_server() -> Result<RedisServer> {
    let asked = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
    if !asked.is_ok_and(|status| status.success()) {
        bail!("there is no redis-server here: install it, or give --backend redis://host:port");
    }
    Ok(RedisServer::start())
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
    let _ = writeln!(io::stderr(), "orders: {what}");
}
