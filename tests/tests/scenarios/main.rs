//! The scenarios that users of comparable systems ran into, each a test of its name, as far as one
//! process and the memory backend can show it. Two `Idem`s on one store stand for two processes.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

mod callers;
mod leases;
mod results;
mod store;
mod waiters;
