//! A call that meets what stands, and how it was answered.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use idem_runtime::codec::{Codec, Json, MessagePack};
use idem_runtime::on_error::Store;
use idem_runtime::{
    Decided, Decision, DirectCall, Error, ErrorKind, Idem, OnCrash, OnDuplicate, Outcome,
};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use super::store::Shelf;

/// The arguments of the call whose record it is, and of every other.
pub(crate) const ARGUMENTS: &str = "these";
/// The version of the stored value's meaning.
pub(crate) const VERSION: u32 = 6;

/// The operation's own error, which looks like its value as bytes: one could pass for the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub(crate) struct Failure(Result<u64, ErrorKind>);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(Err(error.kind()))
    }
}

impl From<u64> for Failure {
    fn from(code: u64) -> Self {
        Self(Ok(code))
    }
}

impl From<Failure> for u64 {
    fn from(failure: Failure) -> Self {
        failure.0.unwrap_or_default()
    }
}

/// How a call was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Its body ran, as if nothing stood.
    Ran,
    Value(u64),
    Failure(u64),
    Refused(ErrorKind),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Who calls: the code that wrote the record, or one of another version of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Same(OnCrash),
    OtherVersion,
    OtherCodec,
}

/// Whoever may call.
pub(crate) const CALLERS: [Caller; 5] = [
    Caller::Same(OnCrash::Rerun),
    Caller::Same(OnCrash::Refuse),
    Caller::Same(OnCrash::Reconcile),
    Caller::OtherVersion,
    Caller::OtherCodec,
];

/// A process on a store of one record.
pub(crate) struct Process {
    runtime: Runtime,
    idem: Idem,
    pub(crate) shelf: Shelf,
}

impl Process {
    pub(crate) fn start() -> Self {
        let shelf = Shelf::default();
        let builder =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let runtime = builder.unwrap();
        let _inside = runtime.enter();
        let builder = Idem::builder().backend(shelf.clone()).keeper_as_task();
        let idem = builder.lease(Duration::from_secs(30)).build().unwrap();
        Self { idem, shelf, runtime }
    }

    /// What this call is answered by the bytes that stand.
    pub(crate) fn call(&self, caller: Caller) -> Answer {
        let call = self.idem.call("charge").key(&7).fingerprint(ARGUMENTS);
        let call = call.on_duplicate(OnDuplicate::Reject).on_error(Store);
        match caller {
            Caller::Same(on_crash) => self.answer(on_crash, call.version(VERSION)),
            Caller::OtherVersion => self.answer(OnCrash::Rerun, call.version(VERSION ^ 1)),
            Caller::OtherCodec => {
                self.answer(OnCrash::Rerun, call.version(VERSION).codec::<Json>())
            }
        }
    }

    fn answer<C: Codec>(&self, on_crash: OnCrash, call: DirectCall<Store, C>) -> Answer {
        let ran = Cell::new(false);
        let body = async |_| {
            ran.set(true);
            Ok::<u64, Failure>(0)
        };
        let answered: Result<Outcome<u64>, Failure> = self.runtime.block_on(async {
            match on_crash {
                OnCrash::Reconcile => {
                    // The question is one that only a crash leads to.
                    let unknown = async { Err("nobody knows") };
                    call.run_reconciling(unknown, body).await
                }
                on_crash => call.on_crash(on_crash).run(body).await,
            }
        });
        match answered {
            _ if ran.get() => Answer::Ran,
            Ok(outcome) => Answer::Value(outcome.value),
            Err(Failure(Ok(code))) => Answer::Failure(code),
            Err(Failure(Err(kind))) => Answer::Refused(kind),
        }
    }

    /// Whether an operator's decision to run again is carried out.
    pub(crate) fn is_decided(&self) -> bool {
        let decision = self.idem.decide("charge", &7, Decision::run_again());
        self.runtime.block_on(decision).unwrap() == Decided::Done
    }
}

/// What the default codec makes of a value.
pub(crate) fn encoded(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    MessagePack::encode(&value, &mut bytes).unwrap();
    bytes
}
