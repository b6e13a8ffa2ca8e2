//! Compile time of annotated functions, against the same functions with `#[tracing::instrument]`.

use super::generate::{Attribute, FUNCTIONS, Returns, source};
use super::workplace::Workplace;
use crate::figure::{Figure, Goal};
use crate::samples::Samples;

/// Seconds of one round: with idem's attribute, with tracing's, with none.
type Times = [f64; 3];

const SIDES: [(&str, Attribute); 3] = [
    ("idempotent", Attribute::Idempotent),
    ("instrument", Attribute::Instrument),
    ("plain", Attribute::None),
];

pub(super) fn figures(rounds: usize) -> anyhow::Result<[Figure; 2]> {
    let workplace = Workplace::prepare()?;
    let (mut one, mut each) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        eprintln!("compiling, round {round} of {rounds}…");
        one.push(compile(&workplace, Returns::OneType)?);
        each.push(compile(&workplace, Returns::TypeEach)?);
    }
    Ok([
        figure("one return type", &one, 1.5),
        figure(&format!("{FUNCTIONS} return types"), &each, 2.0),
    ])
}

fn compile(workplace: &Workplace, returns: Returns) -> anyhow::Result<Times> {
    let mut times = [0.0; 3];
    for (time, (name, attribute)) in times.iter_mut().zip(SIDES) {
        *time = workplace.compile(name, &source(attribute, returns))?.as_secs_f64();
    }
    Ok(times)
}

fn figure(returns: &str, times: &[Times], most: f64) -> Figure {
    let median = |side: usize| Samples::of(times.iter().map(|times| times[side])).median();
    Figure {
        case: format!("compile time of {FUNCTIONS} functions, {returns}"),
        values: Samples::of(times.iter().map(|times| times[0] / times[1])),
        unit: "× `#[tracing::instrument]`",
        goal: Some(Goal::AtMost(most)),
        limits: format!(
            "{:.2} s against {:.2} s; without any attribute {:.2} s",
            median(0),
            median(1),
            median(2)
        ),
    }
}
