//! Findings: what is the matter, with which server, and what to do.

use std::fmt;

/// How much a finding matters; the greater, the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing, and whatever could not be looked at.
    Notes,
    /// The promises hold, and something works less well than it could, or breaks with the next fault.
    Degrades,
    /// The promises are at stake: outcomes or reservations can get lost, or cannot be renewed and
    /// stored now.
    Endangers,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Topic {
    /// Whether the server is there.
    Reach,
    /// What becomes of records when the memory is full.
    Memory,
    /// What becomes of records when the server ends.
    Persistence,
    /// What becomes of records when a replica takes over.
    Replication,
    /// Who notices that the master is lost.
    Sentinels,
    /// Who serves which slots.
    Cluster,
    /// How far the servers' clocks are apart.
    Clocks,
    /// What the user may do.
    Rights,
    /// How long a round trip takes.
    Latency,
    /// What is known of the server's version.
    Version,
}

/// Something about a deployment that a person should know, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What it is about.
    pub topic: Topic,
    /// Which server it was found on: host and port, or the socket's path.
    pub server: String,
    /// What was found, and what that means for calls.
    pub what: String,
    /// What to do.
    pub advice: String,
}

impl Finding {
    pub(super) fn new(
        severity: Severity,
        topic: Topic,
        server: &str,
        what: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            topic,
            server: server.to_owned(),
            what: what.into(),
            advice: advice.into(),
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Notes => "notes",
            Self::Degrades => "degrades",
            Self::Endangers => "endangers",
        })
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reach => "reach",
            Self::Memory => "memory",
            Self::Persistence => "persistence",
            Self::Replication => "replication",
            Self::Sentinels => "sentinels",
            Self::Cluster => "cluster",
            Self::Clocks => "clocks",
            Self::Rights => "rights",
            Self::Latency => "latency",
            Self::Version => "version",
        })
    }
}

/// In one line.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, topic, server, what, advice } = self;
        write!(f, "{severity} ({topic}) {server}: {what}; {advice}")
    }
}
