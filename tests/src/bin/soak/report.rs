//! What is told: how far it is, and in the end what happened and what is wrong.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use idem_tests::properties::{Property, UNSEEN};
use idem_tests::soak::check::{Violation, about};
use idem_tests::soak::disturbances::Whom;
use idem_tests::soak::history::{Answer, Disturbance, Line, Micros, Source, What};
use idem_tests::soak::story::{CallStory, Story};

/// How many violations are shown with all that happened to their keys.
const SHOWN: usize = 5;

/// How far it is.
#[derive(Debug)]
pub(crate) struct Progress {
    place: PathBuf,
    /// How much of each file has been read.
    read: BTreeMap<PathBuf, u64>,
    counts: BTreeMap<&'static str, usize>,
}

impl Progress {
    pub(crate) fn of(place: PathBuf) -> Self {
        Self { place, read: BTreeMap::new(), counts: BTreeMap::new() }
    }

    /// One line.
    pub(crate) fn tell(&mut self, elapsed: Duration, of: Duration) {
        self.look();
        let count = |what| self.counts.get(what).copied().unwrap_or(0);
        println!(
            "{:>5} s of {:.0} s: {} calls, {} actions, {} times something went wrong",
            elapsed.as_secs(),
            of.as_secs_f64(),
            count("{\"Called\""),
            count("{\"Began\""),
            count("{\"Disturbed\""),
        );
    }

    /// Counts what was written since the last time.
    fn look(&mut self) {
        let Ok(entries) = std::fs::read_dir(&self.place) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let from = self.read.entry(path.clone()).or_default();
            let mut text = String::new();
            let read = File::open(&path).and_then(|mut file| {
                file.seek(SeekFrom::Start(*from))?;
                file.read_to_string(&mut text)
            });
            *from += read.unwrap_or(0) as u64;
            for what in ["{\"Called\"", "{\"Began\"", "{\"Disturbed\""] {
                *self.counts.entry(what).or_default() += text.matches(what).count();
            }
        }
    }
}

/// What happened, as a table, and what is wrong.
pub(crate) fn report(seed: &str, lines: &[Line], story: &Story, violations: &[Violation]) {
    for violation in violations.iter().take(SHOWN) {
        println!("\nviolation: {violation:?}\nseed {seed}; all that happened to this key:");
        let start = lines.first().map_or(0, |line| line.at);
        for line in about(lines, &violation.key) {
            println!("{:>9.3} {:?}", ms(line.at - start), line.what);
        }
    }
    println!();
    for (what, count) in table(lines, story) {
        println!("{what:<52} {count:>8}");
    }
    println!("{:<52} {:>8}", "violations", violations.len());
    for (what, count) in by_property(violations) {
        println!("{:<52} {count:>8}", format!("violations: {what}"));
    }
    for violation in violations {
        println!(
            "{:?} {}/{}: {}",
            violation.rule, violation.key.0, violation.key.1, violation.what
        );
    }
    println!("seed {seed}");
}

/// How often each property of the model was broken, as far as a history shows.
fn by_property(violations: &[Violation]) -> Vec<(&'static str, usize)> {
    let count = |broken: &dyn Fn(&[Property]) -> bool| {
        violations.iter().filter(|violation| broken(violation.rule.properties())).count()
    };
    let seen = |property: &Property| !UNSEEN.iter().any(|(unseen, _)| unseen == property);
    let properties = Property::ALL.into_iter().filter(seen);
    let mut counts: Vec<_> = properties
        .map(|property| (property.name(), count(&|broken| broken.contains(&property))))
        .collect();
    counts.push(("what the model leaves out", count(&|broken| broken.is_empty())));
    counts
}

fn ms(time: Micros) -> f64 {
    time as f64 / 1_000.0
}

fn table(lines: &[Line], story: &Story) -> BTreeMap<String, usize> {
    let mut table = BTreeMap::new();
    let mut count = |what: String| *table.entry(what).or_insert(0) += 1;
    for call in story.keys.values().flat_map(|key| &key.calls) {
        count("calls".to_owned());
        if call.run.is_some() {
            count("calls: actions".to_owned());
        }
        count(how_it_ended(call));
    }
    for line in lines {
        if let What::Disturbed { by, .. } = &line.what {
            count(format!("disturbances: {}", name(*by)));
        }
    }
    let beats: Vec<_> = lines.iter().map(|line| line.at).collect();
    if let (Some(first), Some(last)) = (beats.first(), beats.last()) {
        let seconds = || (*first..*last).step_by(1_000_000);
        let quiet = |at: &Micros| {
            let from = at.saturating_sub(1_000_000);
            story.disturbances.are_quiet(Whom::LeasesOf(0), from, *at, 200_000)
        };
        table.insert("seconds".to_owned(), seconds().count());
        table.insert("seconds: quiet for process 0".to_owned(), seconds().filter(quiet).count());
    }
    table
}

fn how_it_ended(call: &CallStory) -> String {
    match &call.answered {
        Some((_, Answer::Given(given))) => {
            let source = match given.source {
                Source::Fresh if given.error => "an error of its own",
                Source::Fresh if !given.protected => "fresh, unprotected",
                Source::Fresh if given.lapsed => "fresh, lapsed",
                Source::Fresh if !given.stored => "fresh, not stored",
                Source::Fresh => "fresh",
                Source::Replayed => "replayed",
                Source::Waited => "waited",
                Source::Reconciled => "reconciled",
            };
            format!("answers: {source}")
        }
        Some((_, Answer::Refused(kind))) => format!("refusals: {kind}"),
        Some((_, Answer::Panicked)) => "answers: panicked".to_owned(),
        None if call.abandoned.is_some() => "answers: dropped by the caller".to_owned(),
        None => "answers: killed".to_owned(),
    }
}

fn name(by: Disturbance) -> &'static str {
    match by {
        Disturbance::Killed { .. } => "processes killed",
        Disturbance::Paused(_) => "processes paused",
        Disturbance::Way(_) => "ways cut, slow, dead",
        Disturbance::Stalled(_) => "processes without a processor",
        Disturbance::Blocked(_) => "threads blocked",
        Disturbance::ServerRestarted => "server restarted",
        Disturbance::ServerEmptied => "server emptied",
        Disturbance::ServerPaused => "server paused",
        Disturbance::ServerForgot => "server forgot scripts or clients",
        Disturbance::ServerStalled => "server without a processor",
    }
}
