//! A process that dispatches runs and works them off as it is told: settings as JSON in its argument,
//! then one ask a line on its standard input, and one line for each thing it has to tell on its standard
//! output. It ends with its input. `idem_tests::runner` has the words and the other end.

mod runs;

use std::error::Error;
use std::io::Write;

use idem_redis::RedisBackend;
use idem_runtime::{Event, Idem, Observer};
use idem_tests::caller::Settings;
use idem_tests::runner::{Ask, Told};
use tokio::io::{AsyncBufReadExt, BufReader};

use runs::Runs;

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: runner '<settings as JSON>'; then one ask as JSON a line";
    let settings: Settings = serde_json::from_str(&std::env::args().nth(1).ok_or(usage)?)?;
    let backend = RedisBackend::builder(&settings.url).command_timeout(settings.command_timeout);
    let builder = Idem::builder().backend(backend.connect().await?).observer(Teller);
    let runs = Runs::new(settings.apply(builder).build()?, settings.ledger);
    tell(&Told::Ready);
    let mut asks = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = asks.next_line().await? {
        let runs = runs.clone();
        match serde_json::from_str(&line)? {
            Ask::Dispatch(dispatch) => drop(tokio::spawn(runs.dispatch(dispatch))),
            Ask::Attach(run, body) => drop(tokio::spawn(runs.attach(run, body))),
            Ask::Cancel(run) => drop(tokio::spawn(runs.cancel(run))),
            Ask::Look(run) => drop(tokio::spawn(runs.look(run))),
            Ask::Finish(name) => runs.finish(name),
        }
    }
    // Whatever still runs ends with its process.
    std::process::exit(0)
}

/// Tells every event.
struct Teller;

impl Observer for Teller {
    fn observe(&self, event: &Event<'_>) {
        tell(&Told::Event(event.kind.name().to_owned()));
    }
}

/// Tells the test; without it there is nothing left to do.
fn tell(told: &Told) {
    let line = serde_json::to_string(told).expect("what is told can be written");
    if writeln!(std::io::stdout().lock(), "{line}").is_err() {
        std::process::exit(1);
    }
}
