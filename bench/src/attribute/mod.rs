//! The suite `macro`: what the attribute adds to compile time and to futures.

mod compile;
mod generate;
mod size;
mod workplace;

use crate::figure::Figure;
use crate::suites::Plan;

pub(crate) fn run(plan: &Plan) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::from(compile::figures(plan.rounds)?);
    figures.extend(size::figures());
    Ok(figures)
}
