//! A process of the soak: callers that call at random until it is time.

mod action;
mod calls;
mod plan;

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use idem_redis::RedisBackend;
use idem_runtime::Idem;
use idem_tests::soak::history::{Disturbance, Micros, Writer};
use serde::{Deserialize, Serialize};

use crate::pulse::Pulse;

/// How long one command may take, and the opening of a connection. The documentation asks for an
/// eighth of the lease at most; a machine that is busy is granted some more.
const COMMAND: Duration = Duration::from_millis(150);
const CONNECT: Duration = Duration::from_millis(300);
/// How long a call goes on asking.
const STORE: Duration = Duration::from_secs(1);

/// What a process of the soak is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) url: String,
    /// Where the histories are.
    pub(crate) folder: PathBuf,
    pub(crate) seed: u64,
    pub(crate) process: u64,
    pub(crate) life: u64,
    pub(crate) keys: u64,
    pub(crate) callers: u64,
    pub(crate) task: Task,
}

/// What a process of the soak does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Task {
    /// It calls at random until then.
    CallUntil(Micros),
    /// It calls every key until each has an outcome.
    CallEach,
}

/// What the calls of a process share.
struct World {
    settings: Settings,
    idem: Idem,
    writer: Arc<Writer>,
    /// The numbers of the calls.
    next: AtomicU64,
    /// Actions that have begun and not ended: a detached one may outlive its call.
    running: AtomicU64,
}

pub(crate) fn run(settings: &str) -> Result<(), Box<dyn Error>> {
    let settings: Settings = serde_json::from_str(settings)?;
    action::silence_own_panics();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve(settings))
}

async fn serve(settings: Settings) -> Result<(), Box<dyn Error>> {
    let name = format!("process-{}-{}.jsonl", settings.process, settings.life);
    let writer = Arc::new(Writer::open(&settings.folder.join(name))?);
    let _pulse = Pulse::of_process(&writer, Disturbance::Stalled(settings.process))?;
    let backend = connect(&settings.url).await;
    let idem = Idem::builder().backend(backend).prefix("soak").store_timeout(STORE).build()?;
    let (next, running) = (AtomicU64::new(0), AtomicU64::new(0));
    let task = settings.task;
    let world = Arc::new(World { settings, idem, writer, next, running });
    match task {
        Task::CallUntil(until) => calls::at_random(&world, until).await?,
        Task::CallEach => calls::each(&world).await?,
    }
    action::until_all_have_ended(&world).await;
    // Longer than any lease, and than the store has to answer.
    let report = world.idem.shutdown(Duration::from_secs(10)).await;
    if !report.is_clean() {
        return Err(format!("something is left at the end: {report:?}").into());
    }
    Ok(())
}

/// Connects; the server, or the way there, may be away just now.
async fn connect(url: &str) -> RedisBackend {
    loop {
        let builder = RedisBackend::builder(url).connect_timeout(CONNECT).command_timeout(COMMAND);
        match builder.connect().await {
            Ok(backend) => return backend,
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
