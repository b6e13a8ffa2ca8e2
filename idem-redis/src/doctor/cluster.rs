//! Who serves which slots: every node that has some is looked at.

use futures_util::future::join_all;

use crate::check::{Part, Server, learn};
use crate::cluster::Cluster;
use crate::error::ConnectError;

use super::finding::Severity::{Degrades, Endangers};
use super::finding::{Finding, Topic};
use super::look::Seen;
use super::{Doctor, clocks, clocks_of};

pub(super) async fn look(doctor: &Doctor, cluster: &Cluster) -> Result<Vec<Finding>, ConnectError> {
    learn(cluster).await?;
    let look = doctor.begin(Part::Node);
    let nodes = cluster.nodes();
    let connect = |host: &str, port| cluster.server(host, port).ok();
    let looks = nodes.iter().map(|node| async move {
        let seen = look.at(Server(&node.connections), node.to_string()).await?;
        let clocks = clocks_of(&seen, look, connect).await;
        Ok((seen, clocks))
    });
    let (mut findings, mut clocks, mut away) = (Vec::new(), Vec::new(), Vec::new());
    for looked in join_all(looks).await {
        match looked {
            Ok((seen, (of_node, unseen))) => {
                findings.extend(doctor.judge(&seen, true));
                findings.extend(state(&seen).or_else(|| coverage(&seen)));
                findings.extend(unseen);
                clocks.extend(of_node);
            }
            Err(error) => away.push(error),
        }
    }
    if away.len() == nodes.len()
        && let Some(error) = away.pop()
    {
        return Err(error);
    }
    findings.extend(away.into_iter().map(is_away));
    findings.extend(unserved(cluster.unserved(), &cluster.address()));
    findings.extend(clocks::findings(&clocks));
    Ok(findings)
}

fn is_away(error: ConnectError) -> Finding {
    let (address, reason) = match error {
        ConnectError::Unreachable { address, reason } => (address, reason),
        other => (String::new(), other.to_string()),
    };
    let what = format!(
        "a node that has slots is away ({reason}): calls of its records fail, and what runs cannot be \
         renewed or stored"
    );
    Finding::new(Endangers, Topic::Reach, &address, what, "bring it back, or a replica of it")
}

fn state(seen: &Seen) -> Option<Finding> {
    let fails = seen.cluster.as_ref()?.is("cluster_state", "fail");
    fails.then(|| {
        let what = "the node holds the cluster to be down and refuses to serve: nothing begins, is \
                    renewed or stored there";
        let advice = "look at `CLUSTER NODES`, and give every slot a master";
        Finding::new(Endangers, Topic::Cluster, &seen.address, what, advice)
    })
}

fn coverage(seen: &Seen) -> Option<Finding> {
    let all_or_nothing = seen.config.as_ref()?.is("cluster-require-full-coverage", "yes");
    all_or_nothing.then(|| {
        let what = "where some slots have nobody, the node refuses to serve its own as well \
                    (`cluster-require-full-coverage yes`): one master that is lost is an outage of all";
        let advice = "set `cluster-require-full-coverage no`";
        Finding::new(Degrades, Topic::Cluster, &seen.address, what, advice)
    })
}

fn unserved(slots: usize, cluster: &str) -> Option<Finding> {
    (slots > 0).then(|| {
        let what = format!("slots without a node: {slots}; calls of their records fail");
        let advice = "give every slot a node (`redis-cli --cluster fix`)";
        Finding::new(Endangers, Topic::Cluster, cluster, what, advice)
    })
}
