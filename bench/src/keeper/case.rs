//! A hold, and its figures.

use std::process::Stdio;

use anyhow::{Context, ensure};

use super::hold::{Held, Hold, Round};
use crate::figure::{Figure, Goal};
use crate::role::Role;
use crate::samples::Samples;

/// A hold that is over.
pub(super) struct Case {
    hold: Hold,
    held: Held,
}

impl Case {
    pub(super) fn run(hold: Hold) -> anyhow::Result<Self> {
        let mut command = Role::Holder(hold.clone()).command()?;
        let output = command.stderr(Stdio::inherit()).output().context("holding leases")?;
        ensure!(output.status.success(), "the process that holds leases failed: {}", output.status);
        let held = serde_json::from_slice(&output.stdout).context("reading how the hold went")?;
        Ok(Self { hold, held })
    }

    pub(super) fn lost(&self) -> Figure {
        let unanswered = self.held.unanswered;
        Figure {
            values: Samples::exact(self.held.lost as f64),
            unit: "leases",
            goal: Some(Goal::Exactly(0.0)),
            limits: format!("{unanswered} renewals were not answered in time and sent again"),
            ..self.figure("lost or at risk")
        }
    }

    pub(super) fn keeper(&self, most: impl Into<Option<f64>>) -> Figure {
        let rate = self.median(|round| round.renewals_a_second);
        let percent = self.median(|round| round.keeper_percent);
        Figure {
            values: self.each(|round| round.keeper_percent),
            unit: "% of a core",
            goal: most.into().map(Goal::AtMost),
            limits: format!("{rate:.0} renewals a second, {:.1} µs each", percent * 1e4 / rate),
            ..self.figure("the keeper's thread")
        }
    }

    /// Against a tenth of the interval.
    pub(super) fn lateness(&self) -> Figure {
        let latest = self.each(|round| round.late_ms[1]).max();
        let least_left = self.each(|round| round.least_left_ms).min();
        Figure {
            values: self.each(|round| round.late_ms[0]),
            unit: "ms",
            goal: Some(Goal::AtMost(self.hold.lease.as_secs_f64() * 1e3 / 4.0 / 10.0)),
            limits: format!(
                "the latest {latest:.1} ms; of the leases looked at in the store the one nearest \
                 its end had {least_left:.0} ms left"
            ),
            ..self.figure("renewals are late, 99th")
        }
    }

    /// What the system gives this process for each lease: the caller's task and future as well, and
    /// what the allocator rounds up.
    pub(super) fn memory(&self) -> Figure {
        let [held, most] = self.held.memory;
        let store = if self.hold.url.is_some() { "" } else { ", and the record" };
        Figure {
            values: Samples::exact(held.round()),
            unit: "bytes",
            goal: None,
            limits: format!(
                "the caller's task and future as well{store}; at most {most:.0} while renewing"
            ),
            ..self.figure("resident memory a lease")
        }
    }

    fn figure(&self, what: &str) -> Figure {
        let Hold { url, leases, lease, rounds, round } = &self.hold;
        let store = if url.is_some() { "Redis" } else { "memory" };
        let case = format!(
            "{},000 leases of {} s held for {} s, {store}: {what}",
            leases / 1_000,
            lease.as_secs(),
            round.as_secs_f64() * *rounds as f64,
        );
        let nothing = Samples::exact(0.0);
        Figure { case, values: nothing, unit: "", goal: None, limits: String::new() }
    }

    fn each(&self, value: impl Fn(&Round) -> f64) -> Samples {
        Samples::of(self.held.rounds.iter().map(value))
    }

    fn median(&self, value: impl Fn(&Round) -> f64) -> f64 {
        self.each(value).median()
    }
}
