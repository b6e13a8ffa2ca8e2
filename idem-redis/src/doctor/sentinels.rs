//! Who notices that the master is lost.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use redis::{Client, Pipeline, ServerError, Value};

use crate::builder::Times;
use crate::check::Server;
use crate::connections::Connections;
use crate::error::{ConnectError, text};
use crate::place::Place;
use crate::sentinels::Sentinels;

use super::finding::Severity::{Degrades, Notes};
use super::finding::{Finding, Topic};
use super::look::Fields;

/// Fewer cannot outvote one that is cut off.
const FEWEST: u64 = 3;
/// Half of the lease that calls have unless it is set: the other half is for the election, and for a
/// renewal that is due.
const LONGEST_DOWN: Duration = Duration::from_secs(15);

/// What one sentinel says of the master.
struct Said {
    sentinel: String,
    /// Where it is, how many sentinels there are, …; or why that is not known.
    master: Result<Fields, ServerError>,
    quorum: Option<ServerError>,
}

/// Looks at the sentinels: the findings, and where the master is if they agree.
pub(super) async fn look(sentinels: &Sentinels, times: Times) -> (Vec<Finding>, Option<String>) {
    let asked = sentinels.each().iter().map(|client| ask(client, sentinels.master(), times));
    let (mut findings, mut said) = (Vec::new(), Vec::new());
    for answer in join_all(asked).await {
        match answer {
            Ok(one) => said.push(one),
            Err(away) => findings.push(away),
        }
    }
    findings.extend(said.iter().flat_map(|said| of_one(said, sentinels.master())));
    let masters: Vec<_> = said.iter().filter_map(|said| said.master.as_ref().ok()).collect();
    let first = said.first().map_or("", |said| &*said.sentinel);
    findings.extend(of_all(&masters, sentinels.each().len(), first));
    let mut places: Vec<_> = masters.iter().filter_map(|master| place(master)).collect();
    places.sort_unstable();
    places.dedup();
    if places.len() > 1 {
        let what = format!(
            "the sentinels name different masters ({}): a failover is under way, or some of them are \
             cut off",
            places.join(", ")
        );
        let advice = "look again in a minute, and at the network between the sentinels then";
        findings.push(finding(Degrades, first, what, advice));
        places.clear();
    }
    (findings, places.pop())
}

async fn ask(client: &Client, master: &str, times: Times) -> Result<Said, Finding> {
    let connections = Connections::new(Place::Server(Arc::new(client.clone())), times);
    let server = Server(&connections);
    let sentinel = server.address();
    let mut commands = Pipeline::new();
    commands.cmd("SENTINEL").arg("MASTER").arg(master);
    commands.cmd("SENTINEL").arg("CKQUORUM").arg(master);
    let replies = match server.ask(&commands).await {
        Ok(replies) => replies,
        Err(error) => {
            let reason = match error {
                ConnectError::Unreachable { reason, .. } => reason,
                other => other.to_string(),
            };
            let what = format!("the sentinel is away ({reason}): it has no vote in a failover");
            return Err(finding(Degrades, &sentinel, what, "bring it back"));
        }
    };
    let mut replies = replies.into_iter();
    let master = match replies.next() {
        Some(Value::ServerError(error)) => Err(error),
        reply => Ok(reply.as_ref().and_then(Fields::of_pairs).unwrap_or_default()),
    };
    let quorum = match replies.next() {
        Some(Value::ServerError(error)) => Some(error),
        _ => None,
    };
    Ok(Said { sentinel, master, quorum })
}

fn of_one(said: &Said, master: &str) -> Option<Finding> {
    let Said { sentinel, master: fields, quorum } = said;
    let refusal = fields.as_ref().err().or(quorum.as_ref())?;
    Some(match refusal.code() {
        "NOPERM" | "NOAUTH" => {
            let what = format!("not looked at: the sentinel refuses ({})", text(refusal));
            let advice = "give the sentinel's user `+sentinel|master +sentinel|ckquorum`";
            finding(Notes, sentinel, what, advice)
        }
        "NOQUORUM" => {
            let what = format!(
                "too few sentinels are there for a failover ({}): a master that is lost stays lost",
                text(refusal)
            );
            finding(Degrades, sentinel, what, "bring the other sentinels back, or lower the quorum")
        }
        _ => {
            let what =
                format!("the sentinel does not watch the master {master} ({})", text(refusal));
            finding(Degrades, sentinel, what, "have it watch the master (`SENTINEL MONITOR`)")
        }
    })
}

/// What holds for all of them; `listed`: how many sentinels the address has.
fn of_all(masters: &[&Fields], listed: usize, first: &str) -> Vec<Finding> {
    let greatest = |name: &str| masters.iter().filter_map(|one| one.number::<u64>(name)).max();
    let mut findings = Vec::new();
    if let Some(others) = greatest("num-other-sentinels") {
        let count = others + 1;
        if count < FEWEST {
            let what = format!(
                "{count} of them watch the master: without one there is no majority for a failover"
            );
            findings.push(finding(Degrades, first, what, "have three sentinels or more"));
        } else if listed == 1 {
            let what = format!(
                "the address names one of {count} sentinels: while that is away, no connection to the \
                 master can be opened"
            );
            findings.push(finding(Notes, first, what, "name all of them in the address"));
        }
    }
    if let Some(down) = greatest("down-after-milliseconds").map(Duration::from_millis)
        && down > LONGEST_DOWN
    {
        let what = format!(
            "a master counts as lost after {down:?}: leases of 30 s, the default, end during a failover"
        );
        let advice = "set `down-after-milliseconds` to a fraction of the shortest lease";
        findings.push(finding(Degrades, first, what, advice));
    }
    findings
}

fn place(master: &Fields) -> Option<String> {
    Some(format!("{}:{}", master.text("ip")?, master.text("port")?))
}

fn finding(
    severity: super::Severity,
    sentinel: &str,
    what: impl Into<String>,
    advice: &str,
) -> Finding {
    Finding::new(severity, Topic::Sentinels, sentinel, what, advice)
}
