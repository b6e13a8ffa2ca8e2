//! What happens in a consumer, told to observers as it happens.

use std::time::Duration;

use idem_runtime::BackendError;

use super::message_id::MessageId;

/// Something that happened in a consumer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConsumerEvent<'a> {
    /// The stream.
    pub stream: &'a str,
    /// The group.
    pub group: &'a str,
    /// The consumer's name in the group.
    pub consumer: &'a str,
    /// What happened.
    pub kind: ConsumerEventKind<'a>,
}

/// What happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConsumerEventKind<'a> {
    /// The group was missing and has been created, and the stream if that was missing.
    #[non_exhaustive]
    Created {
        /// Whether the stream was missing as well.
        stream: bool,
        /// Whether the consumer had it before: somebody has deleted it, or the server lost it.
        again: bool,
    },
    /// New messages were read.
    #[non_exhaustive]
    Read {
        /// How many.
        count: usize,
    },
    /// A read, or a look for idle messages, failed; it is tried again.
    #[non_exhaustive]
    ReadFailed {
        /// What happened.
        error: &'a BackendError,
    },
    /// A message that had been idle for too long was taken over.
    #[non_exhaustive]
    Reclaimed {
        /// The message.
        id: MessageId,
        /// How often it has been delivered, this time included.
        deliveries: u64,
        /// Who had it: this consumer itself after a failure of its handler.
        from: &'a str,
    },
    /// Messages in hand were renewed.
    #[non_exhaustive]
    Renewed {
        /// How many.
        count: usize,
        /// How much later than planned.
        late: Duration,
    },
    /// Renewals were not answered in time, or with an error; the next interval tries again.
    #[non_exhaustive]
    RenewalFailed {
        /// The messages.
        ids: &'a [MessageId],
        /// What happened.
        error: &'a BackendError,
    },
    /// Messages in hand are another consumer's by now, or the group lost them: nothing of their run is
    /// acknowledged.
    #[non_exhaustive]
    LeaseLost {
        /// The messages that were lost.
        lost: &'a [MessageId],
        /// All messages of the run.
        all: &'a [MessageId],
    },
    /// A message has been deleted from the stream while it was pending, and nobody can be given it again:
    /// if it is in hand, its handler finishes.
    #[non_exhaustive]
    Trimmed {
        /// The message.
        id: MessageId,
    },
    /// A handler failed, or panicked. The message is not renewed any more, and tried again when it has
    /// rested.
    #[non_exhaustive]
    Failed {
        /// The message.
        id: MessageId,
        /// How often it has been delivered, this time included.
        deliveries: u64,
        /// The handler's error.
        error: &'a str,
    },
    /// A handler ran past `max_processing`: an async one was dropped, of a blocking one the result was.
    #[non_exhaustive]
    TooLong {
        /// The messages.
        ids: &'a [MessageId],
        /// For how long it has run.
        took: Duration,
    },
    /// A handler was dropped because the grace period of a shutdown was over.
    #[non_exhaustive]
    Cancelled {
        /// The messages.
        ids: &'a [MessageId],
    },
    /// A handler succeeded and its messages are acknowledged.
    #[non_exhaustive]
    Done {
        /// The messages.
        ids: &'a [MessageId],
        /// For how long the handler ran.
        took: Duration,
    },
    /// A message cannot be read, and there are no dead letters for it: it is delivered again, to a
    /// version of the service that can read it, say.
    #[non_exhaustive]
    Undecodable {
        /// The message.
        id: MessageId,
        /// Why.
        error: &'a str,
    },
    /// A message was moved to the dead letters.
    #[non_exhaustive]
    Dead {
        /// The message.
        id: MessageId,
        /// How often it has been delivered.
        deliveries: u64,
        /// Why: the handler's last error, or what could not be read.
        error: &'a str,
    },
    /// Messages could not be acknowledged or moved to the dead letters. They are tried again, or
    /// delivered again.
    #[non_exhaustive]
    SettleFailed {
        /// The messages.
        ids: &'a [MessageId],
        /// What happened.
        error: &'a BackendError,
    },
    /// Messages that were not started were given back at a shutdown; others may take them at once.
    #[non_exhaustive]
    GivenBack {
        /// The messages.
        ids: &'a [MessageId],
    },
}

impl ConsumerEventKind<'_> {
    /// Its name, as metrics and traces have it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Created { .. } => "created",
            Self::Read { .. } => "read",
            Self::ReadFailed { .. } => "read_failed",
            Self::Reclaimed { .. } => "reclaimed",
            Self::Renewed { .. } => "renewed",
            Self::RenewalFailed { .. } => "renewal_failed",
            Self::LeaseLost { .. } => "lease_lost",
            Self::Trimmed { .. } => "trimmed",
            Self::Failed { .. } => "failed",
            Self::TooLong { .. } => "too_long",
            Self::Cancelled { .. } => "cancelled",
            Self::Done { .. } => "done",
            Self::Undecodable { .. } => "undecodable",
            Self::Dead { .. } => "dead",
            Self::SettleFailed { .. } => "settle_failed",
            Self::GivenBack { .. } => "given_back",
        }
    }

    /// How many messages it is about.
    #[must_use]
    pub fn messages(&self) -> usize {
        match self {
            Self::Created { .. } | Self::ReadFailed { .. } => 0,
            Self::Read { count } | Self::Renewed { count, .. } => *count,
            Self::RenewalFailed { ids, .. }
            | Self::TooLong { ids, .. }
            | Self::Cancelled { ids }
            | Self::Done { ids, .. }
            | Self::SettleFailed { ids, .. }
            | Self::GivenBack { ids } => ids.len(),
            Self::LeaseLost { lost, .. } => lost.len(),
            Self::Reclaimed { .. }
            | Self::Trimmed { .. }
            | Self::Failed { .. }
            | Self::Undecodable { .. }
            | Self::Dead { .. } => 1,
        }
    }
}
