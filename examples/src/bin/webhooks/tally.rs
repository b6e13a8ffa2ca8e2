//! What became of the deliveries, counted.

use std::collections::BTreeMap;
use std::fmt;

use idem_runtime::{ErrorKind, Observed, Source};

use crate::handler::{Booked, HandleError};

/// What became of one delivery.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    Handled,
    /// Answered from the stored outcome.
    Replayed,
    /// Answered by a delivery of the same event that was under way.
    Waited,
    Refused(ErrorKind),
    FailedForNow,
    FailedForGood,
}

/// How many deliveries had which fate.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) handled: u64,
    pub(crate) invalid: u64,
    replayed: u64,
    waited: u64,
    refused: BTreeMap<&'static str, u64>,
    failed_for_now: u64,
    failed_for_good: u64,
}

impl Fate {
    /// The handler's answer alone does not tell; the facts of the call do.
    pub(crate) fn of(observed: &Observed<Result<Booked, HandleError>>) -> Self {
        match (&observed.result, observed.facts.map(|facts| facts.source)) {
            (Err(HandleError::Refused(refusal)), _) => Self::Refused(refusal.kind()),
            (_, Some(Source::Replayed)) => Self::Replayed,
            (_, Some(Source::Waited)) => Self::Waited,
            (Ok(_), _) => Self::Handled,
            (Err(error), _) if error.is_permanent() => Self::FailedForGood,
            (Err(_), _) => Self::FailedForNow,
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Handled => "handled",
            Self::Replayed => "replayed",
            Self::Waited => "waited",
            Self::Refused(_) => "refused",
            Self::FailedForNow => "failed for now",
            Self::FailedForGood => "failed for good",
        })
    }
}

impl Tally {
    pub(crate) fn count(&mut self, fate: Fate) {
        *match fate {
            Fate::Handled => &mut self.handled,
            Fate::Replayed => &mut self.replayed,
            Fate::Waited => &mut self.waited,
            Fate::Refused(kind) => self.refused.entry(why(kind)).or_default(),
            Fate::FailedForNow => &mut self.failed_for_now,
            Fate::FailedForGood => &mut self.failed_for_good,
        } += 1;
    }

    pub(crate) fn deliveries(&self) -> u64 {
        self.handled + self.replayed + self.waited + self.refused() + self.failed()
    }

    fn refused(&self) -> u64 {
        self.refused.values().sum()
    }

    pub(crate) const fn failed(&self) -> u64 {
        self.failed_for_now + self.failed_for_good
    }

    fn refusals(&self) -> String {
        if self.refused.len() == 1 {
            return self.refused.keys().copied().collect();
        }
        let each = self.refused.iter().map(|(why, count)| format!("{count} {why}"));
        each.collect::<Vec<_>>().join(", ")
    }
}

/// A refusal in the words of webhooks.
const fn why(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::FingerprintMismatch => "with an id that was used before for other content",
        ErrorKind::InvalidKey => "with an id or data that idem cannot take",
        ErrorKind::InProgress => "still being handled after the longest wait",
        ErrorKind::LeaseLost => "whose lease was lost",
        ErrorKind::Backend => "because the backend did not answer",
        ErrorKind::ShuttingDown => "because the process is ending",
        _ => "for another reason (--verbose tells)",
    }
}

/// The table.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failures =
            format!("{} for now, {} for good", self.failed_for_now, self.failed_for_good);
        let rows = [
            ("deliveries", self.deliveries(), String::new()),
            ("  handled", self.handled, "ran, one ledger line each".to_owned()),
            ("  replayed", self.replayed, "answered from the stored outcome".to_owned()),
            ("  waited", self.waited, "answered by the delivery under way".to_owned()),
            ("  refused", self.refused(), self.refusals()),
            ("  failed", self.failed(), if self.failed() > 0 { failures } else { String::new() }),
            ("invalid lines", self.invalid, String::new()),
        ];
        for (name, count, remark) in rows {
            writeln!(f, "{}", format!("{name:<14}{count:>9}   {remark}").trim_end())?;
        }
        Ok(())
    }
}
