//! The ledger: a line for each bill. It stands for a system outside that sends bills, and that can be
//! asked whether it has sent one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::order::Bill;

/// A file that lines are added to, by several processes.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    file: File,
}

/// A new file in the folder for temporary ones, for a run that names none.
///
/// # Errors
/// That folder cannot be written to.
pub(crate) fn new_path() -> Result<PathBuf> {
    let file = tempfile::Builder::new().prefix("orders-ledger-").suffix(".jsonl").tempfile();
    let kept = file.and_then(|file| file.into_temp_path().keep().map_err(io::Error::from));
    kept.context("cannot write a ledger in the folder for temporary files; give one with --ledger")
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

    /// # Errors
    /// The line may not be there.
    pub(crate) fn add(&self, bill: &Bill) -> io::Result<()> {
        let mut line = serde_json::to_vec(bill)?;
        line.push(b'\n');
        // One write at the end of the file: lines of several processes do not mix, and that of a
        // process which is killed is whole or not there. It is short, and held up by no disk.
        (&self.file).write_all(&line)
    }

    /// The bill of an order, if there is one.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn find(&self, order: &str) -> io::Result<Option<Bill>> {
        let lines = fs::read_to_string(&self.path)?;
        // Among a hundred thousand lines one is looked for, and not all are read as what they are.
        let start = format!("{{\"order\":{},", serde_json::to_string(order)?);
        let line = lines.find(&start).and_then(|at| lines[at..].lines().next());
        Ok(line.map(serde_json::from_str).transpose()?)
    }
}
