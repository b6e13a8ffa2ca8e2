//! What a consumer's lines say.

use std::io;
use std::sync::{Arc, Mutex};

use idem_redis::consumer::{Consumer, Fields, Message};
use idem_tests::{Aim, Fault, Proxy, eventually};

use crate::kit::{GROUP, IDLE, LONG, Log, RENEW, Running, Works, World, behind};

/// All lines of this process.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn find(&self, parts: &[&str]) -> bool {
        let bytes = self.0.lock().unwrap();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().any(|line| parts.iter().all(|part| line.contains(part)))
    }
}

/// Renewals run on a thread of their own, so that only the process's subscriber hears of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_that_fails_is_logged_with_stream_group_consumer_and_ids() {
    let lines = Lines::default();
    let writer = lines.clone();
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .init();
    let world = World::start().await;
    let proxy = Proxy::start(&world.server);
    let backend = behind(&proxy, IDLE / 2).await;
    let (works, log) = (Works::gated(), Log::default());
    let handles = works.clone();
    let consumer = Consumer::builder(&backend, "logged", GROUP)
        .retry_on_idle(IDLE)
        .consumer("worker-1")
        .grace(LONG)
        .observer(log.observer())
        .handler(move |message: Message<Fields>| {
            let works = handles.clone();
            async move {
                works.work(std::slice::from_ref(&message)).await;
                Ok::<_, String>(())
            }
        });
    let running = Running::start(consumer, log);
    let id: String = world.server.ask(&["XADD", "logged", "*", "n", "1"]);
    works.begins(id.parse().unwrap()).await;
    let _trap = proxy.on_request(Aim::script(RENEW), Fault::Cut(0));
    running.log.hears("renewal_failed").await;
    let about = [r#"stream="logged""#, r#"group="billing""#, r#"consumer="worker-1""#, &id];
    eventually("a line tells it", || {
        lines.find(&[&["WARN", "messages could not be renewed"][..], &about].concat())
    })
    .await;
    proxy.heal();
    works.open();
    running.end().await;
    assert!(lines.find(&["TRACE", "messages are done", &id]));
}
