//! What the ledger tells of each request.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, bail};
use idem_runtime::RunId;

use crate::ledger::{Entry, Sign, What};

/// A ledger, read back.
pub(crate) struct Story {
    pub(crate) lines: usize,
    pub(crate) requests: BTreeMap<String, Told>,
    /// Lines that are none, and lines of requests that nobody made.
    pub(crate) strange: Vec<String>,
    hold_us: u64,
    killed: HashSet<String>,
}

/// What is told of a request.
#[derive(Default)]
pub(crate) struct Told {
    /// In the order in which they began.
    pub(crate) renderings: Vec<Rendering>,
    pub(crate) mails: usize,
    /// How the sending of it was answered.
    pub(crate) mail_answers: Vec<String>,
    /// Whose report its client has.
    pub(crate) received: Vec<RunId>,
    cancelled: Vec<(RunId, u64)>,
}

/// One time that a request was rendered.
pub(crate) struct Rendering {
    pub(crate) run: RunId,
    pub(crate) worker: String,
    pub(crate) began_us: u64,
    is_done: bool,
    failed_us: Option<u64>,
    /// The last moment of which its worker has said that it has its lease.
    held_until_us: u64,
}

/// How a rendering ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    Done,
    Failed,
    Cancelled,
    Killed,
    Lost,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Killed => "killed",
            Self::Lost => "lost",
        })
    }
}

impl Story {
    /// # Errors
    /// It cannot be read, or is no ledger of this program.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let failed = || format!("cannot read the ledger {}", path.display());
        let mut lines = BufReader::new(File::open(path).with_context(failed)?).lines();
        let first = lines.next().transpose().with_context(failed)?.unwrap_or_default();
        let Ok(Entry { what: What::Opened { hold_us, requests }, .. }) =
            serde_json::from_str(&first)
        else {
            bail!("{} is no ledger of this program: its first line is another", path.display());
        };
        let requests = requests.into_iter().map(|id| (id, Told::default())).collect();
        let (strange, killed) = (Vec::new(), HashSet::new());
        let mut story = Self { lines: 1, requests, strange, hold_us, killed };
        for line in lines {
            let line = line.with_context(failed)?;
            story.lines += 1;
            let known = serde_json::from_str(&line).is_ok_and(|entry| story.take(entry));
            if !known {
                story.strange.push(format!("line {}: {line}", story.lines));
            }
        }
        story.requests.values_mut().for_each(|of| of.renderings.sort_by_key(|one| one.began_us));
        Ok(story)
    }

    /// Adds a line; `false`: it does not belong here.
    fn take(&mut self, entry: Entry) -> bool {
        let Entry { at_us, what } = entry;
        let requests = &mut self.requests;
        match what {
            What::Opened { .. } => false,
            What::Killed { worker } => self.killed.insert(worker),
            What::Begun(sign) => told(requests, &sign.request, |of| of.begin(at_us, &sign)),
            What::Page(sign) => told(requests, &sign.request, |of| of.hear(at_us, &sign, |_| {})),
            What::Done(sign) => told(requests, &sign.request, |of| {
                of.hear(at_us, &sign, |rendering| rendering.is_done = true)
            }),
            What::Failed(sign) => told(requests, &sign.request, |of| {
                of.hear(at_us, &sign, |rendering| rendering.failed_us = Some(at_us))
            }),
            What::Mail { request } => told(requests, &request, |of| {
                of.mails += 1;
                true
            }),
            What::MailAnswered { request, run: _, answer } => told(requests, &request, |of| {
                of.mail_answers.push(answer);
                true
            }),
            What::Cancelled { request, run } => told(requests, &request, |of| {
                of.cancelled.push((run, at_us));
                true
            }),
            What::Received { request, run } => told(requests, &request, |of| {
                of.received.push(run);
                true
            }),
        }
    }

    /// Until when, as far as the ledger says, the run of a rendering could still succeed. One that has,
    /// and whose report was received, could for ever.
    pub(crate) fn could_succeed_until(&self, of: &Told, rendering: &Rendering) -> u64 {
        if of.received.contains(&rendering.run) {
            return u64::MAX;
        }
        let lost = rendering.held_until_us.saturating_add(self.hold_us);
        let cancelled = of.cancelled.iter().find(|(run, _)| *run == rendering.run);
        let ended = [rendering.failed_us, cancelled.map(|(_, at)| *at)];
        ended.into_iter().flatten().fold(lost, u64::min)
    }

    pub(crate) fn fate(&self, of: &Told, rendering: &Rendering) -> Fate {
        match rendering {
            _ if of.received.contains(&rendering.run) => Fate::Done,
            _ if of.cancelled.iter().any(|(run, _)| *run == rendering.run) => Fate::Cancelled,
            Rendering { failed_us: Some(_), .. } => Fate::Failed,
            _ if self.killed.contains(&rendering.worker) => Fate::Killed,
            _ => Fate::Lost,
        }
    }
}

fn told(
    requests: &mut BTreeMap<String, Told>,
    request: &str,
    takes: impl FnOnce(&mut Told) -> bool,
) -> bool {
    requests.get_mut(request).is_some_and(takes)
}

impl Told {
    /// Whether the run whose report its client has was rendered to its end.
    pub(crate) fn was_rendered(&self, run: RunId) -> bool {
        self.renderings.iter().any(|rendering| rendering.run == run && rendering.is_done)
    }

    fn begin(&mut self, at_us: u64, sign: &Sign) -> bool {
        let Sign { request: _, run, worker, holds_us } = sign;
        self.renderings.push(Rendering {
            run: *run,
            worker: worker.clone(),
            began_us: at_us,
            is_done: false,
            failed_us: None,
            held_until_us: at_us + holds_us,
        });
        true
    }

    fn hear(&mut self, at_us: u64, sign: &Sign, also: impl FnOnce(&mut Rendering)) -> bool {
        let is_it = |one: &&mut Rendering| one.run == sign.run && one.worker == sign.worker;
        let Some(rendering) = self.renderings.iter_mut().find(is_it) else { return false };
        // Whoever has no lease any more claims nothing.
        if sign.holds_us > 0 {
            rendering.held_until_us = rendering.held_until_us.max(at_us + sign.holds_us);
        }
        also(rendering);
        true
    }
}
