//! Consumers of streams on a real server: each row of what their design promises, and what they do when
//! servers, processes and handlers fail. Each test has a server of its own.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

mod kit;

mod costs;
mod deployments;
mod logged;
mod lost;
mod options;
mod payloads;
mod processes;
mod registration;
mod renewal;
mod retries;
mod shutdown;
mod telling;
mod vanished;
