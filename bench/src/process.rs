//! What the system says of this process: its memory, and the time it and its keeper have run.

use std::fs;

use anyhow::{Context, ensure};

/// The name of the keeper's thread.
const KEEPER: &str = "idem-keeper";
/// In which `/proc` counts the time of processes, on every Linux.
const TICKS_A_SECOND: f64 = 100.0;

/// Bytes of memory now, and the most there ever were.
pub(crate) fn memory() -> anyhow::Result<[f64; 2]> {
    let status = fs::read_to_string("/proc/self/status").context("reading /proc/self/status")?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_end_matches("kB").trim().parse::<f64>().ok()
    };
    let kib = |name| field(name).with_context(|| format!("no `{name}` in /proc/self/status"));
    Ok([kib("VmRSS:")? * 1024.0, kib("VmHWM:")? * 1024.0])
}

/// Seconds that this process has run so far, on all its threads.
pub(crate) fn time() -> anyhow::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").context("reading /proc/self/stat")?;
    let ticks = ticks(&stat).with_context(|| format!("no times in `{stat}`"))?;
    Ok(ticks as f64 / TICKS_A_SECOND)
}

/// In user mode and in the kernel.
fn ticks(stat: &str) -> Option<u64> {
    // The name stands in parentheses and may hold any character.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// Seconds that the keepers of this process have run so far.
pub(crate) fn keeper_time() -> anyhow::Result<f64> {
    thread_time(KEEPER)
}

/// Seconds that the threads of this name have run so far.
pub(crate) fn thread_time(name: &str) -> anyhow::Result<f64> {
    // The system keeps no more of a name.
    let known_as = &name[..name.len().min(15)];
    let (mut nanos, mut threads) = (0, 0);
    for task in fs::read_dir("/proc/self/task").context("reading /proc/self/task")? {
        let task = task?.path();
        // A thread may end before it is read.
        let Ok(found) = fs::read_to_string(task.join("comm")) else { continue };
        if found.trim_end() == known_as {
            let times = fs::read_to_string(task.join("schedstat"));
            nanos += time_run(&times.context("reading a thread's times")?)?;
            threads += 1;
        }
    }
    ensure!(threads > 0, "there is no thread `{name}`");
    Ok(nanos as f64 / 1e9)
}

/// Nanoseconds on a processor; after that stand those of waiting for one, and how often.
fn time_run(times: &str) -> anyhow::Result<u64> {
    let first = times.split_whitespace().next();
    first.and_then(|nanos| nanos.parse().ok()).with_context(|| format!("no time in `{times}`"))
}

#[cfg(test)]
mod tests {
    use super::{ticks, time_run};

    #[test]
    fn the_time_of_a_process_is_its_user_and_its_system_time() {
        let stat = "71 (a ) b) S 1 2 3 0 -1 4194560 5 6 7 8 120 30 9 10 20 0 1 0";
        assert_eq!(ticks(stat), Some(150));
    }

    #[test]
    fn the_time_that_a_thread_has_run_comes_first() {
        assert_eq!(time_run("226725 23134 2\n").unwrap(), 226_725);
        assert!(time_run("").is_err());
    }
}
