//! What was once wrong, each test named for what broke.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

mod calls;
mod edges;
mod keeper;
