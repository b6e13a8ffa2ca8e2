//! The backlog: messages that nobody has been heard of for too long, as far as they were found.
//!
//! The pending list is looked through page by page, in turns with everything else: it may be long, and
//! most of it at rest.

use std::collections::VecDeque;

use idem_runtime::BackendError;
use tokio::time::Instant;

use super::desk::Desk;
use super::message_id::MessageId;
use super::settle::entomb;
use super::stream::{Answer, PAGE, Pending};

/// As many are noted at most; the look goes on when they are taken.
const MOST_NOTED: usize = 1_000;

/// What was found by the looks at the pending list.
pub(super) struct Backlog {
    /// Messages that are to be claimed.
    idle: VecDeque<Pending>,
    /// Messages that are to be moved to the dead letters, each with the reason.
    dead: Vec<(Pending, String)>,
    /// After which message the look goes on that is under way.
    look: Option<MessageId>,
    /// When the next one begins.
    next_look: Instant,
}

impl Backlog {
    pub(super) fn new() -> Self {
        Self { idle: VecDeque::new(), dead: Vec::new(), look: None, next_look: Instant::now() }
    }

    /// Begins a look if it is time for one. Whether it does.
    pub(super) fn begin_if_due(&mut self) -> bool {
        let is_due = self.look.is_none() && self.next_look <= Instant::now();
        if is_due {
            self.look = Some(MessageId::ZERO);
        }
        is_due
    }

    /// When the next look begins, unless one is under way.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.look.is_none().then_some(self.next_look)
    }

    /// Whether there is something to do that needs no room.
    pub(super) fn goes_on(&self) -> bool {
        !self.dead.is_empty() || (self.look.is_some() && self.has_space())
    }

    /// Whether there is nothing to claim.
    pub(super) fn is_empty(&self) -> bool {
        self.idle.is_empty()
    }

    /// So many at most that are to be claimed.
    pub(super) fn take(&mut self, most: usize) -> Vec<Pending> {
        self.idle.drain(..self.idle.len().min(most)).collect()
    }

    /// The group has been created again: nothing of what was found is so any more.
    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    fn has_space(&self) -> bool {
        self.idle.len() + self.dead.len() < MOST_NOTED
    }

    /// Goes on with what needs no room: a page of the look, a page of dead letters.
    pub(super) async fn go_on(&mut self, desk: &Desk) -> Answer<()> {
        if let Some(after) = self.look
            && self.has_space()
        {
            let page = desk.stream.pending(desk.options.retry_on_idle, after).await;
            // A look that fails is over, and the next one is as far away as ever.
            self.look = None;
            self.next_look = Instant::now() + desk.options.scan_every();
            let page = page?;
            if let Some(last) = page.last()
                && page.len() == PAGE
            {
                self.look = Some(last.leased.id);
            }
            for seen in page {
                self.note(desk, seen);
            }
        }
        self.bury(desk).await
    }

    fn note(&mut self, desk: &Desk, seen: Pending) {
        let deliveries = seen.leased.deliveries;
        if desk.hand.has(seen.leased.id) {
            // It is not renewed for want of a connection, and would run beside itself.
            return;
        }
        if desk.options.is_last(deliveries) {
            let times = if deliveries == 1 { "once" } else { "several times" };
            let error = format!("it was delivered {times}, and nobody has finished it");
            self.dead.push((Pending { idle: desk.options.retry_on_idle, ..seen }, error));
        } else if seen.idle >= desk.options.rest(deliveries) {
            self.idle.push_back(seen);
        }
    }

    /// What the server refuses is told, and found again by the next look.
    async fn bury(&mut self, desk: &Desk) -> Answer<()> {
        let page: Vec<_> = self.dead.drain(..self.dead.len().min(PAGE)).collect();
        if entomb(desk, &page).await.contains(&Err(false)) {
            let told = "messages could not be moved to the dead letters; the next look follows";
            return Err(BackendError::unanswered(told));
        }
        Ok(())
    }
}
