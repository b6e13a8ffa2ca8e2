//! The testing kit: what a backend is checked with, and what a service's tests make go wrong.
//!
//! - [`conformance!`](crate::testing::conformance!) holds any [`Backend`](crate::Backend) against the
//!   protocol.
//! - [`FaultBackend`] puts faults before any backend: delays, failures before and after an operation
//!   took effect, gates that hold it.
//! - [`Runs`] counts what ran.

pub mod conformance;
mod fault;
mod runs;

#[doc(inline)]
pub use crate::__idem_conformance as conformance;
pub use fault::{FaultBackend, Faults, Gate, Operation};
pub use runs::Runs;
