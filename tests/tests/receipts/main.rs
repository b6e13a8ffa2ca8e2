//! Receipts: operations that run in the background. On the memory backend, with a paused clock; on a
//! real server they are in `redis_receipts`.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

mod kit;

mod cancelling;
mod dispatching;
mod judging;
mod reclaiming;
mod running;
mod telling;
mod unanswered;
