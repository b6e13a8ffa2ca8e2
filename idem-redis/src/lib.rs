#![doc = include_str!("../README.md")]

// What a service writes.
mod builder;
mod check;

// The operations: names and scripts on their way to the server.
mod backend;
mod names;
mod reply;
mod scripts;

// How the server is reached, and how it tells of changes.
mod changes;
mod connections;
mod error;

pub use backend::RedisBackend;
pub use builder::RedisBuilder;
pub use error::ConnectError;
