//! The doctor on real servers: each fault is made and found, and each healthy counterpart is not
//! accused.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

mod between;
mod kit;

mod cluster;
mod connect;
mod memory;
mod persistence;
mod replication;
mod rights;
mod rounds;
mod sentinels;
