//! The intake: takes new messages, and those that others have been silent about, as there is room.
//!
//! One loop does both, so that no more is taken than there are runs free. Where both are to be had they
//! take turns.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use super::event::ConsumerEventKind as Kind;
use super::message_id::MessageId;
use super::options::{OWN_NAMES, Start};
use super::reader::{LONGEST_BLOCK, Reader};
use super::replies::Claim;
use super::run::Unit;
use super::settle::entomb;
use super::stream::{Answer, Delivery, PAGE, Pending};
use crate::connections::PAUSE_AFTER_FAILURE;

/// The longest pause after attempts that failed one after the other.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The most single messages that are read by one command, and idle ones that are noted.
const MOST_AT_ONCE: usize = 1_000;
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
    floor: Option<MessageId>,
    /// Messages that are to be claimed.
    idle: VecDeque<Pending>,
    /// Whether there are more than these.
    has_more: bool,
    /// Whether idle ones were taken the last time, and not new ones.
    is_turn_of_idle: bool,
    next_scan: Instant,
    next_tidy: Instant,
}

impl Intake {
    pub(super) fn new(
        desk: Arc<Desk>,
        reader: Reader,
        queue: mpsc::UnboundedSender<Unit>,
        floor: MessageId,
    ) -> Self {
        let now = Instant::now();
        Self {
            desk,
            reader,
            queue,
            floor: Some(floor),
            idle: VecDeque::new(),
            has_more: false,
            is_turn_of_idle: false,
            next_scan: now,
            next_tidy: now + TIDY_EVERY,
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

    /// Looks for idle messages if it is time, and takes messages if there is room.
    async fn step(&mut self, stop: &CancellationToken) -> Answer<()> {
        self.scan_if_due().await?;
        let room = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            room = self.desk.slots.room() => room,
            () = sleep_until(self.next_scan) => return Ok(()),
        };
        self.is_turn_of_idle = !self.idle.is_empty() && !self.is_turn_of_idle;
        let deliveries =
            if self.is_turn_of_idle { self.claim(room).await } else { self.read(room).await }?;
        self.hand_on(deliveries);
        Ok(())
    }

    /// Creates the group again if that is what was wrong. What it had not done by the last look at it
    /// is delivered again.
    async fn restore(&mut self) {
        let start = self.desk.options.start;
        if let Ok(made) = create(&self.desk, start, self.floor).await
            && made
        {
            self.idle.clear();
        }
    }

    /// New messages, as there is room. Waits for them until idle ones are to be looked for.
    async fn read(&mut self, room: usize) -> Answer<Vec<Delivery>> {
        let until = self.next_scan.saturating_duration_since(Instant::now());
        let block = self.idle.is_empty().then(|| until.min(LONGEST_BLOCK));
        let most = if self.desk.slots.in_batches() { room } else { room.min(MOST_AT_ONCE) };
        let read = self.reader.read(most, block).await?;
        if !read.is_empty() {
            self.desk.tell(Kind::Read { count: read.len() });
        }
        Ok(read)
    }

    /// Claims messages that are to be claimed, as there is room.
    async fn claim(&mut self, room: usize) -> Answer<Vec<Delivery>> {
        let desk = &self.desk;
        let count = room.min(self.idle.len()).min(PAGE);
        let seen: Vec<_> = self.idle.drain(..count).collect();
        if self.idle.is_empty() && self.has_more {
            self.next_scan = Instant::now();
        }
        let rest = |seen: &Pending| desk.options.rest(seen.leased.deliveries);
        let wanted: Vec<_> = seen.iter().map(|seen| (seen.leased, rest(seen))).collect();
        let claims = desk.stream.claim(&wanted).await?;
        let mut deliveries = Vec::new();
        for (claim, seen) in claims.into_iter().zip(seen) {
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

    /// Hands messages on to be run.
    fn hand_on(&self, deliveries: Vec<Delivery>) {
        if deliveries.is_empty() {
            return;
        }
        let desk = &self.desk;
        let leased: Vec<_> = deliveries.iter().map(|delivery| delivery.leased).collect();
        let (taken, losses) = desk.hand.take(&leased);
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

    async fn scan_if_due(&mut self) -> Answer<()> {
        let now = Instant::now();
        if now < self.next_scan {
            return Ok(());
        }
        self.next_scan = now + self.desk.options.scan_every();
        if now >= self.next_tidy {
            self.next_tidy = now + TIDY_EVERY;
            self.desk.stream.leave(false, OWN_NAMES, DEAD_AFTER).await?;
        }
        self.floor = Some(self.desk.stream.floor().await?);
        if self.idle.is_empty() { self.scan().await } else { Ok(()) }
    }

    /// Looks for messages that nobody has been heard of for too long, page by page.
    async fn scan(&mut self) -> Answer<()> {
        let desk = Arc::clone(&self.desk);
        let mut after = MessageId::ZERO;
        self.has_more = false;
        loop {
            let page = desk.stream.pending(desk.options.retry_on_idle, after).await?;
            let (is_full, last) = (page.len() == PAGE, page.last().map(|seen| seen.leased.id));
            for seen in page {
                self.sort(&desk, seen).await?;
            }
            match last {
                Some(last) if is_full => after = last,
                _ => return Ok(()),
            }
            if self.idle.len() >= MOST_AT_ONCE {
                self.has_more = true;
                return Ok(());
            }
        }
    }

    /// What is to be done about an idle message.
    async fn sort(&mut self, desk: &Desk, seen: Pending) -> Answer<()> {
        let deliveries = seen.leased.deliveries;
        if desk.hand.has(seen.leased.id) {
            // It is not renewed for want of a connection, and would run beside itself.
            return Ok(());
        }
        match &desk.options.dead_letter {
            Some(dead) if desk.options.is_last(deliveries) => {
                let times = if deliveries == 1 { "once" } else { "several times" };
                let error = format!("it was delivered {times}, and nobody has finished it");
                let seen = Pending { idle: desk.options.retry_on_idle, ..seen };
                match entomb(desk, &seen, dead, &error).await {
                    // Told already, and the next look tries again.
                    Err(failed) if failed.is_answer() => Ok(()),
                    buried => buried.map(drop),
                }
            }
            _ => {
                if seen.idle >= desk.options.rest(deliveries) {
                    self.idle.push_back(seen);
                }
                Ok(())
            }
        }
    }
}

/// Creates what is missing, and tells of it. Whether the group was missing.
pub(super) async fn create(desk: &Desk, start: Start, floor: Option<MessageId>) -> Answer<bool> {
    let made = desk.stream.create(start.id(), floor).await?;
    if made.group {
        desk.tell(Kind::Created { stream: made.stream });
    }
    Ok(made.group)
}
