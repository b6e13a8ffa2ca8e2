//! The scenarios that users of comparable systems ran into, each a test of its name, on a real Redis
//! server: with real processes where the scenario is about processes, and with an `Idem` of its own
//! for each "process" where it is not. Each test has a server of its own.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

mod kit;

mod callers;
mod clocks;
mod leases;
mod owners;
mod results;
mod scripts;
mod store;
mod waiters;
