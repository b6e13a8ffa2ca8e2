//! What a run of a handler and those who see to its messages tell each other.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::message_id::MessageId;

/// Why a run has to end before its handler does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// A message of it is another consumer's by now.
    Lost,
    /// It ran past `max_processing`.
    TooLong,
    /// The consumer ends.
    Shutdown,
}

/// One run's hold on its messages. Holding it does not keep them.
#[derive(Debug)]
pub(crate) struct Hold {
    /// Its messages.
    all: Vec<MessageId>,
    cancel_on_lost: bool,
    is_lost: AtomicBool,
    /// The first reason: later ones do not change how the run is judged.
    why: OnceLock<Stop>,
    /// Cancelled with a reason for it, and by nobody but this.
    token: CancellationToken,
    has_ended: AtomicBool,
    /// Woken when the run has ended.
    ended: Notify,
}

impl Hold {
    pub(super) fn new(all: Vec<MessageId>, cancel_on_lost: bool) -> Self {
        Self {
            all,
            cancel_on_lost,
            is_lost: AtomicBool::new(false),
            why: OnceLock::new(),
            token: CancellationToken::new(),
            has_ended: AtomicBool::new(false),
            ended: Notify::new(),
        }
    }

    pub(super) fn all(&self) -> &[MessageId] {
        &self.all
    }

    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Messages of the run are another's.
    pub(super) fn lose(&self) {
        self.is_lost.store(true, Ordering::Release);
        if self.cancel_on_lost {
            self.stop(Stop::Lost);
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    pub(super) fn stop(&self, why: Stop) {
        // Of two reasons the first one counts.
        let _ = self.why.set(why);
        self.token.cancel();
    }

    /// Why it was stopped, if it was.
    pub(super) fn why(&self) -> Option<Stop> {
        self.why.get().copied()
    }

    /// Resolves when it is stopped, with the reason.
    pub(super) async fn stopped(&self) -> Stop {
        loop {
            self.token.cancelled().await;
            if let Some(why) = self.why() {
                return why;
            }
        }
    }

    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.ended.notify_waiters();
    }

    /// Resolves when the run has ended.
    pub(super) async fn ended(&self) {
        // It hears of an end from here on, so that none is missed after the look.
        let ended = self.ended.notified();
        if !self.has_ended.load(Ordering::Acquire) {
            ended.await;
        }
    }
}
