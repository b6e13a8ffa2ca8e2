//! The servers of a deployment, as commands on records see them: one, or the nodes of a cluster.

use std::sync::Arc;
use std::time::Duration;

use idem_runtime::RecordKey;
use redis::{Cmd, Pipeline, RedisResult, Value};

use crate::address::Address;
use crate::builder::Times;
use crate::cluster::Cluster;
use crate::connections::Connections;
use crate::error::ConnectError;
use crate::names::record_name;
use crate::place::{Certificates, Manner, Place};
use crate::scripts::Script;
use crate::sentinels::Sentinels;

/// A command on one record.
#[derive(Debug)]
pub(crate) struct Call {
    /// The record's name.
    pub(crate) record: String,
    pub(crate) command: Cmd,
}

impl Call {
    /// A command with room for what is usual, so that it need not grow argument by argument.
    pub(crate) fn sized(record: String) -> Self {
        const ARGUMENTS: usize = 7;
        const BYTES_BESIDE_NAME: usize = 240;
        let command = Cmd::with_capacity(ARGUMENTS, record.len() + BYTES_BESIDE_NAME);
        Self { record, command }
    }
}

/// Where the records are.
#[derive(Debug)]
pub(crate) enum Servers {
    /// One server, or the master that sentinels name.
    One(Connections),
    Cluster(Cluster),
}

impl Servers {
    pub(crate) fn new(
        address: Address,
        times: Times,
        certificates: &Certificates,
    ) -> Result<Self, ConnectError> {
        let unusable = |error: redis::RedisError| ConnectError::Setting(error.to_string());
        let client = |info| certificates.client(info).map_err(unusable);
        let refused = |fault: &str| ConnectError::Setting(fault.to_owned());
        certificates.check(address.is_encrypted()).map_err(refused)?;
        Ok(match address {
            Address::Server(info) => {
                Self::One(Connections::new(Place::Server(Arc::new(client(info)?)), times))
            }
            Address::Sentinels { sentinels, master, login, encrypted } => {
                let sentinels = sentinels.into_iter().map(client).collect::<Result<_, _>>()?;
                let manner = Manner { login, encrypted, certificates: certificates.clone() };
                let sentinels = Sentinels::new(sentinels, master, manner, times);
                Self::One(Connections::new(Place::Master(Arc::new(sentinels)), times))
            }
            Address::Cluster { seeds, login, encrypted } => {
                let manner = Manner { login, encrypted, certificates: certificates.clone() };
                Self::Cluster(Cluster::new(&seeds, manner, times).map_err(unusable)?)
            }
        })
    }

    /// The same servers, by connections of their own.
    pub(crate) fn separate(&self) -> Self {
        match self {
            Self::One(connections) => Self::One(connections.separate()),
            Self::Cluster(cluster) => Self::Cluster(cluster.separate()),
        }
    }

    /// Sends calls, each to the server that has its record, and gives the reply to each; a refusal
    /// of a server's is a reply. If they are calls of a script, a server that has forgotten it is
    /// given it. What has been answered waits for `patience` at most for calls that are sent on from
    /// one server to another.
    pub(crate) async fn carry(
        &self,
        script: Option<&Script>,
        calls: Vec<Call>,
        patience: Duration,
    ) -> Vec<RedisResult<Value>> {
        match self {
            Self::One(connections) => {
                let mut commands = Pipeline::with_capacity(calls.len());
                for call in calls {
                    commands.add_command(call.command);
                }
                carry(connections, script, &commands).await
            }
            Self::Cluster(cluster) => cluster.carry(script, calls, patience).await,
        }
    }

    /// The same for one call, at less cost.
    pub(crate) async fn carry_one(
        &self,
        script: Option<&Script>,
        call: Call,
        patience: Duration,
    ) -> RedisResult<Value> {
        match self {
            Self::One(connections) => connections.call_one(script, call.command).await,
            Self::Cluster(cluster) => {
                let replies = Box::pin(cluster.carry(script, vec![call], patience)).await;
                replies.into_iter().next().unwrap_or(Ok(Value::Okay))
            }
        }
    }

    /// A number that is the same for records on the same server.
    pub(crate) fn group(&self, key: &RecordKey) -> u64 {
        match self {
            Self::One(_) => 0,
            Self::Cluster(cluster) => cluster.group(&record_name(key)),
        }
    }

    /// Where the server is that tells of a record's changes.
    pub(crate) fn place(&self, record: &str) -> Option<Place> {
        match self {
            Self::One(connections) => Some(connections.place().clone()),
            Self::Cluster(cluster) => cluster.place(record),
        }
    }

    /// Whether one script can be about both of these.
    #[cfg(feature = "consumer")]
    pub(crate) fn are_together(&self, record: &str, other: &str) -> bool {
        match self {
            Self::One(_) => true,
            Self::Cluster(_) => Cluster::are_together(record, other),
        }
    }

    /// The same for the same keys on the same servers, as far as their addresses say so.
    #[cfg(feature = "consumer")]
    pub(crate) fn identity(&self) -> String {
        match self {
            Self::One(connections) => connections.place().identity(),
            Self::Cluster(cluster) => cluster.address(),
        }
    }

    /// Takes note of a reply that says which server has a record now; `from` is who said it.
    pub(crate) fn redirected(&self, reply: &Value, from: &Place) {
        if let Self::Cluster(cluster) = self {
            cluster.redirected(reply, from.host());
        }
    }
}

/// Sends commands to one server.
pub(crate) async fn carry(
    server: &Connections,
    script: Option<&Script>,
    commands: &Pipeline,
) -> Vec<RedisResult<Value>> {
    match script {
        Some(script) => server.call(script, commands).await,
        None => match server.send(commands).await {
            Ok(replies) => replies.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error); commands.len()],
        },
    }
}
