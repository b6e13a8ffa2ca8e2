//! A process of a test's own, told things and telling things in lines of JSON; gone with the test.

use std::fmt::Debug;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longer than anything takes that a test waits for; only a failure waits for so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Kills the program when its standard input ends: with the `Program`, and also with a test process
/// that is killed or interrupted, even if the program stands still just then.
const GUARD: &str = "trap '' INT HUP TERM; cat >/dev/null; kill -KILL \"$0\" 2>/dev/null";

/// How long a program has to end by itself when it is dropped.
const GRACE: Duration = Duration::from_secs(2);

/// A running program that tells `T`s. Dropping it ends it: its input ends, and what does not end with
/// that is killed.
#[derive(Debug)]
pub struct Program<T> {
    child: Child,
    /// Ended before the program is waited for: then its number may become another's.
    guard: Child,
    is_paused: bool,
    asks: Option<ChildStdin>,
    lines: Receiver<Result<T, String>>,
    /// Told, and not yet heard by anybody.
    unheard: Vec<T>,
}

impl<T: DeserializeOwned + Debug + Send + 'static> Program<T> {
    /// Starts it.
    ///
    /// # Panics
    /// If that fails.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let guard = Command::new("sh")
            .args(["-c", GUARD, &child.id().to_string()])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("no sh: {error}"));
        let asks = child.stdin.take();
        let (sender, lines) = channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || read(stdout, &sender));
        }
        Self { child, guard, is_paused: false, asks, lines, unheard: Vec::new() }
    }

    /// Tells it something.
    ///
    /// # Panics
    /// If it has ended.
    pub fn ask(&mut self, ask: &impl Serialize) {
        let mut line = serde_json::to_vec(ask).expect("what a program is asked can be written");
        line.push(b'\n');
        let sent = self.asks.as_mut().map(|asks| asks.write_all(&line).and_then(|()| asks.flush()));
        assert!(matches!(sent, Some(Ok(()))), "the program has ended: {:?}", self.child.try_wait());
    }

    /// Waits until it tells what `pick` takes, and hears that. The rest stays for others to hear.
    ///
    /// # Panics
    /// If it ends, or a minute does; `what` was waited for.
    pub fn hear<U>(&mut self, what: &str, mut pick: impl FnMut(&T) -> Option<U>) -> U {
        let mut looked_at = 0;
        let until = Instant::now() + PATIENCE;
        loop {
            while looked_at < self.unheard.len() {
                if let Some(picked) = pick(&self.unheard[looked_at]) {
                    self.unheard.remove(looked_at);
                    return picked;
                }
                looked_at += 1;
            }
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => self.take(line),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("not within a minute: {what}; told: {:?}", self.unheard)
                }
                Err(RecvTimeoutError::Disconnected) => panic!(
                    "the program has ended ({:?}) before: {what}; told: {:?}",
                    self.child.try_wait(),
                    self.unheard
                ),
            }
        }
    }

    /// Whether what it has told, and nobody has heard yet, has something that `is` takes.
    pub fn has_told(&mut self, is: impl FnMut(&T) -> bool) -> bool {
        while let Ok(line) = self.lines.try_recv() {
            self.take(line);
        }
        self.unheard.iter().any(is)
    }

    fn take(&mut self, line: Result<T, String>) {
        match line {
            Ok(told) => self.unheard.push(told),
            Err(line) => panic!("the program tells something unknown: {line}"),
        }
    }

    /// Stops it where it is, as SIGSTOP does.
    pub fn pause(&mut self) {
        self.signal("-STOP");
        self.is_paused = true;
    }

    /// Lets a stopped program go on.
    pub fn resume(&mut self) {
        self.signal("-CONT");
        self.is_paused = false;
    }

    /// Kills it, as SIGKILL does, and returns when it is gone.
    ///
    /// # Panics
    /// If it cannot be killed.
    pub fn kill(&mut self) {
        let killed = self.end();
        assert!(killed.is_ok(), "{killed:?}");
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal} {id}");
    }
}

impl<T> Program<T> {
    fn end(&mut self) -> io::Result<()> {
        self.leave_unguarded()?;
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    fn leave_unguarded(&mut self) -> io::Result<()> {
        self.guard.kill()?;
        self.guard.wait().map(drop)
    }
}

impl<T> Drop for Program<T> {
    fn drop(&mut self) {
        self.asks = None;
        let _ = self.leave_unguarded();
        let until = Instant::now() + GRACE;
        while !self.is_paused && matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until
        {
            thread::sleep(Duration::from_millis(2));
        }
        let _ = self.end();
    }
}

fn read<T: DeserializeOwned>(stdout: ChildStdout, lines: &Sender<Result<T, String>>) {
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        let told = serde_json::from_str(&line).map_err(|error| format!("{line}: {error}"));
        if lines.send(told).is_err() {
            return;
        }
    }
}
