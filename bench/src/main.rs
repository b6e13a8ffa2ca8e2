//! Figures of idem against the bare store: `cargo run --release -p idem-bench -- <suite>`.
//!
//! Machines differ and drift, so every figure is a ratio, both sides measured in the same run and in
//! turn. Exit status 0 says that the suite ran, not that its goals are met.

mod attribute;
mod consumer;
mod counted;
mod figure;
mod keeper;
mod machine;
mod memory;
mod process;
mod redis;
mod report;
mod role;
mod samples;
mod stopwatch;
mod suites;

use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{CommandFactory, Parser};

use crate::role::Role;
use crate::suites::{Plan, SUITES};

/// Figures of idem against the bare store, each a ratio of two sides measured in one run.
#[derive(Debug, Parser)]
#[command(name = "idem-bench", version)]
struct Args {
    /// What to measure.
    #[arg(value_parser = suite_names())]
    suite: Option<String>,
    /// One JSON object a line, instead of a table.
    #[arg(long)]
    json: bool,
    /// How many rounds to take the median of, at least five.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=1000))]
    rounds: Option<u32>,
    /// A Redis server to measure on, which nobody else uses; by default a suite starts its own.
    #[arg(long)]
    url: Option<String>,
    /// What this process is, if a suite has started it.
    #[arg(long, hide = true, conflicts_with = "suite")]
    role: Option<String>,
}

fn suite_names() -> PossibleValuesParser {
    SUITES
        .iter()
        .map(|suite| PossibleValue::new(suite.name).help(suite.about))
        .collect::<Vec<_>>()
        .into()
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if let Some(role) = &args.role {
        return serde_json::from_str::<Role>(role).context("reading the role")?.play();
    }
    let Some(suite) = args.suite.and_then(|name| SUITES.iter().find(|suite| suite.name == name))
    else {
        return Args::command().print_long_help().context("printing the usage");
    };
    let rounds = args.rounds.map_or(suite.rounds, |rounds| rounds as usize);
    let plan = Plan { rounds, url: args.url };
    let figures = (suite.run)(&plan).with_context(|| format!("suite `{}`", suite.name))?;
    if args.json {
        report::json(suite.name, &figures)
    } else {
        report::table(suite.name, rounds, &figures)
    }
}
