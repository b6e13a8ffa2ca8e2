//! Runs the whole soak: server, processes, what goes wrong, the last calls, the check.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant, SystemTime};

use idem_tests::soak::check::check;
use idem_tests::soak::history::{self, What, Writer, micros, now};
use idem_tests::soak::story::Story;
use idem_tests::{Proxy, RedisServer};

use crate::faults::{Stage, Victim, break_server, ended, start};
use crate::options::Options;
use crate::pulse::Pulse;
use crate::report::{Progress, report};
use crate::schedule::{outages, troubles};
use crate::worker::{Settings, Task};

/// The callers of one process.
const CALLERS: u64 = 6;
/// Longer than the longest call takes, and the end of a process after it.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most by which the wall clock may go another way than the monotonic one: less than any margin
/// of the check.
const STEPPED: Duration = Duration::from_millis(20);

pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    if let Some(place) = &options.check {
        return Ok(judge(place, "of the run")?.unwrap_or(ExitCode::FAILURE));
    }
    let seed = options.seed();
    println!("soak: seed {seed}, {:?}, {} processes", options.minutes, options.processes);
    let folder = tempfile::tempdir()?;
    let place = options.keep.clone().unwrap_or_else(|| folder.path().to_owned());
    std::fs::create_dir_all(&place)?;
    if std::fs::read_dir(&place)?.next().is_some() {
        return Err(format!("{} is not empty: histories do not mix", place.display()).into());
    }
    let stops = stop_on_ctrl_c()?;
    let (wall, clock) = (SystemTime::now(), Instant::now());
    if !perform(options, seed, &place, &stops)? {
        println!("soak: stopped; nothing was checked");
        return Ok(ExitCode::from(130));
    }
    let stepped = wall.elapsed().unwrap_or_default().abs_diff(clock.elapsed());
    if stepped > STEPPED {
        return Err(
            format!("the wall clock was set ({stepped:?}): the history has no order").into()
        );
    }
    if let Some(fine) = judge(&place, &seed.to_string())? {
        return Ok(fine);
    }
    let kept = options.keep.clone().unwrap_or_else(|| folder.keep());
    println!("the histories stay in {}", kept.display());
    Ok(ExitCode::FAILURE)
}

/// Checks what happened; `None`: a promise was broken.
fn judge(place: &Path, seed: &str) -> io::Result<Option<ExitCode>> {
    let lines = history::read(place)?;
    let story = Story::of(&lines);
    let violations = check(&story);
    report(seed, &lines, &story, &violations);
    Ok(violations.is_empty().then_some(ExitCode::SUCCESS))
}

/// Everything that happens; `false`: it was stopped.
fn perform(
    options: &Options,
    seed: u64,
    place: &Path,
    stops: &Arc<AtomicBool>,
) -> Result<bool, Box<dyn Error>> {
    let writer = Arc::new(Writer::open(&place.join("conductor.jsonl"))?);
    let mut server = RedisServer::start_kept();
    let pulse = Pulse::of_server(&writer, &server.url())?;
    let program = std::env::current_exe()?;
    let stage =
        Stage { start: Instant::now(), writer: Arc::clone(&writer), stops: Arc::clone(stops) };
    let lasts = options.minutes;
    let settings = |process, url, task| Settings {
        url,
        folder: place.to_owned(),
        seed,
        process,
        life: 0,
        keys: options.keys,
        callers: CALLERS,
        task,
    };
    let task = Task::CallUntil(now() + micros(lasts));
    let mut victims = Vec::new();
    for process in 0..options.processes {
        let proxy = Proxy::start(&server);
        let settings = settings(process, proxy.url(), task);
        let victim = Victim::start(program.clone(), settings, proxy)?;
        let plan = troubles(seed, process, lasts);
        let stage = stage.clone();
        victims.push(thread("troubles", move || {
            let mut victim = victim;
            victim.suffer(&stage, &plan).map(|()| victim)
        })?);
    }
    let url = server.url();
    let (plan, apart) = (outages(seed, lasts), stage.clone());
    let breaks = thread("outages", move || {
        break_server(&mut server, &apart, &plan);
        server
    })?;
    tell_progress(place, &stage, lasts);
    let _server = joined(breaks)?;
    for victim in victims {
        let victim = joined(victim)??;
        if !stops.load(Ordering::Relaxed) {
            victim.end(PATIENCE)?;
        }
    }
    if stops.load(Ordering::Relaxed) {
        return Ok(false);
    }
    writer.write(What::Calm);
    let last = settings(options.processes, url, Task::CallEach);
    ended(start(&program, &last)?, PATIENCE)?;
    drop(pulse);
    Ok(true)
}

fn thread<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.to_owned()).spawn(run)
}

fn joined<T>(thread: JoinHandle<T>) -> io::Result<T> {
    thread.join().map_err(|_| io::Error::other("a part of the soak itself panicked"))
}

/// Says every ten seconds how far it is.
fn tell_progress(place: &Path, stage: &Stage, lasts: Duration) {
    let mut progress = Progress::of(PathBuf::from(place));
    let mut next = Duration::from_secs(10);
    while stage.start.elapsed() < lasts && !stage.stops.load(Ordering::Relaxed) {
        if stage.start.elapsed() >= next {
            progress.tell(next, lasts);
            next += Duration::from_secs(10);
        }
        sleep(Duration::from_millis(50));
    }
}

/// Whether somebody has pressed Ctrl-C: then everything that was started is ended first.
fn stop_on_ctrl_c() -> io::Result<Arc<AtomicBool>> {
    let stops = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stops);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread("ctrl-c", move || {
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            stopped.store(true, Ordering::Relaxed);
        }
    })?;
    Ok(stops)
}
