//! The suite `consumer`: what a consumer of a stream makes of a message, against the bare commands.

mod bare;
mod delivery;
mod rate;
mod renewals;
mod stream;
mod watch;

use crate::figure::Figure;
use crate::redis::{Store, Threads};
use crate::suites::Plan;

pub(crate) fn run(plan: &Plan) -> anyhow::Result<Vec<Figure>> {
    let store = Store::at(plan.url.as_deref());
    let mut figures = Vec::new();
    for threads in [Threads::One, Threads::Two] {
        figures.extend(rate::figures(plan.rounds, &store, threads)?);
    }
    for threads in [Threads::One, Threads::Two] {
        figures.push(delivery::figure(plan.rounds, &store, threads)?);
    }

    figures.extend(renewals::figures(plan.rounds, &store)?);
    Ok(figures)
}
