//! Why a consumer could not be registered.

use idem_runtime::BackendError;
use thiserror::Error;

/// Why a consumer did not start. What it had made on the server by then has been taken back, as far as
/// the server answered and the user has the rights (`XGROUP DESTROY`, `DEL`); otherwise the log says so.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConsumerError {
    /// Options are not usable, or contradict each other; the server was not asked for anything.
    #[error("the consumer's options are not usable: {0}")]
    Options(String),
    /// The same consumer runs in this process with other lease options; the server was not asked for
    /// anything.
    #[error(
        "the consumer `{consumer}` of the group `{group}` of the stream `{stream}` runs in this process with \
         other lease options: give it another name, or the same retry_on_idle, renewal and \
         cancel_on_lease_lost"
    )]
    #[non_exhaustive]
    Conflict {
        /// The stream.
        stream: String,
        /// The group.
        group: String,
        /// The consumer's name.
        consumer: String,
    },
    /// This very consumer runs already; the server was not asked for anything.
    #[error("the consumer `{0}` runs already: build another one for a second run at once")]
    Running(String),
    /// The server does not let the user do what a consumer does, or the keys are no streams; nothing was
    /// made.
    #[error("the stream `{stream}` cannot be consumed: {reason}")]
    #[non_exhaustive]
    Unfit {
        /// The stream.
        stream: String,
        /// What is wrong.
        reason: String,
    },
    /// The server did not answer, or refused.
    #[error("the stream `{stream}` cannot be consumed: {source}")]
    #[non_exhaustive]
    Backend {
        /// The stream.
        stream: String,
        /// What happened.
        source: BackendError,
    },
    /// The thread that renews leases could not be started.
    #[error(
        "the thread that renews the messages of the stream `{stream}` could not be started: {source}"
    )]
    #[non_exhaustive]
    Thread {
        /// The stream.
        stream: String,
        /// What the system says.
        source: std::io::Error,
    },
}
