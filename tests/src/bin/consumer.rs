//! A process that consumes a stream: settings as JSON in its argument, and one line for each thing it has
//! to tell on its standard output. It ends with its input. `idem_tests::consuming` has the words.

use std::error::Error;
use std::io::Write;
use std::time::{Duration, Instant};

use idem_redis::RedisBackend;
use idem_redis::consumer::{Consumer, Message};
use idem_tests::consuming::{Act, Settings, Told};
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
struct Order {
    act: Act,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: consumer '<settings as JSON>'";
    let settings: Settings = serde_json::from_str(&std::env::args().nth(1).ok_or(usage)?)?;
    let Settings { url, stream, name, retry_on_idle, max_deliveries } = settings;
    let backend = RedisBackend::connect(&url).await?;
    let dead = format!("{stream}.dead");
    let mut builder = Consumer::builder(&backend, stream, "billing")
        .retry_on_idle(retry_on_idle)
        .max_deliveries(max_deliveries)
        .dead_letter(dead)
        .observer(|event| tell(&Told::Event(event.kind.name().to_owned())));
    if let Some(name) = name {
        builder = builder.consumer(name);
    }
    let ends = async {
        let mut input = tokio::io::stdin();
        // Its end, or an error, which is one.
        let _ = tokio::io::copy(&mut input, &mut tokio::io::sink()).await;
    };
    builder.handler(act).run(ends).await?;
    Ok(())
}

async fn act(message: Message<Order>) -> Result<(), String> {
    let id = message.id().to_string();
    tell(&Told::Began(id.clone(), message.deliveries()));
    match message.act {
        Act::Finish => {}
        Act::Stay => std::future::pending().await,
        Act::FinishWhenPaused => until_paused().await,
        Act::Abort => std::process::abort(),
    }
    tell(&Told::Ended(id));
    Ok(())
}

/// Until much more time has passed between two looks than was asked for. It holds its thread, so that
/// nothing else of the handler's happens in between.
async fn until_paused() {
    let mut before = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(5));
        if before.elapsed() > Duration::from_secs(1) {
            return;
        }
        before = Instant::now();
        tokio::task::yield_now().await;
    }
}

/// Tells the test; without it there is nothing left to do.
fn tell(told: &Told) {
    let line = serde_json::to_string(told).expect("what is told can be written");
    if writeln!(std::io::stdout().lock(), "{line}").is_err() {
        std::process::exit(1);
    }
}
