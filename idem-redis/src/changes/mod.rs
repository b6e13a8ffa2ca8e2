//! Changes of records, as the servers tell them.
//!
//! Watches are kept on a thread of their own, so that they outlive the runtime they were asked from.
//! It starts with the first watch and ends with the last handle of the backend. One connection to
//! each server that has watched records is enough for all of them.

mod link;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};

use idem_runtime::BackendError;
use idem_runtime::backend::Watch;
use tokio::sync::{mpsc, oneshot};

use crate::builder::Times;
use crate::servers::Servers;
use link::{Ask, Link};

/// A record to watch, and who wants to.
type Request = (String, oneshot::Sender<Result<Watch, BackendError>>);

/// The watches of a backend.
pub(crate) struct Changes {
    servers: Arc<Servers>,
    times: Times,
    requests: OnceLock<mpsc::UnboundedSender<Request>>,
}

impl Changes {
    pub(crate) fn new(servers: Arc<Servers>, times: Times) -> Self {
        Self { servers, times, requests: OnceLock::new() }
    }

    /// A watch on the record of this name; its subscription stands.
    pub(crate) async fn watch(&self, record: String) -> Result<Watch, BackendError> {
        let (reply, watch) = oneshot::channel();
        let ended = |_| BackendError::unanswered("the watches' thread has ended");
        self.requests()?.send((record, reply)).map_err(|_| ended(()))?;
        watch.await.map_err(|_| ended(()))?
    }

    fn requests(&self) -> Result<&mpsc::UnboundedSender<Request>, BackendError> {
        if let Some(requests) = self.requests.get() {
            return Ok(requests);
        }
        let (sender, requests) = mpsc::unbounded_channel();
        let links = Links {
            servers: Arc::clone(&self.servers),
            times: self.times,
            by_address: HashMap::new(),
        };
        // Of two that come at once, the second one's thread ends with its sender.
        spawn_thread(links, requests).map_err(|error| {
            BackendError::answered(format!("the watches' thread could not be started: {error}"))
        })?;
        Ok(self.requests.get_or_init(|| sender))
    }
}

fn spawn_thread(links: Links, requests: mpsc::UnboundedReceiver<Request>) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("idem-redis-watch".to_owned());
    let keep = move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        // Made here, since a runtime must not be dropped inside another one.
        Ok(runtime) => runtime.block_on(links.run(requests)),
        Err(error) => tracing::error!(target: "idem", %error, "the watches' thread has no runtime"),
    };
    thread.spawn(keep).map(drop)
}

/// The links to servers.
struct Links {
    servers: Arc<Servers>,
    times: Times,
    by_address: HashMap<String, mpsc::UnboundedSender<Ask>>,
}

impl Links {
    /// Hands what is requests to the link of its server, until the backend ends; the links end then
    /// with the runtime.
    async fn run(mut self, mut requests: mpsc::UnboundedReceiver<Request>) {
        while let Some((record, reply)) = requests.recv().await {
            match self.link(&record) {
                // A link runs as long as this one's sender is there.
                Some(link) => drop(link.send(Ask::Watch(record, reply))),
                None => {
                    let fault = "no node of the Redis cluster is known to have the record";
                    let _ = reply.send(Err(BackendError::unanswered(fault)));
                }
            }
        }
    }

    /// The link of the server that has the record now.
    fn link(&mut self, record: &str) -> Option<&mpsc::UnboundedSender<Ask>> {
        let place = self.servers.place(record)?;
        let link = self.by_address.entry(place.address());
        Some(link.or_insert_with(|| {
            let (sender, asks) = mpsc::unbounded_channel();
            let servers = Arc::clone(&self.servers);
            let link = Link::new(servers, place, self.times, sender.downgrade());
            tokio::spawn(link.run(asks));
            sender
        }))
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes")
            .field("started", &self.requests.get().is_some())
            .finish_non_exhaustive()
    }
}
