//! Why a call was refused or could not be answered.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::backend::BackendError;
use crate::record_key::RecordKey;

/// A call that idem refused, or that lost its key, or whose outcome it cannot give.
///
/// It never stands for an error of the operation itself, which keeps its own type. The error type
/// of an annotated function implements `From<Error>`.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    operation: Box<str>,
    key: Option<Box<str>>,
    detail: Option<Box<str>>,
    retry_after: Option<Duration>,
    /// Whether the store answered, with an error.
    answered: bool,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What kind of [`Error`] it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No `Idem` was given, set for the task, or installed.
    NotInstalled,
    /// A setting of this call is out of its range or contradicts another.
    InvalidSetting,
    /// The key is empty, too long, or the fingerprint could not be taken.
    InvalidKey,
    /// Another call of the key is still running; nothing was run.
    InProgress,
    /// The key was used before with other arguments; nothing was run.
    FingerprintMismatch,
    /// The lease was lost while the action ran, or it was at risk and the action was dropped for
    /// it: its value is not the outcome, and another owner may have run.
    LeaseLost,
    /// The action took longer than its deadline and was dropped.
    DeadlineExceeded,
    /// An earlier attempt vanished without an outcome: whether its effect happened is unknown.
    OutcomeUnknown,
    /// The store could not be reached or answered with an error; the source says which.
    Backend,
    /// The operation is done, but its stored outcome cannot be read back.
    Unreadable,
    /// The operation is done, but its value could not be kept.
    NotKept,
    /// The run ended without a result, or nothing is known of it.
    RunFailed,
    /// The action called itself with its own key.
    Reentrant,
    /// The `Idem` is shutting down and takes no new calls.
    ShuttingDown,
}

impl ErrorKind {
    const fn says(self) -> &'static str {
        match self {
            Self::NotInstalled => {
                "no Idem is in place: build one and call `install`, or run the call inside `idem.scope(…)`"
            }
            Self::InvalidSetting => "one of its settings cannot be used",
            Self::InvalidKey => "its key cannot be used",
            Self::InProgress => "another call with this key is still running; call again later",
            Self::FingerprintMismatch => {
                "this key was used before with other arguments; use a new key"
            }
            Self::LeaseLost => {
                "the lease was lost, and another owner may have the key: call again for what stands"
            }
            Self::DeadlineExceeded => "the action took longer than its deadline and was dropped",
            Self::OutcomeUnknown => {
                "an earlier attempt vanished without an outcome; look whether its effect happened, then decide"
            }
            Self::Backend => "the store could not be reached or answered with an error",
            Self::Unreadable => {
                "it is done, but the stored outcome cannot be read back with this type, codec and version"
            }
            Self::NotKept => "it is done, but its value could not be kept for later calls",
            Self::RunFailed => {
                "the run has ended without a result; dispatch it again to start another"
            }
            Self::Reentrant => {
                "the action called itself with its own key, which would wait for itself"
            }
            Self::ShuttingDown => "this process is shutting down; call another one",
        }
    }
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, operation: &str) -> Self {
        Self(Box::new(Inner {
            kind,
            operation: operation.into(),
            key: None,
            detail: None,
            retry_after: None,
            answered: false,
            source: None,
        }))
    }

    pub(crate) fn about(kind: ErrorKind, key: &RecordKey, shown: KeyShown) -> Self {
        let mut error = Self::new(kind, key.operation());
        error.0.key = Some(shown.text(key).into());
        error
    }

    pub(crate) fn detail(mut self, detail: impl Into<Box<str>>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    pub(crate) fn after(mut self, retry_after: Duration) -> Self {
        self.0.retry_after = Some(retry_after);
        self
    }

    pub(crate) fn because(mut self, source: BackendError) -> Self {
        self.0.answered = source.is_answer();
        self.0.source = Some(Box::new(source));
        self
    }

    /// An error of this kind, for tests of what a service makes of one.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn of_kind(kind: ErrorKind, operation: &str) -> Self {
        Self::new(kind, operation)
    }

    /// What kind of error it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The operation that was called.
    #[must_use]
    pub fn operation(&self) -> &str {
        &self.0.operation
    }

    /// Whether the same call may succeed later, without anybody's doing: true for `InProgress`,
    /// `LeaseLost`, `DeadlineExceeded` and `ShuttingDown`, for `Backend` unless the store answered
    /// (no permission, out of memory), and for `OutcomeUnknown` after a reconcile that failed.
    ///
    /// A retry never runs beside an action that holds the key. Where
    /// [`may_have_run`](Self::may_have_run) says so, it may run the action once more.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self.0.kind {
            ErrorKind::InProgress
            | ErrorKind::LeaseLost
            | ErrorKind::DeadlineExceeded
            | ErrorKind::ShuttingDown => true,
            ErrorKind::Backend => !self.0.answered,
            // Only after a reconcile that failed: the next call asks again.
            ErrorKind::OutcomeUnknown => self.0.retry_after.is_some(),
            _ => false,
        }
    }

    /// Whether this call's own action (for `OutcomeUnknown`, an attempt before it) may have had its
    /// effect although this call has no outcome: true for `LeaseLost`, `DeadlineExceeded` and `OutcomeUnknown`. The
    /// other kinds have run nothing, or say that it is done.
    #[must_use]
    pub fn may_have_run(&self) -> bool {
        matches!(
            self.0.kind,
            ErrorKind::LeaseLost | ErrorKind::DeadlineExceeded | ErrorKind::OutcomeUnknown
        )
    }

    /// When it makes sense to call again. For `InProgress`: when the lease that is in the way ends
    /// unless it is renewed (for an owner in this process, when its lease deadline passes, which is
    /// a tenth of the lease earlier). For `OutcomeUnknown` after a reconcile that failed, and for
    /// `DeadlineExceeded` with a held key: one lease. `None` for the other kinds, and where it is not
    /// known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, operation, key, detail, retry_after, answered: _, source } = &*self.0;
        write!(f, "{operation}")?;
        if let Some(key) = key {
            write!(f, " (key {key})")?;
        }
        write!(f, ": {}", kind.says())?;
        if let Some(detail) = detail {
            write!(f, ": {detail}")?;
        }
        if let Some(source) = source {
            write!(f, ": {source}")?;
        }
        if let Some(after) = retry_after {
            write!(f, " (retry after {after:.0?})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, operation, key, detail, retry_after, answered: _, source } = &*self.0;
        f.debug_struct("Error")
            .field("kind", kind)
            .field("operation", operation)
            .field("key", key)
            .field("detail", detail)
            .field("retry_after", retry_after)
            .field("source", source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// Whether keys may be shown as they are, or only as a short hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum KeyShown {
    #[default]
    Hashed,
    Plain,
}

impl KeyShown {
    pub(crate) fn text(self, key: &RecordKey) -> String {
        match self {
            Self::Hashed => format!("#{}", key.key_tag()),
            Self::Plain => key.key().to_owned(),
        }
    }
}
