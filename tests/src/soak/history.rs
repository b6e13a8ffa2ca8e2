//! What happened, one line of JSON each: who called what and how it ended, when actions ran and what
//! their owners claimed, what went wrong on purpose.
//!
//! Each process appends to a file of its own, a line in one write, so that a kill loses nothing that
//! was done before it. Times are the machine's wall clock, which all processes share; whoever runs them
//! has to see to it that it was not set meanwhile.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// A moment, in microseconds since the epoch.
pub type Micros = u64;

/// This moment.
#[must_use]
pub fn now() -> Micros {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    micros(since)
}

/// A time in microseconds.
#[must_use]
pub fn micros(time: Duration) -> Micros {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A call: the process that makes it, which life of that process, and which call of that life. It is
/// also the value that its action returns, so that a value tells where it is from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallId(pub u64);

impl CallId {
    /// The `number`th call of a life of a process.
    #[must_use]
    pub const fn new(process: u64, life: u64, number: u64) -> Self {
        Self(process << 48 | life << 32 | number)
    }

    /// Which process.
    #[must_use]
    pub const fn process(self) -> u64 {
        self.0 >> 48
    }

    /// Which of its lives, from 0; a kill ends one.
    #[must_use]
    pub const fn life(self) -> u64 {
        self.0 >> 32 & 0xffff
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.process(), self.life(), self.0 & 0xffff_ffff)
    }
}

/// Something that happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// When: before a call or an action begins, after one has ended.
    pub at: Micros,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A call is about to be made.
    Called(Call),
    /// Its action is polled for the first time.
    Began {
        /// The call.
        call: CallId,
        /// The attempt, as its lease says.
        attempt: u32,
        /// Whether it runs under a lease.
        protected: bool,
    },
    /// The owner claims its key until then, unless it says so again; not at all if that is not later
    /// than the line.
    Holds {
        /// The call.
        call: CallId,
        /// Until when.
        until: Micros,
    },
    /// The owner has got its fence.
    Fence {
        /// The call.
        call: CallId,
        /// The number.
        number: u64,
    },
    /// After a takeover it was asked whether the effect had happened: what is answered.
    Asked {
        /// The call.
        call: CallId,
        /// `None`: it cannot be said.
        answer: Option<Effect>,
    },
    /// The action has its effect, which a reconcile can find from now on.
    Effect {
        /// The call.
        call: CallId,
    },
    /// The action has ended.
    Ended {
        /// The call.
        call: CallId,
        /// How.
        end: End,
    },
    /// The call has ended.
    Answered {
        /// The call.
        call: CallId,
        /// How.
        answer: Answer,
    },
    /// The caller has dropped its call.
    Abandoned {
        /// The call.
        call: CallId,
    },
    /// Something went wrong, on purpose or by the machine, and is over; it lasted from `since` to the
    /// line.
    Disturbed {
        /// What.
        by: Disturbance,
        /// Since when.
        since: Micros,
    },
    /// Nothing goes wrong on purpose any more, and no call is under way: the last calls begin.
    Calm,
}

/// A call that is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Which.
    pub id: CallId,
    /// The name of its operation.
    pub operation: String,
    /// Its key.
    pub key: u64,
    /// Its fingerprint is that of this number.
    pub fingerprint: u64,
    /// What it does as a duplicate.
    pub duplicate: Duplicate,
}

/// What a call does as a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Duplicate {
    /// It waits for two leases.
    Wait,
    /// It waits for so many milliseconds.
    WaitFor(u64),
    /// It fails at once.
    Reject,
}

/// What is known of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// It happened, with this value.
    Happened(CallId),
    /// It did not.
    Not,
}

/// How an action ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// With its value.
    Returned,
    /// With an error of its own.
    Failed,
    /// It panicked.
    Panicked,
    /// It was dropped before its end.
    Dropped,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// With a value, or with an error of the operation's own.
    Given(Given),
    /// With a refusal: the name of an `idem_runtime::ErrorKind`.
    Refused(String),
    /// With its action's panic.
    Panicked,
}

/// A value, and the facts of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// The call whose action gave it.
    pub value: CallId,
    /// Whether it is the operation's own error.
    pub error: bool,
    /// Where it is from.
    pub source: Source,
    /// Whether it is stored.
    pub stored: bool,
    /// Whether the lease deadline passed meanwhile.
    pub lapsed: bool,
    /// Whether it ran under a lease.
    pub protected: bool,
}

/// See `idem_runtime::Source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// This call's action ran.
    Fresh,
    /// The outcome stood.
    Replayed,
    /// The call waited for it.
    Waited,
    /// It was found out after a crash.
    Reconciled,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Disturbance {
    /// This life of a process was killed.
    Killed {
        /// The process.
        process: u64,
        /// The life that ended.
        life: u64,
    },
    /// The process was stopped, and went on.
    Paused(u64),
    /// The way between the process and the server was cut, slow or dead.
    Way(u64),
    /// The process did not get the processor.
    Stalled(u64),
    /// An action held a thread of the process that its calls need.
    Blocked(u64),
    /// The server was killed and started with all it had answered for.
    ServerRestarted,
    /// The server lost everything.
    ServerEmptied,
    /// The server was stopped, and went on.
    ServerPaused,
    /// The server forgot its scripts, or its clients.
    ServerForgot,
    /// The server, or what is between it and all processes, did not get the processor.
    ServerStalled,
}

/// The end of a file where one process writes what happens.
#[derive(Debug)]
pub struct Writer(Mutex<File>);

impl Writer {
    /// Appends to the file at `path`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(Mutex::new(OpenOptions::new().create(true).append(true).open(path)?)))
    }

    /// Something happens now.
    pub fn write(&self, what: What) {
        self.write_at(now(), what);
    }

    /// Something happened at this moment.
    ///
    /// # Panics
    /// If it cannot be written: a history with a gap is worth nothing.
    pub fn write_at(&self, at: Micros, what: What) {
        let mut line = serde_json::to_vec(&Line { at, what }).expect("a line can be written");
        line.push(b'\n');
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line).expect("the history can be written");
    }
}

/// Reads all histories in a folder, in the order of time.
///
/// # Errors
/// Those of the file system, and what is not a line. A last line without its end is none: its process
/// was killed.
pub fn read(folder: &Path) -> io::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let text = fs::read_to_string(&path)?;
            for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
                lines.push(serde_json::from_str(line)?);
            }
        }
    }
    lines.sort_by_key(|line: &Line| line.at);
    Ok(lines)
}
