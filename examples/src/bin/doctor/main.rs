//! Looks at a Redis deployment for what endangers the promises of idem.
//!
//! `cargo run --bin doctor -- redis://127.0.0.1:6379` prints what is found as a table;
//! `cargo run --bin doctor -- --help` tells everything.

mod args;
mod table;

use std::fmt;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use idem_redis::{Finding, RedisBackend, Severity};
use tracing_subscriber::EnvFilter;

use crate::args::Args;
use crate::table::Table;

/// What endangers the promises was found.
const ENDANGERED: u8 = 1;
/// It could not be looked at; also what a wrong command line ends with.
const NOT_LOOKED_AT: u8 = 2;

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
    let looked = look(&args).await.and_then(|findings| {
        print(format_args!("{}", Table::of(&findings)))?;
        Ok(findings)
    });
    match looked {
        Ok(findings) if findings.iter().any(|one| one.severity >= Severity::Endangers) => {
            ExitCode::from(ENDANGERED)
        }
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            // If nobody listens there, there is nobody to tell.
            let _ = writeln!(io::stderr(), "doctor: {error:#}");
            ExitCode::from(NOT_LOOKED_AT)
        }
    }
}

async fn look(args: &Args) -> Result<Vec<Finding>> {
    let address = match args.address.as_str() {
        "-" => io::read_to_string(io::stdin()).context("cannot read the address")?,
        address => address.to_owned(),
    };
    let mut builder = RedisBackend::builder(address.trim()).command_timeout(args.command_timeout());
    if let Some(root) = &args.root_certificate {
        builder = builder.root_certificate(read(root)?);
    }
    if let (Some(certificate), Some(key)) = (&args.client_certificate, &args.client_key) {
        builder = builder.client_certificate(read(certificate)?, read(key)?);
    }
    let mut doctor = builder.connect().await?.doctor();
    if let Some(prefix) = &args.prefix {
        doctor = doctor.prefix(prefix);
    }
    Ok(doctor.await?)
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Writes to standard output. A reader that has seen enough is no failure.
fn print(text: fmt::Arguments<'_>) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_fmt(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            bail!("cannot write to standard output: {error}")
        }
        _ => Ok(()),
    }
}
