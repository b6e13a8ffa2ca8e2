//! What can be set.

use std::time::{Duration, SystemTime};

use clap::Parser;

/// Calls at random from several processes while all sorts of things go wrong, and a check afterwards
/// that every promise was kept. Ends with 0 if so, with 1 if not, with 2 if it could not be found out.
#[derive(Debug, Parser)]
#[command(name = "soak")]
pub(crate) struct Options {
    /// For how long; fractions are fine.
    #[arg(long, default_value = "2", value_parser = minutes)]
    pub(crate) minutes: Duration,
    /// What decides what is called, and what goes wrong when. At random if it is not given.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// How many processes call.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub(crate) processes: u64,
    /// How many keys each operation has.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) keys: u64,
    /// Where the histories stay; otherwise they are gone with the run, unless a promise was broken.
    #[arg(long)]
    pub(crate) keep: Option<std::path::PathBuf>,
    /// Nothing is run; the histories in this folder, kept before, are checked.
    #[arg(long)]
    pub(crate) check: Option<std::path::PathBuf>,
    /// What a process of the soak is told.
    #[arg(long, hide = true)]
    pub(crate) worker: Option<String>,
}

impl Options {
    pub(crate) fn seed(&self) -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        // Short enough to be typed.
        self.seed
            .unwrap_or_else(|| u64::from(since.subsec_micros()) * 1_000 + since.as_secs() % 1_000)
    }
}

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes: f64 = text.parse().map_err(|_| "a number of minutes".to_owned())?;
    if !(0.05..=1e6).contains(&minutes) {
        return Err("at least 0.05".to_owned());
    }
    Ok(Duration::from_secs_f64(minutes * 60.0))
}
