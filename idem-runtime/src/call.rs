//! One call, as the attribute's expansion and the direct API make it: begin, renew while it runs,
//! complete.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;

use crate::bounds::{FromRefusal, Returned, Storable, StorableError};
use crate::codec::Codec;
use crate::ident::Ident;
use crate::observe::Source;
use crate::policy::{OnCrash, OnDrop, OnDuplicate, OnLost, OnOutage};
use crate::settings::Overrides;
use crate::value::{Freed, Table, Which};

mod action;
mod detach;
mod reconcile;
mod renew_while;
mod settle;

pub(crate) use action::{Action, Answer, Replay};

pub use renew_while::RenewWhile;
pub(crate) use renew_while::attend;

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
    action: Action,
    table: Table<R, W>,
}

impl<R, W> fmt::Debug for Running<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("key", self.action.key()).finish_non_exhaustive()
    }
}

impl<R, W: Copy> Call<R, W> {
    /// Takes the key, or answers from an outcome, or refuses; by the call's policies it may wait.
    ///
    /// # Errors
    /// A refusal, in the function's own type.
    pub async fn begin(&self, ident: Ident) -> Result<Begun<R, W>, R> {
        let begun = Action::begin(&self.name, &self.overrides, ident).await;
        self.table.begun(begun)
    }
}

// What depends on the type of the result is thin: everything else is compiled once, in `Action`.
impl<R, W: Copy> Table<R, W> {
    fn begun(self, begun: Result<Action, Answer>) -> Result<Begun<R, W>, R> {
        match begun {
            Ok(action) => Ok(Begun::Run(Running { action, table: self })),
            Err(answer) => self.answer(answer).map(Begun::Replay),
        }
    }

    /// An answer in the function's own type; `Err` is a refusal.
    fn answer(&self, answer: Answer) -> Result<R, R> {
        match answer {
            Answer::Refuse(error) => Err((self.refuse)(error)),
            Answer::Replay(replay) => match self.read(replay.outcome()) {
                Ok(result) => {
                    replay.is_read();
                    Ok(result)
                }
                Err(unusable) => Err((self.refuse)(replay.is_not_read(unusable))),
            },
        }
    }
}

impl<R, W: Copy> Running<R, W> {
    /// Runs the body under its lease.
    ///
    /// The body is first polled once the lease is ready for it. `Err` is the call's answer where the
    /// body did not run to its end: it was stopped, or the key was lost before it ran. Dropped, the
    /// body is dropped, and `on_drop` says what becomes of the key.
    pub fn renew_while<F: Future<Output = R>>(&mut self, body: F) -> RenewWhile<'_, R, W, F> {
        RenewWhile::new(self, body)
    }

    /// Settles the key by the body's result and gives that to the caller.
    ///
    /// If the store does not answer within the store's time, the caller has its value all the same
    /// and the keeper goes on. Dropped, the keeper goes on as well: an outcome once reached is
    /// always stored.
    pub async fn complete(self, outcome: R) -> R {
        self.complete_as(Source::Fresh, outcome).await
    }

    async fn complete_as(mut self, source: Source, outcome: R) -> R {
        // The user's code may panic while it is serialised: that ends the attempt as a panic.
        self.action.in_users_code(true);
        let ending = self.table.ending(&outcome, self.action.max_result());
        self.action.in_users_code(false);
        let Table { codec, version, .. } = self.table;
        match self.action.settle(source, ending, (codec, version)).await {
            Ok(_) => outcome,
            Err(lost) => (self.table.refuse)(lost),
        }
    }
}
