//! A process of the soak that ends with the soak, however that ends, and also if it stands still.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Kills a process when the standard input ends without a word.
const WATCH: &str = r#"read -r _ || kill -KILL "$0" 2>/dev/null"#;

/// A running process. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Guarded {
    process: Child,
    watcher: Child,
    /// Ends with the soak, whatever that dies of.
    word: Option<ChildStdin>,
}

impl Guarded {
    /// Starts it in a group of its own, so that what a terminal sends to the soak does not reach it.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let process = command.stdin(Stdio::null()).process_group(0).spawn()?;
        let mut watcher = Command::new("sh")
            .args(["-c", WATCH, &process.id().to_string()])
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let word = watcher.stdin.take();
        Ok(Self { process, watcher, word })
    }

    /// Kills it, as SIGKILL does, and returns when it is gone.
    pub(crate) fn kill(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        // Only now: until then somebody has to see to it.
        self.dismiss()
    }

    /// The watcher has nothing to kill any more: the number may be another's by now.
    fn dismiss(&mut self) -> io::Result<()> {
        if let Some(mut word) = self.word.take() {
            io::Write::write_all(&mut word, b"\n")?;
            drop(word);
            self.watcher.wait()?;
        }
        Ok(())
    }

    /// Whether it has ended by itself, and how.
    pub(crate) fn has_ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let ended = self.process.try_wait()?;
        if ended.is_some() {
            self.dismiss()?;
        }
        Ok(ended)
    }

    /// Waits until it ends by itself; `None`: not in this time.
    pub(crate) fn wait(mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let start = Instant::now();
        loop {
            let ended = self.has_ended()?;
            if ended.is_some() || start.elapsed() > patience {
                return Ok(ended);
            }
            sleep(Duration::from_millis(20));
        }
    }

    /// Stops it where it is.
    pub(crate) fn pause(&self) -> io::Result<()> {
        self.signal("-STOP")
    }

    /// Lets it go on.
    pub(crate) fn resume(&self) -> io::Result<()> {
        self.signal("-CONT")
    }

    fn signal(&self, signal: &str) -> io::Result<()> {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status()?;
        if sent.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("kill {signal}: {sent}")))
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
