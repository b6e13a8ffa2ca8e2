//! The orders are added, consumers bill them, and are killed meanwhile.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use fastrand::Rng;
use tokio::time::{Instant, interval, sleep_until};

use crate::args::Args;
use crate::consumer::Settings;
use crate::crew::Crew;
use crate::print;
use crate::proof::Done;
use crate::show::{Show, State};
use crate::stream::{Look, Stream};

/// How long it takes from one killed consumer to the next, in milliseconds.
const KILL_PAUSE: std::ops::Range<u64> = 300..1_500;
/// How often the server is looked at.
const LOOKS_EVERY: Duration = Duration::from_millis(200);
/// How long nothing may come of what the consumers do, beyond the time of ten orders. Longer than any step
/// takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The work, under way.
struct Work<'a> {
    args: &'a Args,
    stream: Stream,
    crew: Crew,
    show: Show,
    rng: Rng,
    added: u32,
    killed: u32,
}

/// Has all orders billed, and takes the stream away.
///
/// # Errors
/// The server does not answer, or a consumer has ended that was not killed.
pub(crate) async fn bill_all(args: &Args, url: &str, ledger: &Path) -> Result<Done> {
    let batch = format!("{:06x}", fastrand::u32(..1 << 24));
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let Args { orders, consumers, kills, .. } = *args;
    let stream = Stream::create(url, &batch).await?;
    print(&format!("{orders} orders, {consumers} consumers, {kills} kills, seed {seed}\n\n"))?;
    let crew = Crew::new(Settings {
        name: String::new(),
        url: url.to_owned(),
        batch: batch.clone(),
        ledger: std::path::absolute(ledger)?,
        concurrency: args.concurrency.into(),
        slow: args.slow,
        kills,
    });
    let (show, rng) = (Show::new(), Rng::with_seed(seed));
    let mut work = Work { args, stream, crew, show, rng, added: 0, killed: 0 };
    for _ in 0..consumers {
        work.crew.hire().await?;
    }
    let look = work.go_on().await?;
    work.show.end()?;
    let Work { stream, crew, killed, .. } = work;
    let told = crew.dismiss().await?;
    stream.close().await?;
    Ok(Done { batch, orders, look, kills: killed, told })
}

impl Work<'_> {
    /// Goes on until all orders are done with, or nothing comes of it any more. Gives what the server has
    /// then.
    async fn go_on(&mut self) -> Result<Look> {
        self.add_share().await?;
        let mut looks = interval(LOOKS_EVERY);
        let mut next_kill = self.pause();
        let patience = PATIENCE + 10 * self.args.slow;
        let (mut left, mut since) = (0, Instant::now());
        loop {
            tokio::select! {
                _ = looks.tick() => {
                    let look = self.look().await?;
                    if self.killed == self.args.kills && look.left == 0 {
                        return Ok(look);
                    }
                    if look.left != left {
                        (left, since) = (look.left, Instant::now());
                    } else if since.elapsed() > patience {
                        return Ok(look);
                    }
                }
                () = sleep_until(next_kill), if self.killed < self.args.kills => {
                    self.kill().await?;
                    self.add_share().await?;
                    next_kill = self.pause();
                }
            }
        }
    }

    /// Adds the orders that are to be there before the next kill.
    async fn add_share(&mut self) -> Result<()> {
        let Args { orders, kills, .. } = *self.args;
        let parts = u64::from(kills) + 1;
        let up_to = u64::from(orders) * (u64::from(self.killed) + 1) / parts;
        let up_to = u32::try_from(up_to)?;
        self.stream.add(self.added..up_to).await?;
        self.added = up_to;
        Ok(())
    }

    async fn look(&mut self) -> Result<Look> {
        self.crew.are_at_work()?;
        let look = self.stream.look().await?;
        let Self { args, crew, added, killed, show, .. } = self;
        let state = State { crew, look: &look, orders: args.orders, added: *added, kills: *killed };
        show.state(&state)?;
        Ok(look)
    }

    /// Kills a consumer, whatever it is doing, and has another take its place.
    async fn kill(&mut self) -> Result<()> {
        let nth = self.rng.usize(..self.crew.len());
        let (name, in_hand) = self.crew.kill(nth).await?;
        self.killed += 1;
        let next = self.crew.hire().await?;
        self.show.say(&format!(
            "killed {name}, which had {in_hand} orders in hand; {next} takes its place"
        ))
    }

    /// When the next consumer is killed.
    fn pause(&mut self) -> Instant {
        Instant::now() + Duration::from_millis(self.rng.u64(KILL_PAUSE))
    }
}
