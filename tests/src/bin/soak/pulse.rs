//! Who does not get the processor, or whose answers take long: the machine's part in what goes wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use idem_tests::soak::history::{Disturbance, What, Writer, micros, now};

/// The pause between two beats.
const BEAT: Duration = Duration::from_millis(20);
/// A beat that comes so much later is written down: half of the time that one renewal of the shortest
/// lease has, of which two may fail.
const LATE: Duration = Duration::from_millis(30);

/// A thread that looks all the time whether it runs in time.
#[derive(Debug)]
pub(crate) struct Pulse {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    /// Writes down when this process does not get the processor.
    pub(crate) fn of_process(writer: &Arc<Writer>, by: Disturbance) -> std::io::Result<Self> {
        Self::start(writer, by, || {})
    }

    /// Writes down when the server does not answer in time, or this process does not run.
    pub(crate) fn of_server(writer: &Arc<Writer>, url: &str) -> Result<Self, redis::RedisError> {
        let client = redis::Client::open(url)?;
        let mut connection = None;
        let beat = move || {
            let opened = match connection.take() {
                None => client.get_connection_with_timeout(Duration::from_secs(1)),
                Some(open) => Ok(open),
            };
            let Ok(mut open) = opened else { return };
            let _ = open.set_read_timeout(Some(Duration::from_secs(1)));
            if redis::cmd("PING").query::<()>(&mut open).is_ok() {
                connection = Some(open);
            }
        };
        Ok(Self::start(writer, Disturbance::ServerStalled, beat)?)
    }

    fn start(
        writer: &Arc<Writer>,
        by: Disturbance,
        mut beat: impl FnMut() + Send + 'static,
    ) -> std::io::Result<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        let (writer, ended) = (Arc::clone(writer), Arc::clone(&ends));
        let run = move || {
            while !ended.load(Ordering::Relaxed) {
                let start = Instant::now();
                sleep(BEAT);
                beat();
                if start.elapsed() > BEAT + LATE {
                    let since = now().saturating_sub(micros(start.elapsed()));
                    writer.write(What::Disturbed { by, since });
                }
            }
        };
        let thread = thread::Builder::new().name("pulse".to_owned()).spawn(run)?;
        Ok(Self { ends, thread: Some(thread) })
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
