//! The suite `redis`: what a call on Redis costs, against the bare commands that do the same work.

mod alone;
mod callers;
mod commands;
mod keys;
mod service;
mod sides;
mod store;
mod threads;
mod waiter;
mod waking;

use crate::figure::Figure;
use crate::suites::Plan;
use keys::Keys;
pub(crate) use store::{Store, prefix};
pub(crate) use threads::Threads;
pub(crate) use waiter::Waiter;

pub(crate) fn run(plan: &Plan) -> anyhow::Result<Vec<Figure>> {
    let store = Store::at(plan.url.as_deref());
    let mut keys = Keys::default();
    let mut figures = Vec::new();
    for threads in [Threads::One, Threads::Two] {
        figures.extend(callers::figures(plan.rounds, &store, &mut keys, threads)?);
        figures.extend(alone::figures(plan.rounds, &store, &mut keys, threads)?);
    }
    figures.extend(commands::figures(&store, &mut keys)?);
    figures.extend(waking::figures(plan.rounds, &store)?);
    Ok(figures)
}
