//! Every policy, every event, every error: each test fails when the code it is about is taken out.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

mod errors;
mod gone;
mod handle;
mod on_crash;
mod on_duplicate;
mod on_lost;
mod on_outage;
mod operators;
mod renewals;
mod settling;
mod window;
