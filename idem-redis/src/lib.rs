#![doc = include_str!("../README.md")]

// What a service writes, and whether the servers will do.
mod address;
mod builder;
mod check;
mod doctor;

// The operations: names and scripts on their way to the server.
mod backend;
mod names;
mod reply;
mod scripts;

// How the servers are reached: one, the master that sentinels name, or the nodes of a cluster.
mod cluster;
mod connections;
mod error;
mod place;
mod sentinels;
mod servers;

// How they tell of changes.
mod changes;

// Consumers of streams.
#[cfg(feature = "consumer")]
pub mod consumer;

#[cfg(test)]
mod fuzz;

pub use backend::RedisBackend;
pub use builder::RedisBuilder;
pub use doctor::{Doctor, Finding, Severity, Topic};
pub use error::ConnectError;
