//! The suite `memory`: what a call on the memory backend costs, one caller and two.

mod allocations;
mod calls;
mod parts;
mod threads;

use crate::figure::Figure;
use crate::suites::Plan;

pub(crate) fn run(plan: &Plan) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::from(calls::figures(plan.rounds, 1_000)?);
    figures.extend(calls::figures(plan.rounds, 100_000)?);
    figures.extend(threads::figures(plan.rounds)?);
    figures.extend(allocations::figures()?);
    Ok(figures)
}
