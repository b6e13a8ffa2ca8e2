//! A process that makes calls as it is told: settings as JSON in its argument, then one ask a line
//! on its standard input, and one line for each thing it has to tell on its standard output. It ends
//! with its input. `idem_tests::caller` has the words and the other end.

mod asks;
mod calls;

use std::error::Error;
use std::io::Write;

use idem_redis::RedisBackend;
use idem_runtime::{Event, Idem, Observer};
use idem_tests::caller::{Runtime, Settings, Told};

use asks::Asks;

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: caller '<settings as JSON>'; then one ask as JSON a line";
    let settings: Settings = serde_json::from_str(&std::env::args().nth(1).ok_or(usage)?)?;
    let runtime = match settings.runtime {
        Runtime::CurrentThread => tokio::runtime::Builder::new_current_thread(),
        Runtime::MultiThread => tokio::runtime::Builder::new_multi_thread(),
    }
    .worker_threads(2)
    .enable_all()
    .build()?;
    runtime.block_on(serve(settings))
}

async fn serve(settings: Settings) -> Result<(), Box<dyn Error>> {
    let backend = RedisBackend::builder(&settings.url).command_timeout(settings.command_timeout);
    let builder = Idem::builder().backend(backend.connect().await?).observer(Teller);
    let idem = settings.apply(builder).build()?;
    let Asks { mut calls, finished } = asks::read();
    tell(&Told::Ready);
    while let Some(call) = calls.recv().await {
        calls::make(&idem, &settings, &finished, &call);
    }
    Ok(())
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
