//! Dispatching a run: a receipt at once, the work later.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::liveness::Liveness;
use super::run_record::Times;
use crate::begin::Arrival;
use crate::direct::check_operation;
use crate::error::{Error, ErrorKind};
use crate::fingerprint::{Fingerprint, FingerprintError};
use crate::idem::Idem;
use crate::ident::Ident;
use crate::key::{InvalidKey, Key, ToKey};
use crate::policy::{LONGEST, OnCrash, OnDrop, OnDuplicate, OnGone, OnLost, OnOutage, Terms};
use crate::record::millis;
use crate::settings::Overrides;

/// How long a run may wait for a worker, unless the dispatch says otherwise.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(3600);
/// What a run without a deadline is taken to need, and what is added to one that has a deadline.
const HOLD: Duration = Duration::from_secs(300);

/// A dispatch that is being built: [`Idem::dispatch`] starts one, [`spawn`](Self::spawn) and
/// [`enqueue`](Self::enqueue) make it.
///
/// The same call gets the same receipt while the run behind it can still succeed, and a new run once it
/// cannot. The run's value is stored by the default codec. Of the builder's policies the dispatch itself
/// goes by `on_duplicate` only.
///
/// ```
/// # use idem_runtime::{Error, Idem};
/// # #[derive(serde::Serialize)] struct Request { id: u64, month: String }
/// # async fn render(_: Request) -> Result<String, Error> { Ok(String::new()) }
/// # async fn example(idem: Idem, request: Request) -> Result<(), Error> {
/// let receipt = idem
///     .dispatch("reports.render")
///     .key(&request.id)
///     .fingerprint(&request)
///     .spawn(async move { render(request).await })
///     .await?;
/// println!("{} is {}", receipt.id(), receipt.status().await?);
/// # Ok(()) }
/// ```
#[must_use = "a dispatch does nothing until it is spawned or enqueued"]
pub struct Dispatch<L = Idem> {
    idem: Idem,
    operation: Cow<'static, str>,
    key: Option<Result<Key, InvalidKey>>,
    fingerprint: Result<Fingerprint, FingerprintError>,
    overrides: Overrides,
    deadline: Option<Duration>,
    hold: Option<Duration>,
    queue_timeout: Duration,
    pub(super) liveness: L,
}

impl Idem {
    /// A dispatch of an operation that runs in the background.
    ///
    /// Its name goes by the same rules as that of a [`call`](Self::call). An operation is either
    /// dispatched or called: a call that finds a receipt cannot read it as its outcome.
    pub fn dispatch(&self, operation: impl Into<Cow<'static, str>>) -> Dispatch {
        Dispatch {
            idem: self.clone(),
            operation: operation.into(),
            key: None,
            fingerprint: Ok(Fingerprint::NONE),
            overrides: Overrides::NONE,
            deadline: None,
            hold: None,
            queue_timeout: QUEUE_TIMEOUT,
            liveness: self.clone(),
        }
    }
}

impl<L: Liveness> Dispatch<L> {
    /// What makes two dispatches of the operation the same. Required.
    pub fn key<K: ToKey + ?Sized>(mut self, key: &K) -> Self {
        self.key = Some(Key::of(key));
        self
    }

    /// The arguments that must agree when the key is used again.
    pub fn fingerprint<F: Serialize + ?Sized>(mut self, arguments: &F) -> Self {
        self.fingerprint = Fingerprint::of(arguments);
        self
    }

    /// The lease of the run, and of the dispatch itself: how long each outlives its owner's last sign
    /// of life. 100 ms to 24 h; default: the builder's.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.overrides.lease_ms = Some(millis(lease));
        self
    }

    /// How long the receipt is given again, from its dispatch: longer than the run may take from its
    /// dispatch to its end, since afterwards the same call starts another. The run's result is kept for
    /// as long from its end. At least the lease, and the deadline; default: the builder's, 24 h.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.overrides.ttl_ms = Some(millis(ttl));
        self
    }

    /// The longest an attempt of the run may take. At least the lease; default: the builder's, none.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// How long a run counts as one that may come back once its worker's lease has lapsed. Until that is
    /// over the same call gets the old receipt. At most 3650 days; default: the deadline, or 5 minutes
    /// without one, plus 5 minutes.
    pub fn hold(mut self, hold: Duration) -> Self {
        self.hold = Some(hold);
        self
    }

    /// How long the run may wait for a worker, at first or to be tried again, before it counts as lost.
    /// 1 ms to 3650 days; default: 1 h. A run of `spawn`, which waits for nobody, counts as lost after a
    /// lease and the hold.
    pub fn queue_timeout(mut self, queue_timeout: Duration) -> Self {
        self.queue_timeout = queue_timeout;
        self
    }

    /// What a dispatch does while another one of its key is under way; a receipt, once it stands, is
    /// given at once. Default: the builder's, to wait for it.
    pub fn on_duplicate(mut self, on_duplicate: OnDuplicate) -> Self {
        self.overrides.on_duplicate = Some(on_duplicate);
        self
    }

    /// Who is asked whether the run of a receipt can still succeed, for as long as it takes: bound it
    /// yourself. Default: the run's record.
    pub fn liveness<M: Liveness>(self, liveness: M) -> Dispatch<M> {
        let Self {
            idem,
            operation,
            key,
            fingerprint,
            overrides,
            deadline,
            hold,
            queue_timeout,
            liveness: _,
        } = self;
        Dispatch {
            idem,
            operation,
            key,
            fingerprint,
            overrides,
            deadline,
            hold,
            queue_timeout,
            liveness,
        }
    }

    pub(super) const fn idem(&self) -> &Idem {
        &self.idem
    }

    /// The dispatch as a call of its own, and the times of its run.
    pub(super) fn arrival(&self) -> Result<(Arrival, Times), Error> {
        let error = |kind, why: String| Error::new(kind, &self.operation).detail(why);
        check_operation(&self.operation)
            .map_err(|why| error(ErrorKind::InvalidSetting, why.to_owned()))?;
        let Some(key) = self.key.clone() else {
            let why = "no key was given: call `.key(&…)` with what makes two dispatches the same";
            return Err(error(ErrorKind::InvalidKey, why.to_owned()));
        };
        let fingerprint = self.fingerprint.clone();
        let ident = Ident { key, fingerprint, idem: Some(self.idem.clone()) };
        let mut arrival = Arrival::of(&self.operation, &self.overrides, ident)?;
        let times = self.times(&arrival.terms);
        if let Some(fault) = times.fault() {
            return Err(error(ErrorKind::InvalidSetting, fault));
        }
        arrival.terms = terms_of_dispatch(&arrival.terms);
        Ok((arrival, times))
    }

    fn times(&self, terms: &Terms) -> Times {
        let deadline = self.deadline.or(terms.deadline);
        let by_deadline = || deadline.unwrap_or(HOLD).saturating_add(HOLD).min(LONGEST);
        let hold = self.hold.unwrap_or_else(by_deadline);
        let queue_timeout = self.queue_timeout;
        Times { lease: terms.lease, ttl: terms.ttl, deadline, hold, queue_timeout }
    }
}

/// What a dispatch goes by, beside its own lease, ttl and wait: nothing of it is worth remembering if
/// its process dies, a run that was handed on keeps its place for a lease, and a receipt that the store
/// does not know is none.
fn terms_of_dispatch(terms: &Terms) -> Terms {
    Terms {
        on_lost: OnLost::Finish,
        on_drop: OnDrop::Hold,
        on_crash: OnCrash::Rerun,
        on_outage: OnOutage::Refuse,
        on_gone: OnGone::ReadRun,
        // That of the builder is the run's.
        deadline: None,
        ..*terms
    }
}

impl Times {
    /// What is wrong with these, beside what is wrong with any lease and ttl.
    fn fault(&self) -> Option<String> {
        let Self { lease, ttl, deadline, hold, queue_timeout } = *self;
        if let Some(deadline) = deadline {
            if deadline < lease {
                return Some(format!(
                    "the deadline ({deadline:?}) has to be at least the lease ({lease:?})"
                ));
            }
            if ttl < deadline {
                return Some(format!(
                    "the ttl ({ttl:?}) has to be at least the deadline ({deadline:?}): when the receipt is \
                     gone the same call starts another run"
                ));
            }
        }
        if millis(queue_timeout) == 0 {
            return Some("the queue timeout is at least a millisecond".to_owned());
        }
        [
            ("deadline", deadline.unwrap_or_default()),
            ("hold", hold),
            ("queue timeout", queue_timeout),
        ]
        .into_iter()
        .find(|(_, time)| *time > LONGEST)
        .map(|(name, _)| format!("the {name} is at most 3650 days"))
    }
}

impl<L> fmt::Debug for Dispatch<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            idem: _,
            operation,
            key: _,
            fingerprint,
            overrides,
            deadline,
            hold,
            queue_timeout,
            liveness: _,
        } = self;
        f.debug_struct("Dispatch")
            .field("operation", operation)
            .field("fingerprint", fingerprint)
            .field("overrides", overrides)
            .field("deadline", deadline)
            .field("hold", hold)
            .field("queue_timeout", queue_timeout)
            .finish_non_exhaustive()
    }
}
