//! The proof: what the ledger must not tell.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use crate::story::{Fate, Story, Told};

/// Faults that are listed one by one.
const LISTED: usize = 20;

pub(crate) struct Proof {
    ledger: PathBuf,
    story: Story,
    faults: Vec<String>,
    /// How long after a run that was lost could not succeed any more the next one began, at the least.
    closest_us: Option<u64>,
}

impl Proof {
    /// Reads the ledger back and judges it.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn of(ledger: &Path) -> Result<Self> {
        let story = Story::read(ledger)?;
        let mut faults: Vec<_> =
            story.strange.iter().map(|line| format!("strange {line}")).collect();
        let mut closest_us = None;
        for (request, told) in &story.requests {
            let mut fault = |what: String| faults.push(format!("{request}: {what}"));
            let closest = look_at_renderings(&story, told, &mut fault);
            closest_us = closest_us.into_iter().chain(closest).min();
            look_at_effects(told, &mut fault);
        }
        Ok(Self { ledger: ledger.to_owned(), story, faults, closest_us })
    }

    pub(crate) fn holds(&self) -> bool {
        self.faults.is_empty()
    }

    pub(crate) const fn story(&self) -> &Story {
        &self.story
    }
}

/// Looks at each two renderings of a request. Gives how close the closest came, where the earlier one
/// had not ended by itself.
fn look_at_renderings(story: &Story, told: &Told, fault: &mut impl FnMut(String)) -> Option<u64> {
    let mut closest = None;
    for (nth, later) in told.renderings.iter().enumerate() {
        for earlier in &told.renderings[..nth] {
            if earlier.run == later.run {
                fault(format!("run {} was rendered twice", later.run));
            }
            let until = story.could_succeed_until(told, earlier);
            let (began, by, of) = (later.began_us, &later.worker, &earlier.worker);
            match began.checked_sub(until) {
                None if until == u64::MAX => {
                    fault(format!("{by} began, and the run of {of} had the report"));
                }
                None => fault(format!(
                    "{by} began {:.3} s before the run of {of} could not succeed any more",
                    seconds(until - began)
                )),
                Some(after) if story.fate(told, earlier) >= Fate::Killed => {
                    closest = closest.into_iter().chain([after]).min();
                }
                Some(_) => {}
            }
        }
    }
    closest
}

fn look_at_effects(told: &Told, fault: &mut impl FnMut(String)) {
    match *told.received {
        [run] if told.was_rendered(run) => {}
        [run] => fault(format!("its report is of run {run}, which was not rendered to its end")),
        [] => fault("it has no report".to_owned()),
        _ => fault("it has more than one report".to_owned()),
    }
    if told.mails != 1 {
        fault(format!("its e-mail was sent {} times", told.mails));
    }
}

fn seconds(us: u64) -> f64 {
    Duration::from_micros(us).as_secs_f64()
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ledger, story, faults, closest_us } = self;
        let all = || story.requests.values();
        let mut fates: BTreeMap<Fate, usize> = BTreeMap::new();
        for told in all() {
            let of = told.renderings.iter().map(|rendering| story.fate(told, rendering));
            of.for_each(|fate| *fates.entry(fate).or_default() += 1);
        }
        let renderings: usize = fates.values().sum();
        let fates: Vec<_> = fates.iter().map(|(fate, count)| format!("{count} {fate}")).collect();
        writeln!(f, "ledger {}: {} lines", ledger.display(), story.lines)?;
        writeln!(f, "{renderings} renderings: {}", fates.join(", "))?;
        for fault in faults.iter().take(LISTED) {
            writeln!(f, "! {fault}")?;
        }
        if faults.len() > LISTED {
            writeln!(f, "! and {} more", faults.len() - LISTED)?;
        }
        if !faults.is_empty() {
            return writeln!(f, "not proved: {} faults", faults.len());
        }
        if let Some(closest) = closest_us {
            let closest = seconds(*closest);
            writeln!(
                f,
                "the next rendering after one that was killed or lost began {closest:.3} s after that \
                 one's lease and hold were over, at the earliest"
            )?;
        }
        let mails: usize = all().map(|told| told.mails).sum();
        let asked: usize = all().map(|told| told.mail_answers.len()).sum();
        writeln!(
            f,
            "proved: no rendering began while an earlier run of its request could still succeed"
        )?;
        writeln!(
            f,
            "proved: {mails} e-mails, each sent once, by {asked} renderings that came to it"
        )?;
        writeln!(f, "proved: {} requests, each has its report", story.requests.len())
    }
}
