//! Running the program with a ledger of its own, and reading what it says.

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
pub(crate) fn reports(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reports"));
    command.args(args).env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

pub(crate) fn run(args: &[&str]) -> Said {
    reports(args).output().expect("it runs").into()
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.0.path().join("ledger.jsonl")
    }

    /// Runs it to its end, with this desk's ledger.
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        let ledger = self.ledger().display().to_string();
        run(&[&["--ledger", &ledger], args].concat())
    }

    /// Looks at a ledger with these lines.
    pub(crate) fn check(&self, lines: &[String]) -> Said {
        fs::write(self.ledger(), lines.join("\n")).expect("a ledger");
        self.check_again()
    }

    /// Looks at the ledger that is there.
    pub(crate) fn check_again(&self) -> Said {
        run(&["--check", &self.ledger().display().to_string()])
    }

    /// The ledger's lines of this kind. A line that is torn fails.
    pub(crate) fn noted(&self, what: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.ledger()).expect("a ledger");
        let entries = text.lines().map(|line| serde_json::from_str(line).expect("a whole line"));
        entries.filter(|entry: &Value| entry["what"] == what).collect()
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
    /// The lines that say that something does not hold.
    pub(crate) fn faults(&self) -> Vec<&str> {
        self.stdout.lines().filter_map(|line| line.strip_prefix("! ")).collect()
    }

    /// How often the table has this word.
    pub(crate) fn count(&self, word: &str) -> usize {
        let rows = self.stdout.lines().take_while(|line| !line.starts_with("all "));
        let words = rows.flat_map(|row| row.split([' ', ',']));
        words.filter(|one| *one == word).count()
    }

    /// The last row of the table: asked, new, replays, refused.
    pub(crate) fn totals(&self) -> [usize; 4] {
        let row = self.stdout.lines().find_map(|line| line.strip_prefix("all "));
        let row = row.unwrap_or_else(|| panic!("no table: {}", self.stdout));
        let counts = row.split_whitespace().map(|count| count.parse().expect("a count"));
        counts.collect::<Vec<_>>().try_into().expect("four of them")
    }

    /// Everything is well: status 0, nothing on standard error, the three proofs.
    pub(crate) fn is_well(&self) {
        assert_eq!((self.code, &*self.stderr), (Some(0), ""), "{}", self.stdout);
        assert_eq!(self.stdout.matches("\nproved: ").count(), 3, "{}", self.stdout);
        assert_eq!(self.faults(), [""; 0]);
    }

    /// It ended with this status, one line on standard error and nothing else.
    pub(crate) fn failed(&self, code: i32, line: &str) {
        assert_eq!((self.code, &*self.stdout), (Some(code), ""), "{}", self.stderr);
        assert!(self.stderr.starts_with(&format!("reports: {line}")), "{}", self.stderr);
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
    }
}
