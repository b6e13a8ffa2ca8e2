//! A consumer: a process that takes orders from the stream and has them billed, until it is killed.

use std::convert::Infallible;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use idem_redis::RedisBackend;
use idem_redis::consumer::{Backoff, Consumer, ConsumerStats, Message};
use idem_runtime::{Idem, Source, observe};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::billing::Billing;
use crate::ledger::Ledger;
use crate::order::Order;
use crate::stream::{GROUP, Names};
use crate::told::Told;

/// For how long nobody has to be heard of an order before another consumer takes it over. A handler
/// takes several times as long by default: its order is renewed meanwhile.
const RETRY_ON_IDLE: Duration = Duration::from_secs(1);
/// For how long an order's key outlives its owner's last sign of life. Longer than `RETRY_ON_IDLE`: an
/// order that is taken over a little too early costs no more than a wait here, so that one may be
/// short; a key that is taken over too early would cost a second bill. The wait ends well: a call waits
/// for two leases by default, and a dead owner's key is free after one. So no kill makes a delivery fail.
const LEASE: Duration = Duration::from_secs(2);
/// How long an order rests after a handler that failed: a lease first, for so long its key may be held.
const REST: Backoff = Backoff::exponential(LEASE, Duration::from_secs(10));
/// How often an order is delivered before it counts as one that cannot be billed. A delivery counts also
/// if its consumer is killed, and one order may be in hand at each kill: these come on top.
const MAX_DELIVERIES: u64 = 5;
/// How long outcomes are kept, and crashes remembered: longer than an order can be delivered again.
const TTL: Duration = Duration::from_secs(3_600);
/// How long outcomes are waited for at its end.
const GRACE: Duration = Duration::from_secs(5);
/// How often it says what it has done.
const TELLS_EVERY: Duration = Duration::from_millis(100);

/// What a consumer is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) batch: String,
    pub(crate) ledger: PathBuf,
    pub(crate) concurrency: usize,
    pub(crate) slow: Duration,
    /// How many consumers will be killed, all in all.
    pub(crate) kills: u32,
}

/// How calls were answered, other than by running.
#[derive(Debug, Default)]
struct Answers {
    replayed: AtomicU64,
    reconciled: AtomicU64,
}

/// Is a consumer until standard input ends, whose first line says which.
///
/// # Errors
/// It cannot begin.
pub(crate) async fn of_another_process() -> Result<()> {
    let stop = CancellationToken::new();
    let settings = told(stop.clone())?;
    let backend = RedisBackend::connect(&settings.url).await?;
    let idem = Idem::builder().backend(backend.clone()).prefix("examples");
    let idem = idem.lease(LEASE).ttl(TTL).retention(TTL).build()?;
    idem.install()?;
    let answers = Arc::new(Answers::default());
    let consumer = build(&backend, &settings, &answers)?;
    let ran = tokio::select! {
        ran = consumer.clone().run(stop.cancelled_owned()) => ran,
        never = tell_again_and_again(&consumer, &answers) => match never {},
    };
    tell(&consumer, &answers);
    idem.shutdown(GRACE).await;
    Ok(ran?)
}

fn build(backend: &RedisBackend, settings: &Settings, answers: &Arc<Answers>) -> Result<Consumer> {
    let names = Names::of(&settings.batch);
    let consumer = settings.name.clone();
    let ledger = Arc::new(Ledger::open(&settings.ledger)?);
    let billing = Arc::new(Billing { consumer, ledger, slow: settings.slow });
    let answers = Arc::clone(answers);
    Ok(Consumer::builder(backend, names.stream, GROUP)
        .retry_on_idle(RETRY_ON_IDLE)
        .concurrency(settings.concurrency)
        .max_deliveries(MAX_DELIVERIES + u64::from(settings.kills))
        .backoff(REST)
        .dead_letter(names.dead)
        .delete_on_ack(true)
        .grace(GRACE)
        .handler(move |order: Message<Order>| {
            let (billing, answers) = (Arc::clone(&billing), Arc::clone(&answers));
            async move {
                let answered = observe(billing.bill(&order)).await;
                answers.count(answered.facts.map(|facts| facts.source));
                answered.result.map(drop)
            }
        }))
}

impl Answers {
    fn count(&self, source: Option<Source>) {
        let counter = match source {
            Some(Source::Replayed | Source::Waited) => &self.replayed,
            Some(Source::Reconciled) => &self.reconciled,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

async fn tell_again_and_again(consumer: &Consumer, answers: &Answers) -> Infallible {
    loop {
        tell(consumer, answers);
        sleep(TELLS_EVERY).await;
    }
}

/// Says on standard output, in one line, what it has done by now.
fn tell(consumer: &Consumer, answers: &Answers) {
    let ConsumerStats { in_hand, renewed, reclaimed, lost, done, failed, dead, .. } =
        consumer.stats();
    let [replayed, reconciled] =
        [&answers.replayed, &answers.reconciled].map(|count| count.load(Ordering::Relaxed));
    let name = consumer.name().to_owned();
    let told =
        Told { name, in_hand, renewed, reclaimed, lost, done, failed, dead, replayed, reconciled };
    // If nobody listens, standard input ends too.
    let _ = serde_json::to_string(&told).map(|line| writeln!(io::stdout(), "{line}"));
}

/// What standard input says first. When it ends, so that nobody is left to work for, `stop` is
/// cancelled.
fn told(stop: CancellationToken) -> Result<Settings> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let settings =
        serde_json::from_str(&line).context("a consumer is started by this program only")?;
    // A thread of its own: nothing waits for it at the end.
    std::thread::spawn(move || {
        let rest = io::stdin().lock().lines().map_while(Result::ok);
        rest.for_each(drop);
        stop.cancel();
    });
    Ok(settings)
}
