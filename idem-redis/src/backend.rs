//! The operations of the protocol as commands: begin is one native command, what compares and then
//! acts is one script.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use idem_runtime::backend::{Reach, Renewal, Watch};
use idem_runtime::protocol::transition::{
    BeginReply, CompleteReply, DiscardReply, FenceReply, ReleaseReply, RenewReply, ReplaceReply,
};
use idem_runtime::record::seal::of_reservation;
use idem_runtime::record::{Found, Head, Owner, Record, State, VERSION};
use idem_runtime::{Backend, BackendError, RecordKey};
use redis::{RedisResult, Value};

use crate::builder::{RedisBuilder, Times};
use crate::changes::Changes;
use crate::doctor::Doctor;
use crate::error::{ConnectError, unreached};
use crate::names::record_name;
use crate::reply;
use crate::scripts::{self, Script};
use crate::servers::{Call, Servers};

type Answer<T> = Result<T, BackendError>;

/// Records in Redis, shared by every process that connects to it. Cheap to clone.
///
/// A clone may be used from any runtime: each runtime it is called on gets a connection of its own
/// (to each node of a cluster). Opening it and waiting for a reply are bounded by the connect and
/// the command timeout.
#[derive(Clone)]
pub struct RedisBackend {
    servers: Arc<Servers>,
    changes: Arc<Changes>,
    times: Times,
}

impl RedisBackend {
    /// Connects with the default settings; see [`RedisBuilder`].
    ///
    /// # Errors
    /// [`ConnectError`] says what is wrong with the address, the server or the user.
    pub async fn connect(url: &str) -> Result<Self, ConnectError> {
        Self::builder(url).connect().await
    }

    /// Settings for a connection to one of
    ///
    /// - `redis://user:password@host:port/database`, or `unix:///path/to/socket`,
    /// - `redis-sentinel://user:password@host:port,host:port/database?master=name`, where the hosts
    ///   are sentinels and the rest is for the master they name; theirs are `&sentinel_user=` and
    ///   `&sentinel_password=`,
    /// - `redis-cluster://user:password@host:port,host:port`, some of the cluster's nodes.
    ///
    /// With `rediss` in place of `redis` connections are encrypted (feature `tls`); with
    /// `?protocol=resp3` commands go by RESP3.
    pub fn builder(url: impl Into<String>) -> RedisBuilder {
        RedisBuilder::new(url.into())
    }

    /// Looks at the deployment: what endangers the promises, what works less well than it could, and
    /// what to do about it. The findings come worst first, and none is good news.
    ///
    /// Every master is looked at, every node of a cluster that has slots, and sentinels, by
    /// connections of its own and with the rights that the user has: what it may not look at is a
    /// finding too. Nothing is written. It takes some fifteen round trips to each server, each within
    /// the times set on the builder.
    ///
    /// ```no_run
    /// # async fn look(backend: idem_redis::RedisBackend) -> Result<(), idem_redis::ConnectError> {
    /// for finding in backend.doctor().prefix("shop").await? {
    ///     println!("{finding}");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ConnectError`], when awaited: the server is not there, or no node of the cluster is.
    pub fn doctor(&self) -> Doctor {
        Doctor::new(&self.servers, self.times)
    }

    pub(crate) fn new(servers: Arc<Servers>, times: Times) -> Self {
        let changes = Arc::new(Changes::new(Arc::clone(&servers), times));
        Self { servers, changes, times }
    }

    /// Where it is, and how long that may take.
    #[cfg(feature = "consumer")]
    pub(crate) fn parts(&self) -> (&Arc<Servers>, Times) {
        (&self.servers, self.times)
    }

    /// Calls a script on one record.
    async fn call(&self, what: &str, script: &Script, call: Call) -> Answer<Value> {
        self.carry(what, Some(script), call).await
    }

    async fn carry(&self, what: &str, script: Option<&Script>, call: Call) -> Answer<Value> {
        let reply = self.servers.carry_one(script, call, self.times.command).await;
        self.reached(what, reply)
    }

    fn reached(&self, what: &str, reply: RedisResult<Value>) -> Answer<Value> {
        reply.map_err(|error| unreached(what, self.times, &error))
    }
}

impl fmt::Debug for RedisBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { servers, changes, times } = self;
        f.debug_struct("RedisBackend")
            .field("servers", servers)
            .field("changes", changes)
            .field("times", times)
            .finish()
    }
}

impl Backend for RedisBackend {
    async fn begin(
        &self,
        key: &RecordKey,
        reservation: &Record,
        lease: Duration,
    ) -> Answer<BeginReply> {
        let mut call = Call::sized(record_name(key));
        let life = lease.saturating_add(reservation.retention());
        call.command.arg("SET").arg(&call.record).arg(reservation.to_bytes());
        call.command.arg("NX").arg("GET").arg("PX").arg(millis(life));
        let reply = self.carry("begin", None, call).await?;
        let begun = reply::begin(&reply, reservation);
        // Where nothing may be written, what stands may still be an answer.
        if let (Err(_), Value::ServerError(error)) = (&begun, &reply)
            && WRITES_REFUSED.contains(&error.code())
            && let Ok(Some(found)) = self.peek(key).await
        {
            return Ok(reply::found(found.standing, reservation));
        }
        begun
    }

    async fn renew(&self, renewals: &[Renewal]) -> Vec<Answer<RenewReply>> {
        let calls = renewals.iter().map(|Renewal { key, owner, lease, retention }| {
            let mut call = scripts::RENEW.on(record_name(key));
            let life = lease.saturating_add(*retention);
            let retention = u64::try_from(retention.as_millis()).unwrap_or(u64::MAX);
            call.command
                .arg(head(reserved(*owner)).as_slice())
                .arg(retention.to_be_bytes().as_slice())
                .arg(millis(life))
                .arg(of_reservation(*owner, retention).as_slice());
            call
        });
        // Half of the time in which the keeper wants its answers, an eighth of the lease.
        let patience = renewals.iter().map(|renewal| renewal.lease / 16).min().unwrap_or_default();
        let replies = self.servers.carry(Some(&scripts::RENEW), calls.collect(), patience).await;
        let judged = |reply| self.reached("renew", reply).and_then(|reply| reply::renew(&reply));
        replies.into_iter().map(judged).collect()
    }

    async fn complete(
        &self,
        key: &RecordKey,
        outcome: &Record,
        ttl: Duration,
    ) -> Answer<CompleteReply> {
        let mut call = scripts::COMPLETE.on(record_name(key));
        call.command
            .arg(head(reserved(outcome.owner)).as_slice())
            .arg(outcome.to_bytes())
            .arg(millis(ttl));
        reply::complete(&self.call("complete", &scripts::COMPLETE, call).await?)
    }

    async fn release(&self, key: &RecordKey, owner: Owner) -> Answer<ReleaseReply> {
        let mut call = scripts::RELEASE.on(record_name(key));
        call.command.arg(head(reserved(owner)).as_slice());
        reply::release(&self.call("release", &scripts::RELEASE, call).await?)
    }

    async fn replace(
        &self,
        key: &RecordKey,
        seen: Head,
        record: &Record,
        life: Duration,
        if_lapsed: Option<Duration>,
    ) -> Answer<ReplaceReply> {
        let mut call = scripts::REPLACE.on(record_name(key));
        call.command.arg(head(seen).as_slice()).arg(record.to_bytes()).arg(millis(life));
        match if_lapsed {
            Some(most) => call.command.arg(u64::try_from(most.as_millis()).unwrap_or(u64::MAX)),
            None => call.command.arg(""),
        };
        reply::replace(&self.call("replace", &scripts::REPLACE, call).await?)
    }

    async fn discard(&self, key: &RecordKey, owner: Owner) -> Answer<DiscardReply> {
        let mut call = scripts::DISCARD.on(record_name(key));
        call.command.arg(head(Head { state: State::Completed, owner }).as_slice());
        reply::discard(&self.call("discard", &scripts::DISCARD, call).await?)
    }

    async fn fence(&self, key: &RecordKey, owner: Owner) -> Answer<FenceReply> {
        let mut call = scripts::FENCE.on(record_name(key));
        call.command.arg(head(reserved(owner)).as_slice());
        reply::fence(&self.call("fence", &scripts::FENCE, call).await?)
    }

    async fn peek(&self, key: &RecordKey) -> Answer<Option<Found>> {
        let call = scripts::PEEK.on(record_name(key));
        reply::peek(&self.call("peek", &scripts::PEEK, call).await?)
    }

    async fn changed(&self, key: &RecordKey) -> Answer<Watch> {
        self.changes.watch(record_name(key)).await
    }

    async fn for_keeper(&self) -> Answer<Self> {
        let servers = Arc::new(self.servers.separate());
        Ok(Self { servers, changes: Arc::clone(&self.changes), times: self.times })
    }

    fn group(&self, key: &RecordKey) -> u64 {
        self.servers.group(key)
    }

    fn reach(&self) -> Reach {
        Reach::Shared
    }
}

/// Codes with which a server that can still be read refuses to write: its memory is full, its disk
/// fails, its replicas are away.
const WRITES_REFUSED: [&str; 3] = ["OOM", "MISCONF", "NOREPLICAS"];

fn reserved(owner: Owner) -> Head {
    Head { state: State::Reserved, owner }
}

/// The first 18 bytes of the record with this head.
fn head(head: Head) -> [u8; 18] {
    let mut bytes = [0; 18];
    bytes[0] = VERSION;
    bytes[1] = match head.state {
        State::Reserved => 0,
        State::Completed => 1,
    };
    bytes[2..].copy_from_slice(head.owner.as_bytes());
    bytes
}

/// A life in milliseconds as the server takes it: more than none, and short of where its clock
/// overflows.
fn millis(life: Duration) -> u64 {
    const MOST: u64 = i64::MAX as u64 / 4;
    u64::try_from(life.as_millis()).unwrap_or(MOST).clamp(1, MOST)
}

#[cfg(test)]
mod tests {
    use idem_runtime::Fingerprint;

    use super::*;

    #[test]
    fn a_head_is_the_beginning_of_its_record() {
        for state in [State::Reserved, State::Completed] {
            let record =
                Record { state, ..Record::reservation(Owner::fresh(), Fingerprint::NONE, 1) };
            assert_eq!(head(record.head()), record.to_bytes()[..18]);
        }
    }

    #[test]
    fn a_life_is_never_refused_by_the_server() {
        assert_eq!(millis(Duration::ZERO), 1);
        assert_eq!(millis(Duration::from_micros(1_500)), 1);
        assert_eq!(millis(Duration::from_secs(2)), 2_000);
        assert_eq!(millis(Duration::MAX), i64::MAX as u64 / 4);
    }
}
