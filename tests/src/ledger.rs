//! A ledger: the effects that the actions of several processes had, one line each.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// An empty file in a folder of its own, gone when this is dropped.
#[derive(Debug)]
pub struct Ledger(TempDir);

impl Ledger {
    /// A ledger without effects.
    ///
    /// # Panics
    /// If there is no place for one.
    #[must_use]
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder for the ledger"))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.0.path().join("ledger")
    }

    /// All effects so far, in order.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn effects(&self) -> Vec<String> {
        match fs::read_to_string(self.path()) {
            Ok(text) => text.lines().map(ToOwned::to_owned).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => panic!("{error}"),
        }
    }

    /// Adds an effect to the ledger at this path, in one write at its end, so that the effects of
    /// several processes never mix.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn append(path: &Path, effect: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(format!("{effect}\n").as_bytes())
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}
