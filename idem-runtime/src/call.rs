//! One call, as the attribute's expansion and the direct API make it: begin, renew while it runs,
//! complete.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::attempt::Attempt;
use crate::begin::{Arrival, Start};
use crate::bounds::{FromRefusal, Returned, Storable, StorableError};
use crate::codec::Codec;
use crate::context::{Context, Footing};
use crate::error::Error;
use crate::event::EventKind;
use crate::ident::Ident;
use crate::observe::{Facts, Source, at_ms};
use crate::policy::{OnCrash, OnDrop, OnDuplicate, OnLost, OnOutage};
use crate::record::Record;
use crate::run::Guard;
use crate::settings::Overrides;
use crate::value::{Freed, Table, Which};

mod complete;
mod detach;
mod reconcile;
mod renew_while;

pub use renew_while::RenewWhile;

/// What is fixed about the calls of one function: its name, its settings, how its results are
/// stored. Plain data, made while compiling.
pub struct Call<R, W = Freed> {
    pub(crate) name: Cow<'static, str>,
    pub(crate) overrides: Overrides,
    pub(crate) table: Table<R, W>,
}

impl<R> Call<R> {
    /// The calls of an operation whose errors free the key.
    #[must_use]
    pub const fn new<C: Codec>(name: &'static str) -> Self
    where
        R: Returned,
        R::Ok: Storable,
        R::Err: FromRefusal,
    {
        Self { name: Cow::Borrowed(name), overrides: Overrides::NONE, table: Table::freeing::<C>() }
    }

    /// The calls of an operation whose errors are outcomes: all of them, or those picked by `which`.
    #[must_use]
    pub const fn storing_errors<C: Codec>(
        name: &'static str,
        which: Option<fn(&R::Err) -> bool>,
    ) -> Call<R, Which<R>>
    where
        R: Returned,
        R::Ok: Storable,
        R::Err: FromRefusal + StorableError,
    {
        let table = Table::storing::<C>(which);
        Call { name: Cow::Borrowed(name), overrides: Overrides::NONE, table }
    }
}

/// A setting of the attribute, in its own words.
macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        impl<R, W: Copy> Call<R, W> {
            $(
                $(#[$doc])*
                #[must_use]
                pub const fn $name(mut self, value: $type) -> Self {
                    self.overrides.$name = Some(value);
                    self
                }
            )*

            /// The version of the stored value's meaning.
            #[must_use]
            pub const fn version(mut self, version: u32) -> Self {
                self.table.version = version;
                self
            }
        }
    };
}

settings! {
    /// The lease, in milliseconds.
    lease_ms: u64;
    /// How long an outcome is kept, in milliseconds.
    ttl_ms: u64;
    /// The longest the action may run, in milliseconds.
    deadline_ms: u64;
    /// How long a lapsed reservation is remembered, in milliseconds.
    retention_ms: u64;
    /// See [`OnDuplicate`].
    on_duplicate: OnDuplicate;
    /// See [`OnLost`].
    on_lost: OnLost;
    /// See [`OnDrop`].
    on_drop: OnDrop;
    /// See [`OnCrash`].
    on_crash: OnCrash;
    /// See [`OnOutage`].
    on_outage: OnOutage;
}

impl<R, W> fmt::Debug for Call<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, overrides, table } = self;
        f.debug_struct("Call")
            .field("name", name)
            .field("overrides", overrides)
            .field("codec", &table.codec)
            .field("version", &table.version)
            .finish_non_exhaustive()
    }
}

/// How a call goes on after its begin.
#[allow(clippy::large_enum_variant, reason = "it is made and taken apart inside one box")]
#[derive(Debug)]
pub enum Begun<R, W = Freed> {
    /// It is answered.
    Replay(R),
    /// Its action is to run, and then to be completed.
    Run(Running<R, W>),
}

/// An action that may run. Dropping it ends its attempt.
pub struct Running<R, W = Freed> {
    arrival: Arrival,
    table: Table<R, W>,
    /// `None`: without protection.
    guard: Option<Guard>,
}

impl<R, W> fmt::Debug for Running<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("key", &self.arrival.key).finish_non_exhaustive()
    }
}

impl<R, W: Copy> Call<R, W> {
    /// Takes the key, or answers from an outcome, or refuses; by the call's policies it may wait.
    ///
    /// # Errors
    /// A refusal, in the function's own type.
    pub async fn begin(&self, ident: Ident) -> Result<Begun<R, W>, R> {
        let arrival = match Arrival::of(self, ident) {
            Ok(arrival) => arrival,
            Err(error) => return Err((self.table.refuse)(error)),
        };
        match arrival.begin().await {
            Ok(start) => self.table.go_on(arrival, start),
            Err(error) => Err((self.table.refuse)(error)),
        }
    }
}

impl<R, W: Copy> Table<R, W> {
    fn go_on(self, arrival: Arrival, start: Start) -> Result<Begun<R, W>, R> {
        match start {
            Start::Replay { outcome, source } => match self.replay(&arrival, &outcome, source) {
                Ok(result) => Ok(Begun::Replay(result)),
                Err(error) => Err((self.refuse)(error)),
            },
            Start::Run(attempt) => Ok(Begun::Run(Running::held(arrival, self, attempt))),
            Start::Unprotected => Ok(Begun::Run(Running { arrival, table: self, guard: None })),
            // Only where there is nothing to ask, or to ask again: the takeover lapses, and the next
            // call of the function asks.
            Start::Reconcile(attempt) => {
                drop(Guard::new(attempt));
                Err((self.refuse)(arrival.outcome_unknown(None)))
            }
        }
    }

    fn replay(&self, arrival: &Arrival, outcome: &Record, source: Source) -> Result<R, Error> {
        match self.read(outcome) {
            Ok(result) => {
                let waited = arrival.now().since(arrival.at);
                arrival.tell(match source {
                    Source::Waited => EventKind::WaitedThenReplayed { waited },
                    _ => EventKind::Replayed,
                });
                arrival.report(Facts {
                    source,
                    attempt: outcome.attempt,
                    first_at: at_ms(outcome.first_reserved_at_ms),
                    stored: true,
                    lapsed: false,
                    protected: true,
                });
                Ok(result)
            }
            Err(unusable) => Err(arrival.error(unusable.kind).detail(unusable.why)),
        }
    }
}

impl<R, W: Copy> Running<R, W> {
    fn held(arrival: Arrival, table: Table<R, W>, attempt: Arc<Attempt>) -> Self {
        Self { arrival, table, guard: Some(Guard::new(attempt)) }
    }

    /// Runs the body under its lease.
    ///
    /// The body is first polled once the lease is ready for it. `Err` is the call's answer where the
    /// body did not run to its end: it was stopped, or the key was lost before it ran. Dropped, the
    /// body is dropped, and `on_drop` says what becomes of the key.
    pub fn renew_while<F: Future<Output = R>>(&mut self, body: F) -> RenewWhile<'_, R, W, F> {
        RenewWhile::new(self, body)
    }

    fn refuse(&self, error: Error) -> R {
        (self.table.refuse)(error)
    }
}

impl<R, W> Running<R, W> {
    fn context_of_body(&self) -> Context {
        let footing = match &self.guard {
            Some(guard) => Footing::Held(Arc::clone(guard.attempt())),
            None => Footing::Unprotected(Arc::clone(&self.arrival.core), self.arrival.key.clone()),
        };
        self.arrival.context.of_body(footing)
    }
}
