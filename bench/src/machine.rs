//! The machine a run was made on, as far as it explains figures.

use std::fs;
use std::thread::available_parallelism;

/// Processor, cores, and how busy the machine was besides: other programs make a run less certain.
pub(crate) fn describe() -> String {
    let cores = available_parallelism().map_or_else(|_| "?".to_owned(), |cores| cores.to_string());
    let model = processor().unwrap_or_else(|| "unknown processor".to_owned());
    let load = load().map_or_else(String::new, |load| format!(", load average {load} at the end"));
    format!("{model}, {cores} cores{load}")
}

fn processor() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn load() -> Option<String> {
    let average = fs::read_to_string("/proc/loadavg").ok()?;
    average.split_whitespace().next().map(str::to_owned)
}
