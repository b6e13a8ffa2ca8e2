//! What can be set on a consumer, and what contradicts what.

use std::time::Duration;

use idem_runtime::LEASE_RANGE;

use super::backoff::Backoff;
use super::error::ConsumerError;

/// Past this many, runs at once or messages read ahead are a mistake.
const MOST_MESSAGES: usize = 100_000;
/// The most messages in a batch, which one command reads.
pub(super) const MOST_IN_BATCH: usize = 1_000;
/// What the names of consumers begin with that nobody has named.
pub(super) const OWN_NAMES: &str = "idem-";
/// Renewals are a quarter of the idle time apart unless set: two may fail in a row.
const RENEWALS_IN_IDLE_TIME: u32 = 4;

/// Where a group begins to read that this consumer creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Beginning,
    End,
}

impl Start {
    /// As the server takes it.
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::Beginning => "0",
            Self::End => "$",
        }
    }
}

/// The settings of a consumer.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) stream: String,
    pub(super) group: String,
    /// One of its own unless set.
    pub(super) consumer: Option<String>,
    pub(super) start: Start,
    pub(super) retry_on_idle: Duration,
    /// Whether messages are renewed at all.
    pub(super) renewal: bool,
    pub(super) renew_every: Option<Duration>,
    pub(super) cancel_on_lease_lost: bool,
    pub(super) concurrency: usize,
    pub(super) batch: Option<usize>,
    pub(super) read_ahead: usize,
    pub(super) max_processing: Option<Duration>,
    pub(super) max_deliveries: Option<u64>,
    pub(super) backoff: Backoff,
    pub(super) dead_letter: Option<String>,
    pub(super) delete_on_ack: bool,
    pub(super) grace: Duration,
}

/// The options that two registrations of one consumer have to share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeaseOptions {
    retry_on_idle: Duration,
    renew_every: Option<Duration>,
    cancel_on_lease_lost: bool,
}

impl Options {
    pub(super) fn new(stream: String, group: String) -> Self {
        Self {
            stream,
            group,
            consumer: None,
            start: Start::Beginning,
            retry_on_idle: Duration::from_secs(30),
            renewal: true,
            renew_every: None,
            cancel_on_lease_lost: true,
            concurrency: 1,
            batch: None,
            read_ahead: 0,
            max_processing: None,
            max_deliveries: None,
            backoff: Backoff::default(),
            dead_letter: None,
            delete_on_ack: false,
            grace: Duration::from_secs(30),
        }
    }

    /// How often messages in hand are renewed; `None`: never.
    pub(super) fn renewal(&self) -> Option<Duration> {
        let every = self.renew_every.unwrap_or(self.retry_on_idle / RENEWALS_IN_IDLE_TIME);
        self.renewal.then_some(every)
    }

    /// How often idle messages are looked for.
    pub(super) fn scan_every(&self) -> Duration {
        self.retry_on_idle / 4
    }

    /// How long a message rests after so many deliveries.
    pub(super) fn rest(&self, deliveries: u64) -> Duration {
        self.retry_on_idle.max(self.backoff.after(deliveries))
    }

    /// Whether a message is not tried again after so many deliveries.
    pub(super) fn is_last(&self, deliveries: u64) -> bool {
        self.max_deliveries.is_some_and(|most| deliveries >= most)
    }

    pub(super) fn lease(&self) -> LeaseOptions {
        LeaseOptions {
            retry_on_idle: self.retry_on_idle,
            renew_every: self.renewal(),
            cancel_on_lease_lost: self.cancel_on_lease_lost,
        }
    }

    /// # Errors
    /// All that is wrong with these, for a handler that takes batches or not.
    pub(super) fn check(&self, takes_batches: bool) -> Result<(), ConsumerError> {
        let mut faults = Vec::new();
        self.check_names(&mut faults);
        self.check_lease(&mut faults);
        self.check_intake(takes_batches, &mut faults);
        self.check_retries(&mut faults);
        if faults.is_empty() { Ok(()) } else { Err(ConsumerError::Options(faults.join("; "))) }
    }

    fn check_names(&self, faults: &mut Vec<String>) {
        let names = [
            ("stream", Some(&self.stream)),
            ("group", Some(&self.group)),
            ("consumer", self.consumer.as_ref()),
            ("dead-letter stream", self.dead_letter.as_ref()),
        ];
        for (what, name) in names {
            if name.is_some_and(String::is_empty) {
                faults.push(format!("the name of the {what} is empty"));
            }
        }
        if self.consumer.as_ref().is_some_and(|name| name.starts_with(OWN_NAMES)) {
            faults.push(format!(
                "names of consumers that begin with `{OWN_NAMES}` are for those that nobody has named"
            ));
        }
        if self.dead_letter.as_ref() == Some(&self.stream) {
            faults
                .push("the dead letters go to another stream than the one that is read".to_owned());
        }
    }

    fn check_lease(&self, faults: &mut Vec<String>) {
        let (shortest, longest) = LEASE_RANGE;
        let idle = self.retry_on_idle;
        if !(shortest..=longest).contains(&idle) {
            faults.push(format!("retry_on_idle is at least 100 ms and at most 24 h, not {idle:?}"));
        }
        if let Some(every) = self.renew_every {
            if !self.renewal {
                faults.push("renew_every contradicts renewal(false)".to_owned());
            }
            if every >= idle || every < Duration::from_millis(1) {
                faults.push(format!(
                    "renew_every ({every:?}) is at least 1 ms and shorter than retry_on_idle ({idle:?})"
                ));
            }
        }
        match self.max_processing {
            Some(Duration::ZERO) => faults.push("max_processing is more than zero".to_owned()),
            Some(most) if !self.renewal && most >= idle => faults.push(format!(
                "max_processing ({most:?}) is shorter than retry_on_idle ({idle:?}) where nothing is \
                 renewed: the message would be handed out again while its handler runs"
            )),
            _ => {}
        }
        if !self.renewal && !self.cancel_on_lease_lost {
            faults.push(
                "cancel_on_lease_lost contradicts renewal(false): nobody would notice a loss"
                    .to_owned(),
            );
        }
    }

    fn check_intake(&self, takes_batches: bool, faults: &mut Vec<String>) {
        if self.concurrency == 0 || self.concurrency > MOST_MESSAGES {
            faults.push(format!("concurrency is at least 1 and at most {MOST_MESSAGES}"));
        }
        if self.read_ahead > MOST_MESSAGES {
            faults.push(format!("read_ahead is at most {MOST_MESSAGES}"));
        }
        match self.batch {
            Some(0) => faults.push("a batch holds at least one message".to_owned()),
            Some(most) if most > MOST_IN_BATCH => {
                faults.push(format!("a batch holds at most {MOST_IN_BATCH} messages"));
            }
            Some(_) if !takes_batches => faults.push(
                "batch is for a handler that takes a `Batch`, and this one takes a `Message`"
                    .to_owned(),
            ),
            None if takes_batches => faults.push(
                "the handler takes a `Batch`: say with batch(…) how many messages that is at most"
                    .to_owned(),
            ),
            Some(_) if self.read_ahead > 0 => {
                faults.push(
                    "read_ahead contradicts batch, which reads as much as it takes".to_owned(),
                );
            }
            _ => {}
        }
    }

    fn check_retries(&self, faults: &mut Vec<String>) {
        match self.max_deliveries {
            Some(0) => faults.push("max_deliveries is at least 1".to_owned()),
            Some(_) if self.dead_letter.is_none() => faults.push(
                "max_deliveries needs dead_letter: say where messages go after the last one"
                    .to_owned(),
            ),
            _ => {}
        }
        let Backoff { first, most } = self.backoff;
        if first > most {
            faults.push(format!(
                "the backoff begins with {first:?}, which is more than its most ({most:?})"
            ));
        }
        if most > Duration::ZERO && most <= self.retry_on_idle {
            faults.push(format!(
                "a backoff of {most:?} at most does nothing: a message rests for retry_on_idle ({:?}) \
                 anyway",
                self.retry_on_idle
            ));
        }
        if most > LEASE_RANGE.1 {
            faults.push(format!("a backoff is at most 24 h, not {most:?}"));
        }
    }
}
