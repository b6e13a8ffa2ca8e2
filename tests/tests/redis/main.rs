//! The Redis backend on a real server: what every backend has to do, what it costs, and what goes
//! wrong with servers.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

mod conformance;
