//! The ledger: the effect of handling a delivery, one line for each event.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::complain;
use crate::delivery::Delivery;

/// A file that lines are added to, whole or not at all.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    /// What it held before this run, in bytes.
    had: u64,
    crash_after: Option<NonZeroU64>,
    book: Mutex<Book>,
}

#[derive(Debug)]
struct Book {
    file: File,
    /// Lines that this run has written.
    written: u64,
}

/// A new ledger, for a run that names none.
///
/// # Errors
/// The folder for temporary files cannot be written to.
pub(crate) fn new_path() -> Result<PathBuf> {
    let file = tempfile::Builder::new().prefix("webhooks-ledger-").suffix(".jsonl").tempfile();
    let kept = file.and_then(|file| file.into_temp_path().keep().map_err(io::Error::from));
    kept.context("cannot write a ledger in the folder for temporary files; give one with --ledger")
}

impl Ledger {
    /// Opens it, or creates it.
    ///
    /// # Errors
    /// It cannot be opened for reading and appending.
    pub(crate) fn open(path: &Path, crash_after: Option<NonZeroU64>) -> Result<Self> {
        let failed = || format!("cannot write the ledger {}", path.display());
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .with_context(failed)?;
        // Another process may be in the middle of a line.
        file.lock().with_context(failed)?;
        let had = end_last_line(&mut file);
        // The ledger is whole or not by now: only `had` tells.
        let _ = file.unlock();
        let had = had.with_context(failed)?;
        let book = Mutex::new(Book { file, written: 0 });
        Ok(Self { path: path.to_owned(), had, crash_after, book })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the lines of this run begin, in bytes.
    pub(crate) const fn had(&self) -> u64 {
        self.had
    }

    /// Adds one line and says at which byte it begins.
    ///
    /// Dropped, it writes the line all the same.
    ///
    /// # Errors
    /// The line is not there.
    pub(crate) async fn append(self: &Arc<Self>, delivery: &Delivery) -> io::Result<u64> {
        let mut line = serde_json::to_vec(delivery)?;
        line.push(b'\n');
        let ledger = Arc::clone(self);
        tokio::task::spawn_blocking(move || ledger.append_line(&line)).await?
    }

    fn append_line(&self, line: &[u8]) -> io::Result<u64> {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        // Another process may write to the same ledger.
        book.file.lock()?;
        let appended = append_whole(&mut book.file, line);
        // The line is there or not by now: only `appended` tells.
        let _ = book.file.unlock();
        let begins_at = appended?;
        book.written += 1;
        if let Some(lines) = self.crash_after
            && lines.get() == book.written
        {
            // The book stays locked: no line follows.
            complain(format_args!(
                "--crash-after {lines}: the process ends here, its last ledger line written, \
                 the outcome not stored"
            ));
            std::process::abort();
        }
        Ok(begins_at)
    }

    /// Sees to it that what was written is on the disk.
    ///
    /// # Errors
    /// It may not be.
    pub(crate) fn sync(&self) -> Result<()> {
        let book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        if book.written == 0 || !book.file.metadata().is_ok_and(|about| about.is_file()) {
            return Ok(());
        }
        let failed = || format!("cannot write the ledger {} to the disk", self.path.display());
        book.file.sync_all().with_context(failed)
    }
}

/// Writes the line; what a full disk took of it is taken back.
fn append_whole(file: &mut File, line: &[u8]) -> io::Result<u64> {
    let begins_at = file.metadata()?.len();
    let written = file.write_all(line);
    if written.is_err() {
        // A device has no length to set; the first error is the one to tell.
        let _ = file.set_len(begins_at);
    }
    written.map(|()| begins_at)
}

/// Ends the last line if a lost machine left it torn, so that the next one does not run into it.
/// Gives the length.
fn end_last_line(file: &mut File) -> io::Result<u64> {
    let about = file.metadata()?;
    if !about.is_file() || about.len() == 0 {
        return Ok(0);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    if last != *b"\n" {
        file.write_all(b"\n")?;
    }
    Ok(file.metadata()?.len())
}
