//! What a person may ask of the program.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, value_parser};

const MORE: &str = "\
What happens:
  A client asks for reports, for each with the same words every quarter of a second until it has
  it. The answer is a receipt at once. Workers take the runs behind the receipts from a queue and
  render for a second or two, under a lease of 1 s. Workers are killed at random. A run whose worker
  has not been heard of is held for 2 s beyond its lease; then it counts as lost, and the next ask
  starts a new one. One request in four fails the first time it is rendered. The first request is
  cancelled by its client while it is rendered, and asked for again. Each rendering sends an e-mail,
  which is a line in the ledger.

The table, a row for each request:
  asked       how often the client asked for it
  new         answers that were the receipt of a new run
  replays     answers that were the receipt of an earlier answer
  refused     asks that got an error: none, as long as the backend and the queue can be reached
  renderings  in the order in which they began:
                done       it ended with the report
                failed     it ended with an error
                cancelled  its run was cancelled meanwhile
                killed     its worker was killed meanwhile
                lost       neither: its worker was slower than its lease
  e-mail      how each rendering that came to it was answered:
                sent        it sent it
                replayed    it was known to have been sent
                reconciled  a worker that ended before it could say so had sent it: the ledger was
                            looked at

What is proved, from the ledger, where workers note each rendering's begin, pages and end, and until
when they hold their lease:
  - No rendering began while an earlier run of its request could still succeed: before that had
    failed or been cancelled, or its last sign of life was the lease and the hold ago. No run was
    rendered twice, and none after its request's report was there.
  - Each e-mail was sent once.
  - Each request has its report.
Times in the ledger are those of the machine's wall clock.

Exit status:
  0  all of this holds
  1  something of it does not: the lines that say so begin with an exclamation mark
  2  it could not run, or the command line is wrong

Environment:
  RUST_LOG  what idem tells of itself, on standard error; for example RUST_LOG=idem=debug";

/// Renders reports in the background while its workers are killed, for a client that asks again, word
/// for word, until it has them; and proves from a ledger that nothing was done twice.
#[derive(Parser)]
#[command(name = "reports", version, after_long_help = MORE)]
pub(crate) struct Args {
    /// How many reports are asked for
    #[arg(long, value_name = "N", default_value_t = 12)]
    #[arg(value_parser = value_parser!(u16).range(1..=1_000))]
    pub(crate) requests: u16,

    /// How many workers render
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = value_parser!(u16).range(1..=64))]
    pub(crate) workers: u16,

    /// How many of them are killed, one after the other, each replaced at once; fewer if the reports
    /// are there before
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub(crate) kills: u16,

    /// What decides how long the reports are, and who is killed when [default: a new one]
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,

    /// Where idem keeps its records: `memory`, with workers in this process that are stopped in the
    /// middle of what they do; or a Redis server, `redis://host:6379`, with workers that are processes
    /// and are killed, and the queue on that server too
    #[arg(long, value_name = "BACKEND", default_value = "memory")]
    pub(crate) backend: BackendChoice,

    /// Where everything is noted, a file that is not there yet [default: a new file in the system's
    /// folder for temporary ones]
    #[arg(long, value_name = "PATH")]
    pub(crate) ledger: Option<PathBuf>,

    /// Renders nothing: looks again at the ledger of an earlier run
    #[arg(long, value_name = "LEDGER", exclusive = true)]
    pub(crate) check: Option<PathBuf>,

    /// Tells on standard error what happens, as it happens
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Is a worker of another process, which tells it on standard input what to do
    #[arg(long, exclusive = true, hide = true)]
    pub(crate) worker: bool,
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
