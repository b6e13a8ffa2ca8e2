//! The Redis backend on more than one server: sentinels that fail over, a cluster whose slots move and
//! whose masters are lost; and every way to reach a server.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

#[path = "../redis/kit.rs"]
#[allow(dead_code, reason = "shared with the tests of one server")]
mod kit;

mod cluster;
mod conformance;
mod lost_master;
mod moved_slot;
mod reached;
mod sentinels;
