//! The suite `keeper`: many leases held at once, on the memory backend and on Redis.
//!
//! A round is a part of one long hold, since a hold cannot be shorter than its leases are long. Each
//! hold is a process of its own, so that its memory is nobody else's.

mod bytes;
mod case;
mod hold;
mod log;

use std::time::Duration;

use crate::figure::Figure;
use crate::redis::Store;
use crate::suites::Plan;
use case::Case;
pub(crate) use hold::Hold;

/// Five rounds of this are the 30 s for which short leases are held.
const ROUND_OF_SHORT: Duration = Duration::from_secs(6);

pub(crate) fn run(plan: &Plan) -> anyhow::Result<Vec<Figure>> {
    let store = Store::at(plan.url.as_deref());
    let (short, long) = (Duration::from_secs(3), Duration::from_secs(30));
    let mut figures = Vec::new();
    for url in [None, Some(store.url())] {
        let hold = Hold::new(url, plan.rounds);
        let case = Case::run(hold.of(10_000, short, ROUND_OF_SHORT))?;
        figures.extend([case.lost(), case.keeper(25.0), case.lateness()]);
    }
    for url in [None, Some(store.url())] {
        let hold = Hold::new(url, plan.rounds);
        // A round is an interval: each lease is renewed once in it.
        let case = Case::run(hold.of(100_000, long, long / 4))?;
        figures.extend([case.lost(), case.keeper(None), case.lateness(), case.memory()]);
    }
    figures.extend(bytes::figures()?);
    Ok(figures)
}
