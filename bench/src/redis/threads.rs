//! What the callers run on.

use std::fmt;

use tokio::runtime::{Builder, Runtime};

/// The threads of the callers' runtime.
#[derive(Clone, Copy)]
pub(crate) enum Threads {
    /// One for everything.
    One,
    /// Two workers, as many as the smallest machine of a service has.
    Two,
}

impl Threads {
    pub(crate) fn runtime(self) -> anyhow::Result<Runtime> {
        let mut builder = match self {
            Self::One => Builder::new_current_thread(),
            Self::Two => Builder::new_multi_thread(),
        };
        Ok(builder.worker_threads(2).enable_all().build()?)
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One => "one thread",
            Self::Two => "two threads",
        })
    }
}
