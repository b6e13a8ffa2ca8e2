//! The same without the attribute: a call built by hand.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::future::Future;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Serialize;

use crate::bounds::{Detachable, FromRefusal};
use crate::builder::is_name;
use crate::call::{Begun, Call};
use crate::codec::{Codec, MessagePack};
use crate::context::{self, Context, within};
use crate::error::{Error, ErrorKind};
use crate::fingerprint::{Fingerprint, FingerprintError};
use crate::idem::Idem;
use crate::ident::Ident;
use crate::key::{InvalidKey, Key, ToKey};
use crate::lease::{Lease, lease};
use crate::observe::{Facts, Outcome, Slot};
use crate::policy::{OnCrash, OnDrop, OnDuplicate, OnLost, OnOutage};
use crate::record::millis;
use crate::settings::Overrides;

pub mod on_error;

use on_error::{OnError, Release};

/// A call that is being built: [`Idem::call`] starts one, [`run`](Self::run) makes it.
///
/// ```
/// # use idem_runtime::{Error, Idem};
/// # async fn charge(_: u64) -> Result<String, Error> { Ok(String::new()) }
/// # async fn example(idem: Idem, order: u64, cents: u64) -> Result<(), Error> {
/// let outcome = idem
///     .call("payments.charge")
///     .key(&order)
///     .fingerprint(&cents)
///     .run(|lease| async move {
///         println!("attempt {}", lease.attempt());
///         charge(cents).await
///     })
///     .await?;
/// println!("{:?}: {}", outcome.source, outcome.value);
/// # Ok(()) }
/// ```
#[must_use = "a call does nothing until it is run"]
pub struct DirectCall<P = Release, C = MessagePack> {
    idem: Idem,
    operation: Cow<'static, str>,
    key: Option<Result<Key, InvalidKey>>,
    fingerprint: Result<Fingerprint, FingerprintError>,
    overrides: Overrides,
    version: u32,
    on_error: P,
    codec: PhantomData<fn() -> C>,
}

impl<P: fmt::Debug, C> fmt::Debug for DirectCall<P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            idem: _,
            operation,
            key: _,
            fingerprint,
            overrides,
            version,
            on_error,
            codec: _,
        } = self;
        f.debug_struct("DirectCall")
            .field("operation", operation)
            .field("fingerprint", fingerprint)
            .field("overrides", overrides)
            .field("version", version)
            .field("on_error", on_error)
            .finish_non_exhaustive()
    }
}

impl DirectCall {
    pub(crate) fn new(idem: Idem, operation: Cow<'static, str>) -> Self {
        Self {
            idem,
            operation,
            key: None,
            fingerprint: Ok(Fingerprint::NONE),
            overrides: Overrides::NONE,
            version: 0,
            on_error: Release,
            codec: PhantomData,
        }
    }
}

/// Setters that take a duration or a policy.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty => $place:ident = $value:expr;)*) => {
        $(
            $(#[$doc])*
            pub fn $name(mut self, $name: $type) -> Self {
                self.overrides.$place = Some($value);
                self
            }
        )*
    };
}

impl<P, C: Codec> DirectCall<P, C> {
    /// What makes two calls of the operation the same call. Required; the last one given counts.
    pub fn key<K: ToKey + ?Sized>(mut self, key: &K) -> Self {
        self.key = Some(Key::of(key));
        self
    }

    /// The arguments that must agree when the key is used again.
    pub fn fingerprint<F: Serialize + ?Sized>(mut self, arguments: &F) -> Self {
        self.fingerprint = Fingerprint::of(arguments);
        self
    }

    setters! {
        /// How long a reservation outlives its owner's last sign of life: 100 ms to 24 h.
        lease: Duration => lease_ms = millis(lease);
        /// How long the outcome is kept; at least the lease.
        ttl: Duration => ttl_ms = millis(ttl);
        /// The longest the action may run; at least the lease.
        deadline: Duration => deadline_ms = millis(deadline);
        /// How long a lapsed reservation is remembered under `refuse` and `reconcile`.
        retention: Duration => retention_ms = millis(retention);
        /// What a duplicate does.
        on_duplicate: OnDuplicate => on_duplicate = on_duplicate;
        /// What becomes of an action whose lease is lost.
        on_lost: OnLost => on_lost = on_lost;
        /// What becomes of the key when the call is dropped; for `Detach`, use
        /// [`run_detached`](Self::run_detached).
        on_drop: OnDrop => on_drop = on_drop;
        /// What the call does about an owner that vanished; for `Reconcile`, use
        /// [`run_reconciling`](Self::run_reconciling).
        on_crash: OnCrash => on_crash = on_crash;
        /// What the call does when the store cannot be reached.
        on_outage: OnOutage => on_outage = on_outage;
    }

    /// The version of the stored value's meaning. Default: 0.
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// What an `Err` does: [`on_error::Release`], [`on_error::Store`] or [`on_error::StoreIf`].
    pub fn on_error<Q>(self, on_error: Q) -> DirectCall<Q, C> {
        let Self { idem, operation, key, fingerprint, overrides, version, on_error: _, codec } =
            self;
        DirectCall { idem, operation, key, fingerprint, overrides, version, on_error, codec }
    }

    /// How the outcome is stored.
    pub fn codec<D: Codec>(self) -> DirectCall<P, D> {
        let Self { idem, operation, key, fingerprint, overrides, version, on_error, codec: _ } =
            self;
        let codec = PhantomData;
        DirectCall { idem, operation, key, fingerprint, overrides, version, on_error, codec }
    }

    /// Makes the call: runs `action` once for all calls of its key, and gives everyone its outcome.
    ///
    /// # Errors
    /// The action's own error, now or replayed; or a refusal in its type. Dropped, it is as a
    /// dropped annotated function: `on_drop` decides.
    pub async fn run<T, E, F>(self, action: impl FnOnce(Lease) -> F) -> Result<Outcome<T>, E>
    where
        F: Future<Output = Result<T, E>>,
        E: FromRefusal,
        P: OnError<T, E>,
    {
        let (call, ident) = self.prepared()?;
        if call.overrides.on_drop == Some(OnDrop::Detach) {
            return Err(misuse(&call, "for `on_drop = detach`, use `run_detached`"));
        }
        if call.overrides.on_crash == Some(OnCrash::Reconcile) {
            return Err(misuse(&call, "for `on_crash = reconcile`, use `run_reconciling`"));
        }
        reported(async move {
            match call.begin(ident).await {
                Err(answer) | Ok(Begun::Replay(answer)) => answer,
                Ok(Begun::Run(mut running)) => match running.renew_while(in_body(action)).await {
                    Ok(result) => running.complete(result).await,
                    Err(answer) => answer,
                },
            }
        })
        .await
    }

    /// [`run`](Self::run) under `on_drop = detach`: the action is a task of its own that runs to its
    /// end whatever becomes of this call. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_detached<T, E, F, A>(mut self, action: A) -> Result<Outcome<T>, E>
    where
        A: FnOnce(Lease) -> F + Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
        E: FromRefusal,
        Result<T, E>: Detachable,
        P: OnError<T, E>,
    {
        self.overrides.on_drop = Some(OnDrop::Detach);
        let (call, ident) = self.prepared()?;
        reported(async move {
            match call.begin(ident).await {
                Err(answer) | Ok(Begun::Replay(answer)) => answer,
                Ok(Begun::Run(running)) => running.detach(in_body(action)).await,
            }
        })
        .await
    }

    /// [`run`](Self::run) under `on_crash = reconcile`: if this call takes over from an owner that
    /// vanished, `ask` says whether that one's effect happened (`Some`: it did, with this value).
    ///
    /// # Errors
    /// As [`run`](Self::run); `OutcomeUnknown` if `ask` fails.
    pub async fn run_reconciling<T, E, F, E2>(
        mut self,
        ask: impl Future<Output = Result<Option<T>, E2>>,
        action: impl FnOnce(Lease) -> F,
    ) -> Result<Outcome<T>, E>
    where
        F: Future<Output = Result<T, E>>,
        E: FromRefusal,
        E2: Display,
        P: OnError<T, E>,
    {
        self.overrides.on_crash = Some(OnCrash::Reconcile);
        let (call, ident) = self.prepared()?;
        reported(async move {
            match call.begin_reconciling(ident, ask).await {
                Err(answer) | Ok(Begun::Replay(answer)) => answer,
                Ok(Begun::Run(mut running)) => match running.renew_while(in_body(action)).await {
                    Ok(result) => running.complete(result).await,
                    Err(answer) => answer,
                },
            }
        })
        .await
    }

    #[allow(clippy::type_complexity, reason = "a call and its ident, named where they are used")]
    fn prepared<T, E>(self) -> Result<(Call<Result<T, E>, P::Which>, Ident), E>
    where
        E: FromRefusal,
        P: OnError<T, E>,
    {
        let refuse =
            |kind, why: &str| E::from_refusal(Error::new(kind, &self.operation).detail(why));
        check_operation(&self.operation).map_err(|why| refuse(ErrorKind::InvalidSetting, why))?;
        let Some(key) = self.key else {
            return Err(refuse(
                ErrorKind::InvalidKey,
                "no key was given: call `.key(&…)` with what makes two calls the same call",
            ));
        };
        let mut call = self.on_error.call::<C>();
        call.name = self.operation;
        call.overrides = self.overrides;
        call.table.version = self.version;
        Ok((call, Ident { key, fingerprint: self.fingerprint, idem: Some(self.idem) }))
    }
}

/// What is wrong with an operation's name, if anything is.
pub(crate) fn check_operation(operation: &str) -> Result<(), &'static str> {
    if operation.is_empty() || !is_name(operation) {
        return Err("an operation's name has letters, digits, `.`, `_`, `-` and `/` only");
    }
    if operation.starts_with("idem.") {
        return Err("names that begin with `idem.` are kept for idem itself");
    }
    Ok(())
}

fn misuse<T, E: FromRefusal, W>(call: &Call<Result<T, E>, W>, why: &str) -> E {
    E::from_refusal(Error::new(ErrorKind::InvalidSetting, &call.name).detail(why))
}

/// The action with the lease it runs under, which is known when it is first polled.
async fn in_body<T, F: Future<Output = T>>(action: impl FnOnce(Lease) -> F) -> T {
    let Some(lease) = lease() else { unreachable!("a body is polled inside its lease") };
    action(lease).await
}

/// Runs a call and gives its facts beside its value, to an `observe` around it as well.
async fn reported<T, E>(call: impl Future<Output = Result<T, E>>) -> Result<Outcome<T>, E> {
    let around = context::current();
    let observed = around.slot.as_ref().and_then(Slot::take);
    let slot = Slot::default();
    let context = Context { slot: Some(slot.clone()), ..around };
    let result = within(context, Box::pin(call)).await;
    let facts: Option<Facts> = slot.facts();
    if let (Some(observed), Some(facts)) = (observed, facts) {
        observed.fill(facts);
    }
    let value = result?;
    let Some(facts) = facts else { unreachable!("a call that has a value has reported its facts") };
    Ok(Outcome::new(value, facts))
}
