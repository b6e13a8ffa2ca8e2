//! What an operator does about a key: look at its record, decide an outcome that is unknown.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ask::ask;
use crate::backend::BackendError;
use crate::codec::{Codec, MessagePack};
use crate::direct::check_operation;
use crate::error::{Error, ErrorKind};
use crate::fingerprint::Fingerprint;
use crate::idem::Idem;
use crate::key::{Key, ToKey};
use crate::observe::at_ms;
use crate::protocol::judge::{Verdict, judge};
use crate::protocol::transition::ReplaceReply;
use crate::record::{Flags, Found, Owner, Payload, Record, State};
use crate::record_key::RecordKey;
use crate::value::{Encoded, encode};

/// What stands under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// In progress, lapsed or completed.
    pub status: Status,
    /// 1, or more after takeovers where the store knows of them; 0 if the record cannot be read.
    pub attempt: u32,
    /// When the key was first reserved, by that owner's wall clock.
    pub first_at: SystemTime,
    /// What is left of the record's life.
    pub expires_in: Duration,
}

/// In which state a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// An owner is running, or its lease has not ended.
    InProgress {
        /// What is left until it lapses unless it is renewed.
        lapses_in: Duration,
    },
    /// An owner vanished without an outcome.
    Lapsed,
    /// An outcome is stored.
    Completed {
        /// Whether it is the operation's own error.
        error: bool,
        /// Whether its value is there.
        kept: bool,
        /// The codec's id.
        codec: u8,
        /// The attribute's `version`.
        version: u32,
        /// The encoded value's size in bytes.
        size: usize,
    },
    /// Another version of idem wrote it, or it is damaged: it counts as in progress.
    Unreadable,
}

/// What becomes of a key whose outcome is unknown.
#[derive(Debug)]
pub struct Decision(Verdicted);

#[derive(Debug)]
enum Verdicted {
    Take(Encoded, u8, u32),
    RunAgain,
}

impl Decision {
    /// The effect happened, and this is what the function returned (the value inside its `Ok`),
    /// stored by the default codec.
    #[must_use]
    pub fn take<T: Serialize + DeserializeOwned>(value: &T) -> Self {
        Self::take_as::<MessagePack, T>(value, 0)
    }

    /// [`take`](Self::take) for a function with another codec or `version`.
    #[must_use]
    pub fn take_as<C: Codec, T: Serialize + DeserializeOwned>(value: &T, version: u32) -> Self {
        Self(Verdicted::Take(encode::<T, C>(value, Flags::default()), C::ID, version))
    }

    /// The effect did not happen, or may happen again: the next call runs.
    #[must_use]
    pub const fn run_again() -> Self {
        Self(Verdicted::RunAgain)
    }
}

/// What a decision led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decided {
    /// It is carried out.
    Done,
    /// There is nothing to decide: no record stands, or an outcome does.
    NothingToDecide,
    /// An owner holds the key, by its lease: wait until it has lapsed.
    InProgress,
}

impl Idem {
    /// What stands under a key of an operation; `None` if nothing does.
    ///
    /// # Errors
    /// `InvalidKey`, `InvalidSetting` for the operation's name, `Backend`.
    pub async fn inspect<K: ToKey + ?Sized>(
        &self,
        operation: &str,
        key: &K,
    ) -> Result<Option<Inspection>, Error> {
        let key = self.record_key(operation, key)?;
        Ok(self.peek(&key).await?.map(|found| inspection(&found)))
    }

    /// Decides what becomes of a key whose owner vanished under `on_crash = refuse` or `reconcile`.
    ///
    /// Only a reservation that has lapsed is decided, in one step, so that an owner that comes back
    /// is not run over. The value is stored for the builder's ttl, the lapsed call's fingerprint
    /// stays.
    ///
    /// # Errors
    /// As [`inspect`](Self::inspect); `NotKept` if the value cannot be stored. Dropped, the decision
    /// may have been carried out: make it again.
    pub async fn decide<K: ToKey + ?Sized>(
        &self,
        operation: &str,
        key: &K,
        decision: Decision,
    ) -> Result<Decided, Error> {
        let key = self.record_key(operation, key)?;
        let Some(found) = self.peek(&key).await? else { return Ok(Decided::NothingToDecide) };
        let lapsed = match judge(&found, Fingerprint::NONE) {
            Verdict::Lapsed(lapsed) => lapsed,
            Verdict::Completed(_) | Verdict::Mismatch => return Ok(Decided::NothingToDecide),
            Verdict::InProgress { .. } => return Ok(Decided::InProgress),
        };
        let core = self.core();
        match decision.0 {
            Verdicted::Take(Encoded { not_kept: Some(why), .. }, ..) => {
                Err(self.error(ErrorKind::NotKept, &key).detail(why))
            }
            Verdicted::Take(Encoded { flags, payload, .. }, codec, value_version) => {
                let outcome = Record {
                    state: State::Completed,
                    owner: Owner::fresh(),
                    fence: 0,
                    retention_ms: 0,
                    flags,
                    codec,
                    value_version,
                    payload,
                    ..lapsed.clone()
                };
                self.replace(&key, lapsed, &outcome, core.defaults.ttl).await
            }
            Verdicted::RunAgain => {
                // Without a retention, so that nothing is remembered if the release is lost.
                let reservation = Record {
                    owner: Owner::fresh(),
                    fence: 0,
                    retention_ms: 0,
                    payload: Payload::EMPTY,
                    ..lapsed.clone()
                };
                let decided = self.replace(&key, lapsed, &reservation, core.defaults.lease).await?;
                if decided == Decided::Done {
                    let until = core.clock.now().after(core.store_timeout);
                    let release = || core.store.release(&key, reservation.owner);
                    ask(core.clock, until, release)
                        .await
                        .map_err(|error| self.failed(&key, error))?;
                }
                Ok(decided)
            }
        }
    }

    async fn replace(
        &self,
        key: &RecordKey,
        lapsed: &Record,
        by: &Record,
        life: Duration,
    ) -> Result<Decided, Error> {
        let core = self.core();
        let until = core.clock.now().after(core.store_timeout);
        let seen = lapsed.head();
        let replace = || core.store.replace(key, seen, by, life, Some(lapsed.retention()));
        match ask(core.clock, until, replace).await {
            Ok(ReplaceReply::Replaced) => Ok(Decided::Done),
            Ok(ReplaceReply::Stands(Some(standing)))
                if standing.record().is_none_or(|r| r.state == State::Reserved) =>
            {
                Ok(Decided::InProgress)
            }
            Ok(ReplaceReply::Stands(_)) => Ok(Decided::NothingToDecide),
            Err(error) => Err(self.failed(key, error)),
        }
    }

    fn record_key<K: ToKey + ?Sized>(&self, operation: &str, key: &K) -> Result<RecordKey, Error> {
        check_operation(operation)
            .map_err(|why| Error::new(ErrorKind::InvalidSetting, operation).detail(why))?;
        let key = Key::of(key)
            .map_err(|why| Error::new(ErrorKind::InvalidKey, operation).detail(why.to_string()))?;
        Ok(RecordKey::under(self.core().prefix.clone(), operation.to_owned().into(), key))
    }

    async fn peek(&self, key: &RecordKey) -> Result<Option<Found>, Error> {
        let core = self.core();
        let until = core.clock.now().after(core.store_timeout);
        ask(core.clock, until, || core.store.peek(key))
            .await
            .map_err(|error| self.failed(key, error))
    }

    fn error(&self, kind: ErrorKind, key: &RecordKey) -> Error {
        Error::about(kind, key, self.core().observers.shown())
    }

    fn failed(&self, key: &RecordKey, error: BackendError) -> Error {
        self.error(ErrorKind::Backend, key).because(error)
    }
}

fn inspection(found: &Found) -> Inspection {
    let status = match judge(found, Fingerprint::NONE) {
        Verdict::InProgress { .. } if found.standing.record().is_none() => Status::Unreadable,
        Verdict::InProgress { lapses_in } => Status::InProgress { lapses_in },
        Verdict::Lapsed(_) => Status::Lapsed,
        Verdict::Completed(outcome) => Status::Completed {
            error: outcome.flags.contains(Flags::ERROR),
            kept: !outcome.flags.contains(Flags::NOT_KEPT),
            codec: outcome.codec,
            version: outcome.value_version,
            size: outcome.payload.value_len(),
        },
        // Without a fingerprint nothing disagrees.
        Verdict::Mismatch => Status::Unreadable,
    };
    let record = found.standing.record();
    Inspection {
        status,
        attempt: record.map_or(0, |record| record.attempt),
        first_at: at_ms(record.map_or(0, |record| record.first_reserved_at_ms)),
        expires_in: found.left,
    }
}
