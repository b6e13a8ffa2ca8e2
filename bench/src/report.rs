//! Figures as a table for people, or as lines of JSON for programs.

use std::io::{self, Write};

use anyhow::Context;
use serde::Serialize;

use crate::figure::Figure;
use crate::machine;

/// One line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    suite: &'a str,
    case: &'a str,
    /// The median.
    value: f64,
    unit: &'a str,
    /// `null` where a figure is there to explain another.
    goal: Option<String>,
    met: Option<bool>,
}

pub(crate) fn json(suite: &str, figures: &[Figure]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    for figure in figures {
        let line = Line {
            suite,
            case: &figure.case,
            value: (figure.values.median() * 1000.0).round() / 1000.0,
            unit: figure.unit,
            goal: figure.goal.map(|goal| goal.to_string()),
            met: figure.is_met(),
        };
        let line = serde_json::to_string(&line).context("writing a figure as JSON")?;
        writeln!(out, "{line}").context("printing a figure")?;
    }
    Ok(())
}

/// A table in Markdown, so that it can stand in a document as it is.
pub(crate) fn table(suite: &str, rounds: usize, figures: &[Figure]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{suite}: {rounds} rounds on {}\n", machine::describe())?;
    writeln!(out, "| case | min | median | max | unit | goal | met | what it is made of |")?;
    writeln!(out, "| --- | --: | --: | --: | --- | --- | --- | --- |")?;
    for figure in figures {
        writeln!(out, "{}", row(figure))?;
    }
    Ok(())
}

fn row(figure: &Figure) -> String {
    let Figure { case, values, unit, goal, limits } = figure;
    let [min, median, max] = [values.min(), values.median(), values.max()].map(number);
    let goal = goal.map_or_else(|| "–".to_owned(), |goal| goal.to_string());
    let met = match figure.is_met() {
        Some(true) => "yes",
        Some(false) => "**no**",
        None => "–",
    };
    format!("| {case} | {min} | {median} | {max} | {unit} | {goal} | {met} | {limits} |")
}

/// Counts as they are, ratios with two places.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.2}") }
}
