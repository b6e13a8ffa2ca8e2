//! What a person may ask of the program.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, value_parser};

const MORE: &str = "\
What happens:
  Orders are added to a stream. Consumers, each a process of its own, take them and bill them, which
  takes three times as long as a silent consumer's orders are left to it: they are renewed meanwhile.
  Consumers are killed at random, as SIGKILL does it, and others take their places. What a dead one had
  in hand goes idle and is taken over. A bill is a line in the ledger. Before each kill a share of the
  orders is added, so that there is something to do until the last.

The table, live on a terminal, a row for each consumer, one for those that are dead, one for all:
  pending     orders that were delivered to it and are not acknowledged
  in hand     those of them that it says it has
  renewed     how often it has renewed an order
  reclaimed   orders that it has taken over, its own after a failure among them
  reconciled  orders whose bill it found in the ledger: a consumer was killed after it had written it
  replayed    orders whose bill was known to be written: a consumer was killed before it could say
              that it was done with the order
  dead        orders that it has moved to the dead letters
  done        orders that it is done with
In a pipe there is a line every second, and one for each kill. What a dead consumer has done in its
last tenth of a second is not counted, but for pending.

What is proved at the end, from the ledger and the server: every order was billed once, none is
pending, and none is in the dead letters.

Exit status:
  0  all of this holds
  1  something of it does not: the lines that say so begin with an exclamation mark
  2  it could not run, or the command line is wrong

Environment:
  RUST_LOG  what idem tells of itself, on standard error; for example RUST_LOG=idem=debug";

/// Bills orders from a Redis stream by consumers that are killed, and proves from a ledger that each was
/// billed once.
#[derive(Parser)]
#[command(name = "orders", version, after_long_help = MORE)]
pub(crate) struct Args {
    /// How many orders there are
    #[arg(long, value_name = "N", default_value_t = 60)]
    #[arg(value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub(crate) orders: u32,

    /// How many consumers there are at a time
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = value_parser!(u16).range(1..=64))]
    pub(crate) consumers: u16,

    /// How many orders a consumer bills at once
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = value_parser!(u16).range(1..=10_000))]
    pub(crate) concurrency: u16,

    /// How many consumers are killed, one after the other, each replaced at once
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = value_parser!(u32).range(0..=10_000))]
    pub(crate) kills: u32,

    /// How long an order takes: `3s`, `250ms`, `0s`
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = time)]
    pub(crate) slow: Duration,

    /// What decides who is killed when [default: a new one]
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,

    /// A Redis server, `redis://host:6379` [default: one of its own, which needs `redis-server` here]
    #[arg(long, value_name = "BACKEND")]
    pub(crate) backend: Option<String>,

    /// Where bills are written, a file that is not there yet [default: a new file in the system's folder
    /// for temporary ones]
    #[arg(long, value_name = "PATH")]
    pub(crate) ledger: Option<PathBuf>,

    /// Is a consumer of another process, which tells it on standard input what to do
    #[arg(long, exclusive = true, hide = true)]
    pub(crate) consumer: bool,
}

/// The longest that an order may take.
const LONGEST: Duration = Duration::from_secs(3_600);

fn time(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, Duration::from_millis(1)),
        None => (text.strip_suffix('s').unwrap_or_default(), Duration::from_secs(1)),
    };
    let number: u32 = number.parse().map_err(|_| "use a time such as 3s or 250ms".to_owned())?;
    match unit.saturating_mul(number) {
        time if time <= LONGEST => Ok(time),
        time => Err(format!("{time:?} is too long: at most {LONGEST:?}")),
    }
}
