//! idem makes async functions safe to call again.
//!
//! One attribute on a service function, one builder at startup, and a call that is repeated (by a
//! client that timed out, a webhook that is delivered twice, a worker that took over from a dead
//! one) runs once and gives everyone the same answer.
//!
//! ```
//! use idem_runtime::{Idem, MemoryBackend, idempotent};
//!
//! # #[derive(serde::Serialize, serde::Deserialize)] struct Receipt { cents: u64 }
//! # struct Order { id: u64, cents: u64 }
//! // The name decides under what the outcomes are stored: with it, the function may move and be
//! // renamed.
//! #[idempotent(name = "payments.charge", key = order.id, lease = "30s", fingerprint = order.cents)]
//! async fn charge(order: &Order) -> Result<Receipt, idem_runtime::Error> {
//!     Ok(Receipt { cents: order.cents })
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let idem = Idem::builder().backend(MemoryBackend::new()).build()?;
//! idem.install()?;
//! charge(&Order { id: 17, cents: 4_200 }).await?;
//! # Ok(()) }
//! ```
//!
//! The modules are in the order in which a call meets them.

// At startup and at the end.
mod builder;
mod idem;
mod shutdown;

// What a call is: its key and fingerprint, its settings, its expansion.
mod key;
mod fingerprint;
mod ident;
mod name;
mod bounds;
mod policy;
mod settings;
mod call;
mod direct;

// Its begin: the `Idem` it goes to, its seat, the store, those it waits for.
mod arrival;
mod begin;
mod flight;
mod wait;
mod takeover;
mod ask;

// Its action under a lease that the keeper renews.
mod run;
mod attempt;
mod lease;
mod context;
mod keeper;

// Its end: the outcome stored and told.
mod value;
pub mod codec;
mod settle;
mod observe;
mod error;

// Its receipt, where the work is done later.
mod receipt;

// What others see and do.
mod event;
mod observer;
mod operator;

// What it all rests on.
pub mod protocol;
pub mod record;
mod record_key;
pub mod backend;
pub mod memory;
mod sync;
mod time;

#[cfg(feature = "testing")]
pub mod testing;

#[cfg(all(test, feature = "testing", idem_interleave = "shuttle"))]
mod interleavings;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private_v1;

pub use backend::{Backend, BackendError};
pub use bounds::{Detachable, FromRefusal, Returned, Storable, StorableError};
pub use builder::{BuildError, Builder};
pub use codec::Codec;
pub use direct::{DirectCall, on_error};
pub use error::{Error, ErrorKind};
pub use event::{Event, EventKind, KeyText, NextRun, Observer, Phase, RunMove};
pub use fingerprint::{Fingerprint, FingerprintError};
pub use idem::{AlreadyInstalled, Idem};
pub use idem_macros::idempotent;
pub use key::{InvalidKey, Key, KeyWriter, ToKey};
pub use lease::{Lease, lease};
pub use memory::MemoryBackend;
pub use observe::{Facts, Observed, Outcome, Source, observe};
pub use operator::{Decided, Decision, Inspection, Status};
pub use policy::{LEASE_RANGE, LONGEST, OnCrash, OnDrop, OnDuplicate, OnLost, OnOutage};
pub use receipt::{
    Attach, Dispatch, InvalidRunId, Liveness, Ran, Receipt, Run, RunId, RunStatus, Verdict,
};
pub use record_key::RecordKey;
pub use shutdown::ShutdownReport;
