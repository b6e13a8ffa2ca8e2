//! The proof, from the disk: how many lines each event has in the ledger.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::BufReader;

use anyhow::{Context, Result, bail};

use crate::delivery::Delivery;
use crate::ledger::Ledger;
use crate::lines::{Line, Lines};

/// A ledger line may be longer than the line it came from: numbers are written out.
const LONGEST: usize = 16 << 20;
/// Offenders that are listed one by one.
const LISTED: usize = 20;

/// What the ledger says, all of it: this run's lines and older ones.
///
/// It holds one entry for each event, as the memory backend does.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    ledger: String,
    events: BTreeMap<Box<str>, Lined>,
    before: u64,
    since: u64,
    damaged: Listed,
    /// Lines that this run wrote, as it believes.
    written: u64,
    /// Whether an earlier run's events are known to this one.
    remembers: bool,
}

/// One event's lines.
#[derive(Clone, Copy, Debug, Default)]
struct Lined {
    before: u64,
    since: u64,
}

impl Lined {
    const fn total(self) -> u64 {
        self.before + self.since
    }
}

impl Proof {
    /// Reads the ledger back.
    ///
    /// # Errors
    /// It cannot be read, or is no file that keeps what is written to it.
    pub(crate) fn read(ledger: &Ledger, written: u64, remembers: bool) -> Result<Self> {
        let path = ledger.path().display().to_string();
        let failed = || format!("cannot read the ledger {path} back");
        let file = File::open(ledger.path()).with_context(failed)?;
        if !file.metadata().with_context(failed)?.is_file() {
            bail!("cannot read the ledger {path} back: it is not a regular file");
        }
        let mut proof = Self { ledger: path.clone(), written, remembers, ..Self::default() };
        for line in Lines::new(BufReader::new(file), LONGEST) {
            proof.count(&line.with_context(failed)?, ledger.had());
        }
        Ok(proof)
    }

    fn count(&mut self, line: &Line, had: u64) {
        let is_old = line.starts_at < had;
        *if is_old { &mut self.before } else { &mut self.since } += 1;
        let parsed = match &line.text {
            Ok(text) => Delivery::parse(text),
            Err(bad) => Err(bad.to_string()),
        };
        match parsed {
            Ok(delivery) => {
                let lined = self.events.entry(delivery.id.into()).or_default();
                *if is_old { &mut lined.before } else { &mut lined.since } += 1;
            }
            Err(why) => self.damaged.push(|| format!("line {}: {why}", line.number)),
        }
    }

    /// No event twice, nothing damaged, nothing missing.
    pub(crate) fn holds(&self) -> bool {
        self.damaged.count == 0 && self.missing() == 0 && self.repeated().next().is_none()
    }

    fn missing(&self) -> u64 {
        self.written.saturating_sub(self.since)
    }

    fn repeated(&self) -> impl Iterator<Item = (&str, Lined)> {
        self.events.iter().filter(|(_, lined)| lined.total() > 1).map(|(id, lined)| (&**id, *lined))
    }

    /// Why events are there more than once: that depends on when their lines came.
    fn reasons(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of =
            |test: fn(&Lined) -> bool| self.repeated().filter(|(_, lined)| test(lined)).count();
        let (again, older, now) = (
            of(|lined| lined.before > 0 && lined.since > 0),
            of(|lined| lined.before > 1),
            of(|lined| lined.since > 1),
        );
        if again > 0 && self.remembers {
            writeln!(
                f,
                "{again} of them had a line before this run began: their process ended between the \
                 ledger line and the stored outcome, where nobody can know whether to run again \
                 (or their outcome has expired)."
            )?;
        } else if again > 0 {
            writeln!(
                f,
                "{again} of them had a line before this run began: the memory backend forgets with \
                 its process, so what an earlier run handled has run again. For a clean count give \
                 --ledger a new path."
            )?;
        }
        if older > 0 {
            writeln!(f, "{older} of them had more than one line before this run began.")?;
        }
        if now > 0 {
            writeln!(
                f,
                "{now} of them got more than one line since this run began. Unless another process \
                 writes to this ledger, that is a defect: please report it."
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (events, lines) = (self.events.len(), self.before + self.since);
        writeln!(
            f,
            "ledger {}: {} lines before this run, {} since",
            self.ledger, self.before, self.since
        )?;
        if self.missing() > 0 {
            let (written, since) = (self.written, self.since);
            writeln!(
                f,
                "{written} lines were written, {since} are there: the ledger has lost lines"
            )?;
        }
        self.damaged.write(f, "damaged ledger lines")?;
        let mut repeated = Listed::default();
        for (id, lined) in self.repeated() {
            repeated.push(|| format!("{}: {} lines", id.escape_debug(), lined.total()));
        }
        if repeated.count == 0 {
            let proven = if self.holds() {
                "no event twice"
            } else {
                "no event twice among the lines that are whole"
            };
            return writeln!(f, "{events} events, {lines} ledger lines, {proven}");
        }
        writeln!(f, "{events} events, {lines} ledger lines")?;
        repeated.write(f, "events with more than one ledger line")?;
        self.reasons(f)
    }
}

/// How many there are, and the first few.
#[derive(Debug, Default)]
struct Listed {
    count: usize,
    first: Vec<String>,
}

impl Listed {
    fn push(&mut self, item: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < LISTED {
            self.first.push(item());
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, title: &str) -> fmt::Result {
        if self.count == 0 {
            return Ok(());
        }
        writeln!(f, "{} {title}:", self.count)?;
        for item in &self.first {
            writeln!(f, "  {item}")?;
        }
        let more = self.count - self.first.len();
        if more > 0 { writeln!(f, "  and {more} more") } else { Ok(()) }
    }
}
