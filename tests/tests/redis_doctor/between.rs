//! Something between a service and a server that changes what the server says.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What becomes of a reply.
#[derive(Clone, Copy)]
pub(crate) enum Twist {
    /// It comes this much later.
    Late(Duration),
    /// `TIME` shows this many seconds more.
    Ahead(i64),
    /// A reply in which this stands never comes.
    Swallow(&'static str),
}

/// Listens on a port of its own for the server at `port`, as long as the runtime lives.
pub(crate) async fn between(port: u16, twist: Twist) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let own = listener.local_addr().unwrap().port();
    let twist = Arc::new(twist);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await else {
                continue;
            };
            tokio::spawn(pass(client, server, Arc::clone(&twist)));
        }
    });
    own
}

async fn pass(client: TcpStream, server: TcpStream, twist: Arc<Twist>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let replies = async {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from_server.read(&mut bytes).await {
            let reply = twist.applied(&bytes[..count]).await;
            if to_client.write_all(&reply).await.is_err() {
                break;
            }
        }
    };
    tokio::select! {
        _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
        () = replies => {}
    }
}

impl Twist {
    async fn applied(self, reply: &[u8]) -> Vec<u8> {
        match self {
            Self::Late(by) => {
                tokio::time::sleep(by).await;
                reply.to_vec()
            }
            Self::Ahead(seconds) => shifted(reply, seconds),
            Self::Swallow(what) => {
                let stands = reply.windows(what.len()).any(|part| part == what.as_bytes());
                if stands { Vec::new() } else { reply.to_vec() }
            }
        }
    }
}

/// A reply to `TIME` is alone in what is read: nothing else is asked for meanwhile.
fn shifted(reply: &[u8], seconds: i64) -> Vec<u8> {
    const HEAD: &str = "*2\r\n$10\r\n";
    let text = String::from_utf8_lossy(reply);
    let Some((time, rest)) = text.strip_prefix(HEAD).and_then(|rest| rest.split_once("\r\n"))
    else {
        return reply.to_vec();
    };
    let Ok(time) = time.parse::<i64>() else { return reply.to_vec() };
    format!("{HEAD}{}\r\n{rest}", time + seconds).into_bytes()
}
