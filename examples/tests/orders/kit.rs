//! Running the program with a ledger of its own, and reading what it says.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A directory for a ledger, gone afterwards.
pub(crate) struct Desk(TempDir);

/// What one run said.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The program with these arguments.
pub(crate) fn orders(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orders"));
    command.args(args).env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

pub(crate) fn run(args: &[&str]) -> Said {
    orders(args).output().expect("it runs").into()
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.0.path().join("ledger.jsonl")
    }

    /// The program with these arguments and this desk's ledger.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = orders(args);
        command.arg("--ledger").arg(self.ledger());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        self.command(args).output().expect("it runs").into()
    }

    /// How often each order was billed. A line that is torn fails.
    pub(crate) fn bills(&self) -> HashMap<String, usize> {
        let text = fs::read_to_string(self.ledger()).expect("a ledger");
        let mut bills = HashMap::new();
        for line in text.lines() {
            let bill: Value = serde_json::from_str(line).expect("a whole line");
            *bills.entry(bill["order"].as_str().expect("an id").to_owned()).or_default() += 1;
        }
        bills
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}

impl Said {
    /// How many of these it says there were in the end: the number before the words.
    pub(crate) fn count(&self, words: &str) -> u64 {
        let end = self.stdout.rsplit_once("\nledger ").map(|(_, end)| end).expect("an end");
        let before = end.split_once(words).map(|(before, _)| before.trim_end());
        let number = before.and_then(|before| before.rsplit(|c: char| !c.is_ascii_digit()).next());
        let number = number.and_then(|number| number.parse().ok());
        number.unwrap_or_else(|| panic!("no number of {words}: {}", self.stdout))
    }

    /// How many lines tell of a kill.
    pub(crate) fn kills(&self) -> usize {
        self.stdout.matches(" s  killed c").count()
    }

    /// Everything is well: status 0, nothing on standard error, the proof.
    pub(crate) fn is_well(&self) {
        assert_eq!((self.code, &*self.stderr), (Some(0), ""), "{}", self.stdout);
        let proved = "\nproved: every order was billed once, none is pending, none is dead\n";
        assert!(self.stdout.ends_with(proved), "{}", self.stdout);
        assert!(!self.stdout.contains("\n! "), "{}", self.stdout);
    }

    /// It ended with this status, one line on standard error and nothing else.
    pub(crate) fn failed(&self, code: i32, line: &str) {
        assert_eq!((self.code, &*self.stdout), (Some(code), ""), "{}", self.stderr);
        assert!(self.stderr.starts_with(&format!("orders: {line}")), "{}", self.stderr);
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
    }
}
