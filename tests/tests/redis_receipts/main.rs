//! Receipts on real Redis servers: with real processes where a test is about processes, through a proxy
//! where it is about the way to the server. Each test has a server of its own.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

mod kit;
#[path = "../redis/kit.rs"]
#[allow(dead_code, reason = "shared with the tests of calls")]
mod processes;

mod cancels;
mod clocks;
mod costs;
mod deployments;
mod dispatchers;
mod earlier_records;
mod faults;
mod rights;
mod servers;
mod waits;
mod workers;
