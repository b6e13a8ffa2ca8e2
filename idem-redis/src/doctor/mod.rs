//! The doctor: looks at a deployment for what endangers the promises, and says what to do.
//!
//! Each group of checks is a function from what a server says of itself to findings. What the user
//! may not ask is a finding, not an error.

mod clocks;
mod cluster;
mod finding;
#[cfg(test)]
mod fuzz;
mod latency;
mod look;
mod memory;
mod persistence;
mod replication;
mod rights;
mod rounds;
mod sentinels;
mod versions;

use std::fmt;
use std::pin::Pin;

use futures_util::future::join_all;
use tokio::time::{Instant, timeout};

use crate::builder::Times;
use crate::check::{Part, Server};
use crate::connections::Connections;
use crate::error::ConnectError;
use crate::place::Place;
use crate::servers::Servers;

pub use finding::{Finding, Severity, Topic};
use look::{Look, Seen, glance};
use rounds::{Clock, Rounds};

/// A look at a deployment, which begins when it is awaited; see
/// [`RedisBackend::doctor`](crate::RedisBackend::doctor).
#[must_use = "it looks when it is awaited"]
pub struct Doctor {
    servers: Servers,
    times: Times,
    prefix: Option<String>,
}

impl Doctor {
    /// `servers` are connected to anew, so that calls are not held up by the look.
    pub(crate) fn new(servers: &Servers, times: Times) -> Self {
        Self { servers: servers.separate(), times, prefix: None }
    }

    /// The prefix of the `Idem`. With it the user's rights on its keys and channels are looked at;
    /// without, only those of a user that may touch any key.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    async fn look(self) -> Result<Vec<Finding>, ConnectError> {
        let mut findings = match &self.servers {
            Servers::One(server) => self.look_at_one(server).await?,
            Servers::Cluster(cluster) => cluster::look(&self, cluster).await?,
        };
        findings.sort_by(|one, other| {
            let worst_first = other.severity.cmp(&one.severity);
            worst_first.then_with(|| (one.topic, &one.server).cmp(&(other.topic, &other.server)))
        });
        Ok(findings)
    }

    async fn look_at_one(&self, server: &Connections) -> Result<Vec<Finding>, ConnectError> {
        let look = self.begin(Part::Alone);
        let Place::Master(sentinels) = server.place() else {
            let seen = look.at(Server(server), server.place().address()).await?;
            return Ok(self.judge(&seen, false));
        };
        let (mut findings, named) = sentinels::look(sentinels, self.times).await;
        let address = named.unwrap_or_else(|| server.place().address());
        let seen = look.at(Server(server), address).await?;
        findings.extend(self.judge(&seen, true));
        let connect = |host: &str, port| sentinels.server(host, port).ok();
        let (clocks, unseen) = clocks_of(&seen, look, connect).await;
        findings.extend(unseen);
        findings.extend(clocks::findings(&clocks));
        Ok(findings)
    }

    fn begin(&self, part: Part) -> Look<'_> {
        Look { part, prefix: self.prefix.as_deref(), start: Instant::now() }
    }

    /// What is the matter with one server.
    fn judge(&self, seen: &Seen, fails_over: bool) -> Vec<Finding> {
        let mut findings = settings(seen, fails_over);
        findings.extend(rights::findings(seen, self.prefix.as_deref()));
        findings.extend(latency::findings(seen, self.times.command));
        findings.extend(versions::findings(seen));
        findings
    }
}

/// What `INFO` is enough for: looked at when a backend connects, too.
fn settings(seen: &Seen, fails_over: bool) -> Vec<Finding> {
    let mut findings = persistence::findings(seen);
    findings.extend(memory::findings(seen));
    findings.extend(replication::findings(seen, fails_over));
    findings
}

/// The clocks of a master and of its replicas, any of which may take over; and which of them could
/// not be looked at.
async fn clocks_of(
    seen: &Seen,
    look: Look<'_>,
    connect: impl Fn(&str, u16) -> Option<Connections>,
) -> (Vec<(String, Clock)>, Vec<Finding>) {
    let own = seen.rounds.clock.map(|clock| (seen.address.clone(), clock));
    let replicas: Vec<_> = seen.info.iter().flat_map(replication::replicas_of).collect();
    let looks = replicas.iter().map(|replication::Replica { host, port, .. }| {
        let connections = connect(host, *port);
        async move {
            let rounds = match &connections {
                Some(replica) => rounds::take(Server(replica), look.start).await,
                None => Rounds::default(),
            };
            (format!("{host}:{port}"), rounds.clock)
        }
    });
    let (mut clocks, mut unseen) = (Vec::from_iter(own), Vec::new());
    for (address, clock) in join_all(looks).await {
        match clock {
            Some(clock) => clocks.push((address, clock)),
            None => {
                let what = "not looked at: the clock of this replica, which could not be reached or \
                            refuses the user";
                let advice =
                    "look from where it can be reached, and give every server the same users";
                unseen.push(Finding::new(Severity::Notes, Topic::Clocks, &address, what, advice));
            }
        }
    }
    (clocks, unseen)
}

/// Looks at what shows at once, for as long as one command may take, and logs what endangers the
/// promises. A right that is missing, or a server that is away, is no matter here.
pub(crate) async fn warn(servers: &Servers, times: Times) {
    let glance = |server| timeout(times.command, glance(Server(server)));
    let (seen, fails_over) = match servers {
        Servers::One(server) => {
            let fails_over = matches!(server.place(), Place::Master(_));
            (vec![glance(server).await], fails_over)
        }
        Servers::Cluster(cluster) => {
            let nodes = cluster.nodes();
            (join_all(nodes.iter().map(|node| glance(&node.connections))).await, true)
        }
    };
    for finding in seen.iter().flatten().flatten().flat_map(|seen| settings(seen, fails_over)) {
        if finding.severity >= Severity::Endangers {
            let Finding { server, topic, what, advice, .. } = finding;
            tracing::warn!(
                target: "idem",
                address = server,
                %topic,
                what,
                advice,
                "a setting of Redis endangers what idem promises"
            );
        }
    }
}

impl IntoFuture for Doctor {
    type Output = Result<Vec<Finding>, ConnectError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.look())
    }
}

impl fmt::Debug for Doctor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { servers, times, prefix } = self;
        f.debug_struct("Doctor")
            .field("servers", servers)
            .field("times", times)
            .field("prefix", prefix)
            .finish()
    }
}
