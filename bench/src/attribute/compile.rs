//! Compile time of annotated functions, against the same functions with `#[tracing::instrument]`.

use super::generate::{Attribute, FUNCTIONS, Returns, source};
use super::workplace::Workplace;
use crate::figure::{Figure, Goal};
use crate::samples::Samples;

/// Seconds of one round: with idem's attribute, and with tracing's.
type Times = [f64; 2];

pub(super) fn figures(rounds: usize) -> anyhow::Result<[Figure; 2]> {
    let workplace = Workplace::prepare()?;
    Ok([
        figure(&workplace, rounds, ("one return type", Returns::OneType), 1.5)?,
        figure(&workplace, rounds, ("200 return types", Returns::TypeEach), 2.0)?,
    ])
}

fn figure(
    workplace: &Workplace,
    rounds: usize,
    (types, returns): (&str, Returns),
    most: f64,
) -> anyhow::Result<Figure> {
    let compile = |attribute| {
        let name = match attribute {
            Attribute::Idempotent => "idempotent",
            Attribute::Instrument => "instrument",
            Attribute::None => "plain",
        };
        workplace.compile(name, &source(attribute, returns)).map(|took| took.as_secs_f64())
    };
    let round = |number| {
        eprintln!("compiling functions with {types}, round {number} of {rounds}…");
        Ok([compile(Attribute::Idempotent)?, compile(Attribute::Instrument)?])
    };
    // Once is enough for what no goal rests on.
    let plain = compile(Attribute::None)?;
    let times = (1..=rounds).map(round).collect::<anyhow::Result<Vec<Times>>>()?;
    let median = |side: usize| Samples::of(times.iter().map(|times| times[side])).median();
    Ok(Figure {
        case: format!("compile time of {FUNCTIONS} functions, {types}"),
        values: Samples::of(times.iter().map(|times| times[0] / times[1])),
        unit: "× `#[tracing::instrument]`",
        goal: Some(Goal::AtMost(most)),
        limits: format!(
            "{:.2} s against {:.2} s; without any attribute {plain:.2} s",
            median(0),
            median(1)
        ),
    })
}
