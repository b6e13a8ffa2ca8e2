//! What can go wrong on the way between a process and its server, at each command in turn.

use std::time::Duration;

use idem_redis::RedisBackend;
use idem_runtime::{Dispatch, Idem};
use idem_tests::{Proxy, RedisServer};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::processes::{Process, process_with};

mod cut_anywhere;
mod die_anywhere;
mod settled;
mod two_callers;

/// Longer than anything takes that is not kept from its end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server, a proxy in front of it, and a process that need not go through it.
struct Rig {
    proxy: Proxy,
    server: RedisServer,
}

impl Rig {
    fn start() -> Self {
        let server = RedisServer::start();
        Self { proxy: Proxy::start(&server), server }
    }

    /// A process by way of the proxy, with these times for one reply and for one question.
    async fn process(&self, lease: Duration, reply: Duration, question: Duration) -> Process {
        let until = Instant::now() + PATIENCE;
        let backend = loop {
            let builder = RedisBackend::builder(self.proxy.url()).command_timeout(reply);
            match builder.connect_timeout(question).connect().await {
                Ok(backend) => break backend,
                // Its times are short for a busy machine.
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
        };
        process_with(backend, |builder| builder.lease(lease).store_timeout(question))
    }

    /// A process by the straight way, where nothing goes wrong that time would not mend.
    async fn straight(&self, lease: Duration) -> Process {
        let builder = RedisBackend::builder(self.server.url()).command_timeout(PATIENCE);
        let backend = builder.connect_timeout(PATIENCE).connect().await.unwrap();
        process_with(backend, |builder| builder.lease(lease).store_timeout(PATIENCE))
    }
}

fn dispatch(idem: &Idem, hold: Duration, queue_timeout: Duration) -> Dispatch {
    crate::kit::dispatch(idem, "a").hold(hold).queue_timeout(queue_timeout)
}

/// Runs what is done under attack with every place to attack at, a few at a time, until there is none any
/// more; says how many there were. Each has a thread of its own: starting servers holds no other up.
async fn everywhere<F>(attacked: impl Fn(usize) -> F + Copy + Send + 'static) -> usize
where
    F: Future<Output = bool>,
{
    const AT_ONCE: usize = 12;
    let mut places = 0;
    for first in (1..).step_by(AT_ONCE) {
        let on_its_thread = |nth| {
            let here = Handle::current();
            spawn_blocking(move || here.block_on(attacked(nth)))
        };
        let struck: Vec<_> = (first..first + AT_ONCE).map(on_its_thread).collect();
        let struck = futures_util::future::join_all(struck).await;
        let struck = struck.into_iter().filter(|struck| *struck.as_ref().unwrap()).count();
        places += struck;
        if struck < AT_ONCE {
            break;
        }
    }
    places
}
