//! What blocks, by its full path, and what to write instead.

const AWAIT: &str = "`.await` the future instead";

/// Functions that block.
const FUNCTIONS: [(&str, &str); 5] = [
    ("std::thread::sleep", "use `tokio::time::sleep(…).await`"),
    ("std::net::TcpStream::connect", "use `tokio::net::TcpStream::connect(…).await`"),
    (
        "std::net::TcpStream::connect_timeout",
        "use `tokio::time::timeout(…, tokio::net::TcpStream::connect(…)).await`",
    ),
    ("std::net::UdpSocket::connect", "use `tokio::net::UdpSocket`"),
    ("std::os::unix::net::UnixStream::connect", "use `tokio::net::UnixStream::connect(…).await`"),
];

/// Modules and crates in which everything blocks.
const PREFIXES: [(&str, &str); 3] = [
    ("std::fs::", "use `tokio::fs`"),
    ("reqwest::blocking::", "use reqwest's async client, `reqwest::Client`"),
    ("ureq::", "use an async client, such as `reqwest::Client`"),
];

/// What to write instead of the function at `path`, if it blocks.
pub(super) fn function(path: &str) -> Option<&'static str> {
    if last(path) == "block_on" {
        return Some(AWAIT);
    }
    let exact = FUNCTIONS.iter().find(|(name, _)| *name == path);
    let prefix = || PREFIXES.iter().find(|(prefix, _)| path.starts_with(prefix));
    // `Receiver::recv(&rx)` is `rx.recv()`.
    let method = || {
        let (ty, method) = path.rsplit_once("::")?;
        Kind::named(ty)?.blocks_in(method)
    };
    exact.or_else(prefix).map(|(_, instead)| *instead).or_else(method)
}

/// What to write instead of a method of any type, if its name alone tells that it blocks.
pub(super) fn method(name: &str) -> Option<&'static str> {
    (name == "block_on").then_some(AWAIT)
}

/// Whether what is handed to `path` runs on a thread that may block.
pub(super) fn may_block(path: &str) -> bool {
    matches!(last(path), "spawn_blocking" | "block_in_place") || path == "std::thread::spawn"
}

pub(super) fn makes_channel(path: &str) -> bool {
    matches!(path, "std::sync::mpsc::channel" | "std::sync::mpsc::sync_channel")
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// A type of the standard library with methods that block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Command,
    Condvar,
    Listener,
    Receiver,
    Stdin,
}

impl Kind {
    const ALL: [Self; 5] =
        [Self::Command, Self::Condvar, Self::Listener, Self::Receiver, Self::Stdin];

    fn path(self) -> &'static str {
        match self {
            Self::Command => "std::process::Command",
            Self::Condvar => "std::sync::Condvar",
            Self::Listener => "std::net::TcpListener",
            Self::Receiver => "std::sync::mpsc::Receiver",
            Self::Stdin => "std::io::Stdin",
        }
    }

    /// The kind whose path is `path`.
    pub(super) fn named(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.path() == path)
    }

    /// The kind of what the function at `path` returns: `Command::new`, `TcpListener::bind`.
    pub(super) fn made_by(path: &str) -> Option<Self> {
        if path == "std::io::stdin" {
            return Some(Self::Stdin);
        }
        let (ty, function) = path.rsplit_once("::")?;
        matches!(function, "new" | "bind" | "default").then(|| Self::named(ty))?
    }

    /// Its method's full path, for a message.
    pub(super) fn method(self, name: &str) -> String {
        format!("{}::{name}", self.path())
    }

    /// What to write instead of its method, if that blocks.
    pub(super) fn blocks_in(self, method: &str) -> Option<&'static str> {
        let (methods, instead): (&[&str], _) = match self {
            Self::Command => (&["output", "status"], "use `tokio::process::Command` and `.await`"),
            Self::Condvar => (
                &["wait", "wait_while", "wait_timeout", "wait_timeout_ms", "wait_timeout_while"],
                "use `tokio::sync::Notify` or a `tokio::sync::watch` channel",
            ),
            Self::Listener => {
                (&["accept", "incoming", "into_incoming", "iter"], "use `tokio::net::TcpListener`")
            }
            Self::Receiver => (
                &["recv", "recv_timeout", "recv_deadline", "iter", "into_iter"],
                "use a `tokio::sync::mpsc` channel",
            ),
            Self::Stdin => (
                &[
                    "read_line",
                    "lines",
                    "read",
                    "read_exact",
                    "read_until",
                    "read_to_end",
                    "read_to_string",
                    "bytes",
                ],
                "use `tokio::io::stdin()`",
            ),
        };
        methods.contains(&method).then_some(instead)
    }

    /// Whether its method gives something of the same kind: an unwrapped one, a handle to it, a
    /// builder.
    pub(super) fn kept_by(self, method: &str) -> bool {
        match method {
            "unwrap" | "expect" | "clone" | "as_ref" | "as_mut" | "by_ref" => true,
            "lock" => self == Self::Stdin,
            // Everything else on a `Command` but the calls that run it returns the builder.
            other => self == Self::Command && !matches!(other, "spawn" | "output" | "status"),
        }
    }
}
