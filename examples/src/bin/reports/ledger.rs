//! The ledger: what client, workers and whoever kills them have done, one line each.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use idem_runtime::RunId;
use serde::{Deserialize, Serialize};

/// A file that lines are added to, by several processes.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    file: File,
}

/// A line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// By the wall clock, in microseconds since the epoch.
    pub(crate) at_us: u64,
    #[serde(flatten)]
    pub(crate) what: What,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(crate) enum What {
    /// The first line: what is asked for, and how long a run is held.
    Opened { hold_us: u64, requests: Vec<String> },
    /// A rendering has begun.
    Begun(Sign),
    /// It has a page more.
    Page(Sign),
    /// It ends with a report.
    Done(Sign),
    /// It ends with an error.
    Failed(Sign),
    /// The e-mail of a request: the line is the e-mail.
    Mail { request: String },
    /// How a rendering's sending of it was answered.
    MailAnswered { request: String, run: RunId, answer: String },
    /// The client has cancelled a run.
    Cancelled { request: String, run: RunId },
    /// The client has the report, of this run.
    Received { request: String, run: RunId },
    /// A worker is dead.
    Killed { worker: String },
}

/// A sign of life of a rendering.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sign {
    pub(crate) request: String,
    pub(crate) run: RunId,
    pub(crate) worker: String,
    /// For how long from now its worker still has its lease, as far as it knows.
    pub(crate) holds_us: u64,
}

/// A new file in the folder for temporary ones, for a run that names none.
///
/// # Errors
/// That folder cannot be written to.
pub(crate) fn new_path() -> Result<PathBuf> {
    let file = tempfile::Builder::new().prefix("reports-ledger-").suffix(".jsonl").tempfile();
    let kept = file.and_then(|file| file.into_temp_path().keep().map_err(io::Error::from));
    kept.context("cannot write a ledger in the folder for temporary files; give one with --ledger")
}

/// In microseconds.
pub(crate) fn micros(time: Duration) -> u64 {
    time.as_micros().try_into().unwrap_or(u64::MAX)
}

/// The wall clock.
pub(crate) fn now_us() -> u64 {
    micros(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

impl Ledger {
    /// Opens it, or creates it.
    ///
    /// # Errors
    /// It cannot be opened for appending.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = file.with_context(|| format!("cannot write the ledger {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.file.metadata().is_ok_and(|about| about.len() == 0)
    }

    /// Notes what happens now.
    ///
    /// # Errors
    /// The line may not be there.
    pub(crate) fn note(&self, what: What) -> io::Result<()> {
        self.note_of(now_us(), what)
    }

    /// Notes what happened at this time.
    ///
    /// # Errors
    /// The line may not be there.
    pub(crate) fn note_of(&self, at_us: u64, what: What) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Entry { at_us, what })?;
        line.push(b'\n');
        // One write at the end of the file: lines of several processes do not mix, and that of a
        // process which is killed is whole or not there. It is short, and held up by no disk.
        (&self.file).write_all(&line)
    }

    /// Whether something like this is noted.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn has(&self, is: impl Fn(&What) -> bool) -> io::Result<bool> {
        let entries = BufReader::new(File::open(&self.path)?).lines();
        for line in entries {
            if serde_json::from_str(&line?).is_ok_and(|entry: Entry| is(&entry.what)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
