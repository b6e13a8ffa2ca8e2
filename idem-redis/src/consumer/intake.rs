//! The intake: takes new messages, and those that others have been silent about, as there is room.
//!
//! One loop does both, so that no more is taken than there are runs free. Where both are to be had they
//! take turns.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::appetite::Appetite;
use super::backlog::Backlog;
use super::desk::Desk;
use super::event::ConsumerEventKind as Kind;
use super::message_id::MessageId;
use super::options::{MOST_IN_BATCH, OWN_NAMES};
use super::reader::{LONGEST_BLOCK, Reader};
use super::replies::Claim;
use super::run::Unit;
use super::stream::{Answer, Delivery, PAGE, Pending};
use crate::connections::PAUSE_AFTER_FAILURE;

/// The longest pause after attempts that failed one after the other.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How often it is looked for consumers that died and have nothing pending.
const TIDY_EVERY: Duration = Duration::from_secs(60);
/// A consumer that has not asked for anything for so long has died.
const DEAD_AFTER: Duration = Duration::from_secs(3600);

/// Takes messages and hands them on to be run.
pub(super) struct Intake {
    desk: Arc<Desk>,
    reader: Reader,
    queue: mpsc::UnboundedSender<Unit>,
    /// Up to here the group has done everything, by the last look at it.
    floor: MessageId,
    backlog: Backlog,
    /// Of new messages, and of idle ones.
    appetites: [Appetite; 2],
    /// Whether idle ones were taken the last time, and not new ones.
    is_turn_of_idle: bool,
    next_tidy: Instant,
}

impl Intake {
    pub(super) fn new(
        desk: Arc<Desk>,
        reader: Reader,
        queue: mpsc::UnboundedSender<Unit>,
        floor: MessageId,
    ) -> Self {
        Self {
            desk,
            reader,
            queue,
            floor,
            backlog: Backlog::new(),
            appetites: [MOST_IN_BATCH, PAGE].map(Appetite::new),
            is_turn_of_idle: false,
            next_tidy: Instant::now() + TIDY_EVERY,
        }
    }

    /// Takes messages until it is stopped. A read that waits for messages then is waited for: what it
    /// brings would be missed otherwise.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut pause = PAUSE_AFTER_FAILURE;
        while !stop.is_cancelled() {
            let Err(error) = self.step(&stop).await else {
                pause = PAUSE_AFTER_FAILURE;
                continue;
            };
            self.desk.tell(Kind::ReadFailed { error: &error });
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
            }
            self.restore().await;
        }
    }

    /// Goes on with the look for idle messages, and takes messages if there is room.
    async fn step(&mut self, stop: &CancellationToken) -> Answer<()> {
        if self.backlog.begin_if_due() {
            self.tidy_if_due().await;
            self.floor = self.desk.stream.floor().await?;
        }
        self.backlog.go_on(&self.desk).await?;
        let next_look = self.backlog.next_look();
        let room = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            room = self.desk.slots.room() => room,
            () = ready(()), if self.backlog.goes_on() => return Ok(()),
            () = sleep_until(next_look.unwrap_or_else(Instant::now)), if next_look.is_some() => {
                return Ok(());
            }
        };
        self.is_turn_of_idle = !self.backlog.is_empty() && !self.is_turn_of_idle;
        let asked = Instant::now();
        let deliveries =
            if self.is_turn_of_idle { self.claim(room).await } else { self.read(room).await }?;
        self.hand_on(deliveries, asked);
        Ok(())
    }

    /// Creates the group again if that is what was wrong. What it had not done by the last look at it
    /// is delivered again.
    async fn restore(&mut self) {
        let start = self.desk.options.start;
        if let Ok(made) = self.desk.stream.create(start.id(), Some(self.floor)).await
            && made.group
        {
            self.desk.tell(Kind::Created { stream: made.stream, again: true });
            self.backlog.clear();
        }
    }

    /// New messages, as there is room. Waits for them until there is something else to do.
    async fn read(&mut self, room: usize) -> Answer<Vec<Delivery>> {
        let until = |next: Instant| next.saturating_duration_since(Instant::now());
        let next_look = self.backlog.next_look().filter(|_| self.backlog.is_empty());
        let block = next_look.map(|next| until(next).min(LONGEST_BLOCK));
        let [appetite, _] = &mut self.appetites;
        let count = appetite.of(room);
        let read = self.reader.read(count, block).await;
        appetite.learn(count, &read);
        let read = read?;
        if !read.is_empty() {
            self.desk.tell(Kind::Read { count: read.len() });
        }
        Ok(read)
    }

    /// Claims messages that are to be claimed, as there is room.
    async fn claim(&mut self, room: usize) -> Answer<Vec<Delivery>> {
        let desk = &self.desk;
        let [_, appetite] = &mut self.appetites;
        let seen = self.backlog.take(appetite.of(room));
        let rest = |seen: &Pending| desk.options.rest(seen.leased.deliveries);
        let wanted: Vec<_> = seen.iter().map(|seen| (seen.leased, rest(seen))).collect();
        let claims = desk.stream.claim(&wanted).await;
        appetite.learn(wanted.len(), &claims);
        let mut deliveries = Vec::new();
        for (claim, seen) in claims?.into_iter().zip(seen) {
            match claim {
                Claim::Claimed(delivery) => {
                    let (id, count) = (delivery.leased.id, delivery.leased.deliveries);
                    let from = &*String::from_utf8_lossy(&seen.consumer);
                    desk.tell(Kind::Reclaimed { id, deliveries: count, from });
                    deliveries.push(delivery);
                }
                Claim::Trimmed(id) => desk.tell(Kind::Trimmed { id }),
                Claim::Missed => {}
            }
        }
        Ok(deliveries)
    }

    /// Hands messages on to be run that were asked for then.
    fn hand_on(&self, deliveries: Vec<Delivery>, asked: Instant) {
        if deliveries.is_empty() {
            return;
        }
        let desk = &self.desk;
        let leased: Vec<_> = deliveries.iter().map(|delivery| delivery.leased).collect();
        let (taken, losses) = desk.hand.take(&leased, asked);
        desk.tell_losses(&losses);
        let fields = deliveries.into_iter().map(|delivery| delivery.fields);
        let messages = taken.into_iter().zip(fields);
        let units: Vec<Vec<_>> = if desk.slots.in_batches() {
            vec![messages.collect()]
        } else {
            messages.map(|message| vec![message]).collect()
        };
        desk.slots.wait(units.len());
        for unit in units {
            // The receiver is there for as long as this is.
            let _ = self.queue.send(Unit::new(&desk.hand, unit));
        }
    }

    async fn tidy_if_due(&mut self) {
        let now = Instant::now();
        if now >= self.next_tidy {
            self.next_tidy = now + TIDY_EVERY;
            if let Err(error) = self.desk.stream.leave(false, OWN_NAMES, DEAD_AFTER).await {
                tracing::debug!(target: "idem", %error, "consumers that died stay in their group");
            }
        }
    }
}
