//! What a person may ask of the program.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, value_parser};

const MORE: &str = "\
The table, the worst first:
  endangers  the promises are at stake: outcomes or reservations can get lost, or cannot be renewed
             and stored now
  degrades   the promises hold; something works less well than it could, or breaks with the next fault
  notes      worth knowing, and what could not be looked at

Rights:
  The user that the service has is enough to look at rights, clocks and latency, and is the one whose
  rights matter. The rest takes `+info +config|get`, `+cluster|info` in a cluster, and of sentinels
  `+sentinel|master +sentinel|ckquorum`. Nothing is written.

Exit status:
  0  it was looked at, and nothing endangers the promises
  1  something endangers the promises
  2  it could not be looked at, or the command line is wrong

Environment:
  RUST_LOG  what idem tells of itself, on standard error; for example RUST_LOG=idem=debug";

/// Looks at a Redis deployment for what endangers the promises of idem, and says what to do about it.
#[derive(Parser)]
#[command(name = "doctor", version, after_long_help = MORE)]
pub(crate) struct Args {
    /// The address, as the service has it: `redis://…`, `redis-sentinel://…?master=…` or
    /// `redis-cluster://…`; `-` reads it from standard input
    ///
    /// An address with a password is seen by whoever lists the machine's processes: hence `-`.
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: String,

    /// The prefix that the service gives its `Idem`: with it the user's rights on its keys and
    /// channels are looked at
    #[arg(long, value_name = "PREFIX")]
    pub(crate) prefix: Option<String>,

    /// The service's `command_timeout` in milliseconds, by which the latency is judged
    #[arg(long, value_name = "MS", default_value_t = 1_000)]
    #[arg(value_parser = value_parser!(u64).range(1..=600_000))]
    command_timeout: u64,

    /// The certificate in PEM that signs those of the servers [default: the system's]
    #[arg(long, value_name = "FILE")]
    pub(crate) root_certificate: Option<PathBuf>,

    /// The certificate in PEM that is shown to the servers
    #[arg(long, value_name = "FILE", requires = "client_key")]
    pub(crate) client_certificate: Option<PathBuf>,

    /// Its key in PEM
    #[arg(long, value_name = "FILE", requires = "client_certificate")]
    pub(crate) client_key: Option<PathBuf>,
}

impl Args {
    pub(crate) fn command_timeout(&self) -> Duration {
        Duration::from_millis(self.command_timeout)
    }
}
