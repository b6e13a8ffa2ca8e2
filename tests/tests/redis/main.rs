//! The Redis backend on a real server: what every backend has to do, what it costs, and what goes
//! wrong with servers. Each test has a server of its own, save where it says otherwise.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

mod kit;

mod commands;
mod conformance;
mod connect;
mod faults;
mod full;
mod key_forms;
mod lost;
mod paused_calls;
mod pauses;
mod rights;
mod runtimes;
mod scripts;
mod transitions;
mod waking;
