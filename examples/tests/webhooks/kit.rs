//! Running the program in a directory of its own, and reading what it says.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longer than any step takes on a busy machine; only a failure waits for so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A directory with a ledger, gone afterwards.
pub(crate) struct Desk {
    dir: TempDir,
}

/// What one run said.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.path("ledger.jsonl")
    }

    /// A file of this name with this content.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).expect("a file");
        path
    }

    /// The program with this desk's ledger and these arguments, nothing piped yet.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_webhooks"));
        command
            .arg("--ledger")
            .arg(self.ledger())
            .args(args)
            .current_dir(self.dir.path())
            .env_remove("RUST_LOG");
        command
    }

    /// Runs it to its end, with nothing on standard input.
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        self.command(args).stdin(Stdio::null()).output().expect("it runs").into()
    }

    /// Runs it to its end on these deliveries.
    pub(crate) fn feed(&self, args: &[&str], deliveries: impl AsRef<[u8]>) -> Said {
        let mut child = self.start(&[args, &["-"]].concat());
        let mut stdin = child.stdin.take().expect("a pipe");
        let deliveries = deliveries.as_ref().to_owned();
        let writer = std::thread::spawn(move || stdin.write_all(&deliveries));
        let said = child.wait_with_output().expect("it ends").into();
        writer.join().expect("it was written").expect("it was read");
        said
    }

    /// Starts it with all three pipes.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    }

    /// How many lines each event has in the ledger. A line that is torn fails.
    pub(crate) fn booked(&self) -> BTreeMap<String, usize> {
        let mut booked = BTreeMap::new();
        for line in fs::read_to_string(self.ledger()).expect("a ledger").split_terminator('\n') {
            let entry: serde_json::Value = serde_json::from_str(line).expect("a whole line");
            let id = entry["id"].as_str().expect("an id").to_owned();
            *booked.entry(id).or_default() += 1;
        }
        booked
    }

    /// Waits until the ledger has so many lines.
    pub(crate) fn wait_for_lines(&self, lines: usize) {
        wait_until(|| {
            let text = fs::read_to_string(self.ledger()).unwrap_or_default();
            text.matches('\n').count() >= lines
        });
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
    /// A count of the table.
    pub(crate) fn count(&self, row: &str) -> u64 {
        let rest = self.stdout.lines().find_map(|line| line.trim_start().strip_prefix(row));
        let count = rest.and_then(|rest| rest.split_whitespace().next());
        count
            .and_then(|count| count.parse().ok())
            .unwrap_or_else(|| panic!("no row {row}: {}", self.stdout))
    }

    /// The last line of standard output.
    pub(crate) fn verdict(&self) -> &str {
        self.stdout.lines().last().unwrap_or_default()
    }

    /// Everything is well: status 0, nothing on standard error.
    pub(crate) fn is_well(&self) {
        assert_eq!((self.code, &*self.stderr), (Some(0), ""), "{}", self.stdout);
    }

    /// It ended with this status and exactly this one line on standard error.
    pub(crate) fn failed(&self, code: i32, line: &str) {
        assert_eq!(
            (self.code, &*self.stderr),
            (Some(code), &*format!("webhooks: {line}\n")),
            "{}",
            self.stdout
        );
    }
}

/// What the system says of an error, in its own words.
pub(crate) fn os_error(number: i32) -> String {
    std::io::Error::from_raw_os_error(number).to_string()
}

pub(crate) fn wait_until(mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "it never came about");
        sleep(Duration::from_millis(5));
    }
}

pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}
