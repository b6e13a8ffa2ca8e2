//! What a person may ask of the program.

use std::convert::Infallible;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, value_parser};

const MORE: &str = "\
Deliveries:
  One JSON object a line, of at most 1 MiB:
    id        a string, not empty; what makes two deliveries the same event (required)
    type      a string
    created   any value
    data      any value
    simulate  what the handler is to suffer from: {\"slow_ms\": 300} (at most 10 s),
              {\"fail\": \"once\"} (the next delivery succeeds) or {\"fail\": \"for_good\"}
  Other fields are kept. Blank lines, CRLF and a byte order mark are fine. A line that is not such
  an object is reported on standard error with its number, and the rest goes on.

The table:
  deliveries     lines that were deliveries; the sum of the next five
  handled        ran, and wrote one ledger line
  replayed       answered from the outcome that was stored, be it a success or a final failure
  waited         came while the event was being handled, and got that outcome
  refused        not run: mostly an id that was used before with another type or other data
  failed         ran and failed: for now (the next delivery runs again) or for good (stored)
  invalid lines  were reported and left out

Exit status:
  0    everything was read, and no event has two ledger lines
  1    the run could not start or go on: input, ledger, output or backend
  2    the command line is wrong
  3    like 0, but lines were invalid
  4    the ledger proves nothing: an event has two lines, or lines are damaged or missing
  130  ended by Ctrl-C: what was in flight has been finished and is in the table; a second Ctrl-C
       ends at once

Environment:
  RUST_LOG  what idem tells of itself, on standard error; for example RUST_LOG=idem=debug";

/// Handles webhook deliveries, each event once, however often and however closely together it is
/// delivered, and proves it from the ledger that the handler writes.
#[derive(Parser)]
#[command(name = "webhooks", version, after_long_help = MORE)]
pub(crate) struct Args {
    /// Deliveries, one JSON object a line; `-` is standard input [default: the deliveries that ship
    /// with the program]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Where the handler writes one line for each event [default: a new file in the system's folder
    /// for temporary ones]
    ///
    /// Lines are added to a ledger that exists. The proof counts the file as a whole and says how
    /// many lines it had before.
    #[arg(long, value_name = "PATH")]
    pub(crate) ledger: Option<PathBuf>,

    /// Deliveries in flight at once, at most
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = value_parser!(u16).range(1..=4096))]
    pub(crate) concurrency: u16,

    /// Where idem keeps its records: `memory` (forgotten when the process ends) or the address of a
    /// Redis server, `redis://host:6379`; for sentinels and clusters see docs/redis.md
    ///
    /// In Redis outcomes are kept for a day: a second run replays what an earlier one handled.
    #[arg(long, value_name = "BACKEND", default_value = "memory")]
    pub(crate) backend: BackendChoice,

    /// Ends the process the hard way once N ledger lines are written: after the effect, before its
    /// outcome is stored
    ///
    /// Run it a second time with the same --ledger to see what a lost process means for the backend.
    #[arg(long, value_name = "N")]
    pub(crate) crash_after: Option<NonZeroU64>,

    /// Tells on standard error what became of each delivery
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// Where idem keeps its records.
#[derive(Clone)]
pub(crate) enum BackendChoice {
    Memory,
    /// A Redis server, by its address, which may hold a password.
    Redis(String),
    Unknown(String),
}

impl FromStr for BackendChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "memory" => Self::Memory,
            _ if text.contains("://") => Self::Redis(text.to_owned()),
            _ => Self::Unknown(text.to_owned()),
        })
    }
}
