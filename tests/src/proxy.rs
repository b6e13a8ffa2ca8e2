//! A proxy in front of a server, for what can go wrong on the way: connections that are cut, replies
//! that come late or never, a peer that vanishes without a word.
//!
//! It understands as much of the protocol as to know one command from the next and which reply
//! belongs to which, so that a fault strikes exactly what it is aimed at. It notes the commands that
//! pass, so that a test waits for a condition and not for a time. It lives on a thread of its own:
//! a test that stands still holds up no connection.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use crate::RedisServer;

mod fault;
mod framing;
mod link;
mod shared;

pub use fault::{Aim, Fault, Trap};

use fault::Way;
use shared::{Shared, Stage, lock};

/// A running proxy. Dropping it ends its connections.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    /// Dropping it ends the thread.
    ends: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// A proxy without faults, on a port of its own.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start(server: &RedisServer) -> Self {
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port()));
        Self::before(server).unwrap_or_else(|error| panic!("the proxy does not start: {error}"))
    }

    fn before(server: SocketAddr) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let shared = Arc::<Shared>::default();
        let (ends, ended) = oneshot::channel();
        let accepts = accept(Arc::clone(&shared), listener, server);
        let thread = std::thread::Builder::new().name("proxy".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accepts => {}
                    _ = ended => {}
                }
            });
        })?;
        Ok(Self { port, shared, ends: Some(ends), thread: Some(thread) })
    }

    /// The address of the server behind it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Sets a fault on requests; it strikes those that have not yet come.
    pub fn on_request(&self, aim: Aim, fault: Fault) -> Trap {
        self.set(Trap::new(Way::Request, aim, fault))
    }

    /// Sets a fault on replies; it strikes those that the server has not yet given.
    pub fn on_reply(&self, aim: Aim, fault: Fault) -> Trap {
        self.set(Trap::new(Way::Reply, aim, fault))
    }

    fn set(&self, trap: Trap) -> Trap {
        lock(&self.shared.traps).push(trap.clone());
        trap
    }

    /// Closes every connection that is open.
    pub fn cut(&self) {
        self.shared.cut.send_replace(());
    }

    /// While it refuses, new connections are closed at once.
    pub fn refuse(&self, refuses: bool) {
        self.shared.refuses.store(refuses, Ordering::SeqCst);
    }

    /// Lifts every fault and lets new connections in.
    pub fn heal(&self) {
        self.refuse(false);
        for trap in lock(&self.shared.traps).drain(..) {
            trap.lift();
        }
    }

    /// Forgets what has passed so far, which grows otherwise as long as anything passes.
    pub fn forget(&self) {
        self.shared.forget();
    }

    /// How many of these commands have come from clients.
    #[must_use]
    pub fn came(&self, aim: &Aim) -> usize {
        self.shared.count(aim, Stage::Came)
    }

    /// How many of these commands have gone on to the server.
    #[must_use]
    pub fn passed(&self, aim: &Aim) -> usize {
        self.shared.count(aim, Stage::Passed)
    }

    /// How many of these commands have their replies, as far as those went on to the client.
    #[must_use]
    pub fn answered(&self, aim: &Aim) -> usize {
        self.shared.count(aim, Stage::Answered)
    }
}

async fn accept(shared: Arc<Shared>, listener: TcpListener, server: SocketAddr) {
    let listener = tokio::net::TcpListener::from_std(listener);
    let listener = listener.unwrap_or_else(|error| panic!("the proxy does not listen: {error}"));
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        if !shared.refuses.load(Ordering::SeqCst) {
            tokio::spawn(link::serve(Arc::clone(&shared), client, server));
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ends = None;
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            let broken = lock(&self.shared.broken).take();
            assert_eq!(broken, None, "the proxy did not understand what passed");
            assert!(ended.is_none_or(|ended| ended.is_ok()), "the proxy's thread panicked");
        }
    }
}
