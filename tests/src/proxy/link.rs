//! One connection of a client, and the one to the server behind it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::fault::{Command, Way};
use super::framing::{self, Kind, Malformed};
use super::shared::{Goes, Shared, Stage, lock};

/// A command that went on, and how many replies it has to come.
type Unanswered = VecDeque<(Arc<Command>, usize)>;

/// Why a way has come to its end.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// Its sender has nothing more to say.
    Closed,
    /// A fault, or a peer that is gone.
    Cut,
}

/// Passes on what a client and the server say to each other, until one of them or a fault ends that.
pub(super) async fn serve(shared: Arc<Shared>, mut client: TcpStream, server: SocketAddr) {
    let mut cut = shared.cut.subscribe();
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let link =
        Link { shared: &shared, unanswered: Mutex::default(), listens: AtomicBool::new(false) };
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let both = async {
        let mut replies = std::pin::pin!(link.replies(from_server, to_client));
        tokio::select! {
            end = link.requests(from_client, to_server) => {
                if end == End::Closed {
                    replies.await;
                }
            }
            _ = &mut replies => {}
        }
    };
    tokio::select! {
        () = both => {}
        _ = cut.changed() => {}
    }
    drop(client);
    // A server whose replies are refused would not read the rest of what went on: it is told of the
    // end, and heard out.
    let _ = server.shutdown().await;
    let mut rest = [0; 4096];
    while server.read(&mut rest).await.is_ok_and(|count| count > 0) {}
}

struct Link<'a> {
    shared: &'a Shared,
    unanswered: Mutex<Unanswered>,
    /// Whether it has subscribed to something.
    listens: AtomicBool,
}

impl Link<'_> {
    async fn requests(&self, mut from: ReadHalf<'_>, mut to: WriteHalf<'_>) -> End {
        let mut bytes = Vec::new();
        loop {
            let (len, command) = match framing::request(&bytes) {
                Ok(Some(request)) => (request.len, Arc::new(Command::new(request.texts))),
                Ok(None) if more(&mut from, &mut bytes).await => continue,
                Ok(None) => {
                    let _ = to.shutdown().await;
                    return End::Closed;
                }
                Err(malformed) => return self.broken(&malformed),
            };
            self.shared.note(&command, Stage::Came);
            let (goes, ends) = match self.shared.fault_at(Way::Request, Some(&command)).await {
                Goes::On => (len, false),
                Goes::Other(other) => {
                    bytes.splice(..len, other.iter().copied());
                    continue;
                }
                Goes::Part(part) => (part.min(len), true),
                Goes::Nowhere => return swallow(&mut from).await,
            };
            if goes == len {
                self.listens.fetch_or(command.subscribes(), Ordering::SeqCst);
                lock(&self.unanswered).push_back((Arc::clone(&command), replies_to(&command)));
                self.shared.note(&command, Stage::Passed);
            }
            if !pass(&mut to, &mut bytes, (goes, len)).await || ends {
                return End::Cut;
            }
        }
    }

    async fn replies(&self, mut from: ReadHalf<'_>, mut to: WriteHalf<'_>) -> End {
        let mut bytes = Vec::new();
        loop {
            let (mut len, kind) = match framing::reply(&bytes) {
                Ok(Some(reply)) => (reply.len, reply.kind),
                Ok(None) if more(&mut from, &mut bytes).await => continue,
                Ok(None) => return End::Closed,
                Err(malformed) => return self.broken(&malformed),
            };
            let (command, is_last) = self.answered(kind);
            let (goes, ends) = match self.shared.fault_at(Way::Reply, command.as_deref()).await {
                Goes::On => (len, false),
                Goes::Other(other) => {
                    bytes.splice(..len, other.iter().copied());
                    len = other.len();
                    (len, false)
                }
                Goes::Part(part) => (part.min(len), true),
                Goes::Nowhere => return swallow(&mut from).await,
            };
            if let Some(command) = command.filter(|_| is_last && goes == len) {
                self.shared.note(&command, Stage::Answered);
            }
            // A client that is gone may have sent more before it went, which is still carried out.
            let _ = pass(&mut to, &mut bytes, (goes, len)).await;
            if ends {
                return End::Cut;
            }
        }
    }

    /// The command that this is a reply to, and whether it is its last one.
    fn answered(&self, kind: Kind) -> (Option<Arc<Command>>, bool) {
        let mut unanswered = lock(&self.unanswered);
        let Some((command, left)) = unanswered.front_mut() else { return (None, false) };
        let unasked = match kind {
            Kind::Push => true,
            Kind::Message => self.listens.load(Ordering::SeqCst),
            // Also said of a channel that the server takes away by itself.
            Kind::Subscription => !command.subscribes(),
            Kind::Answer | Kind::Refusal => false,
        };
        if unasked {
            return (None, false);
        }
        let command = Arc::clone(command);
        // A subscription that is refused is refused as a whole.
        *left = if kind == Kind::Refusal { 0 } else { *left - 1 };
        let is_last = *left == 0;
        if is_last {
            unanswered.pop_front();
        }
        (Some(command), is_last)
    }

    fn broken(&self, malformed: &Malformed) -> End {
        lock(&self.shared.broken).get_or_insert_with(|| malformed.to_string());
        End::Cut
    }
}

/// How many replies a command gets: one for each channel of a subscription.
fn replies_to(command: &Command) -> usize {
    if command.subscribes() { command.arguments.len().max(1) } else { 1 }
}

/// Passes on the first `goes` of the next `len` bytes.
async fn pass(to: &mut WriteHalf<'_>, bytes: &mut Vec<u8>, (goes, len): (usize, usize)) -> bool {
    let passed = to.write_all(&bytes[..goes]).await;
    bytes.drain(..len);
    passed.is_ok()
}

async fn more(from: &mut ReadHalf<'_>, bytes: &mut Vec<u8>) -> bool {
    bytes.reserve(16 * 1024);
    from.read_buf(bytes).await.is_ok_and(|count| count > 0)
}

/// Reads what comes and passes none of it on.
async fn swallow(from: &mut ReadHalf<'_>) -> End {
    let mut rest = [0; 4096];
    while from.read(&mut rest).await.is_ok_and(|count| count > 0) {}
    End::Closed
}
