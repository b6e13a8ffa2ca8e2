//! Processes that tests, examples and figures start and own: Redis servers, and programs that are told
//! things.
//!
//! A package apart from `idem-tests`, which turns features of the runtime on that would change the
//! figures.

mod asking;
mod program;
mod redis_server;

pub use program::Program;
pub use redis_server::{RedisServer, free_port};
