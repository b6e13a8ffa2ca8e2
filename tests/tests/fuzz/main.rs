//! Fuzzing of what reads bytes it did not write; `idem-macros` and `idem-redis` fuzz what only they
//! can reach.
//!
//! `cargo test -p idem-tests --test fuzz` is a short pass, the same every time. Longer, with seeds by
//! chance: `FUZZ_SECONDS=600 cargo test --release -p idem-tests --test fuzz -- --nocapture`.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

mod codec;
mod key;
mod record;
mod server;
