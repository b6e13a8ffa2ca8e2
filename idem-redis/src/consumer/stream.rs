//! The stream as one consumer of one of its groups: what is asked of the server, and what it answers.

use std::sync::Arc;
use std::time::Duration;

use idem_runtime::BackendError;
use redis::{Cmd, Value};

use super::fields::Fields;
use super::message_id::MessageId;
use super::replies::{self, Claim, Owned};
use super::scripts;
use crate::builder::Times;
use crate::error::unreached;
use crate::place::Place;
use crate::scripts::Script;
use crate::servers::{Call, Servers};

pub(super) type Answer<T> = Result<T, BackendError>;

/// Messages that one script is about at most, those of a batch aside: the server does nothing else
/// meanwhile.
pub(super) const PAGE: usize = 100;

/// What one delivery is known by: the message, and which of its deliveries it is. The server counts
/// them, but for those that were given back unstarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leased {
    pub(super) id: MessageId,
    pub(super) deliveries: u64,
}

/// A message that was delivered.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) leased: Leased,
    pub(super) fields: Fields,
}

/// A message that somebody has, and has been silent about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) leased: Leased,
    /// Who has it.
    pub(super) consumer: Vec<u8>,
    pub(super) idle: Duration,
}

/// What a registration has made on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) stream: bool,
    pub(super) group: bool,
    pub(super) consumer: bool,
}

/// A stream, a group, and a consumer of it. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    servers: Arc<Servers>,
    times: Times,
    pub(super) name: Arc<str>,
    pub(super) group: Arc<str>,
    pub(super) consumer: Arc<str>,
}

impl Stream {
    pub(super) fn new(
        servers: Arc<Servers>,
        times: Times,
        [name, group, consumer]: [&str; 3],
    ) -> Self {
        Self { servers, times, name: name.into(), group: group.into(), consumer: consumer.into() }
    }

    /// The same by connections of its own.
    pub(super) fn separate(&self) -> Self {
        Self { servers: Arc::new(self.servers.separate()), ..self.clone() }
    }

    pub(super) fn times(&self) -> Times {
        self.times
    }

    /// Which server it is on, where that is known.
    pub(super) fn place(&self) -> Option<Place> {
        self.servers.place(&self.name)
    }

    /// Takes note of who has the stream by a reply's own account.
    pub(super) fn redirected(&self, reply: &Value, from: &Place) {
        self.servers.redirected(reply, from);
    }

    /// What the user may not do, or why these streams will not do; `None` if all is well.
    pub(super) async fn fault(&self, dead: Option<&str>, deletes: bool) -> Answer<Option<String>> {
        let mut call = match dead {
            Some(dead) => scripts::MAY.on_both(&self.name, dead),
            None => scripts::MAY.on(self.name.to_string()),
        };
        call.command.arg(&*self.group).arg(flag(deletes));
        let reply = self.call("the registration", &scripts::MAY, call).await?;
        replies::fault(&reply)
    }

    /// Creates what is missing. A group that is created reads on after `start`, or after what it had
    /// done by the last look at it.
    pub(super) async fn create(&self, start: &str, floor: Option<MessageId>) -> Answer<Made> {
        let floor = floor.map(|floor| floor.to_string()).unwrap_or_default();
        let mut call = self.on_group(&scripts::CREATE);
        call.command.arg(start).arg(floor);
        replies::made(&self.call("creating the group", &scripts::CREATE, call).await?)
    }

    /// Takes back what a registration has made.
    pub(super) async fn undo(&self, made: Made) -> Answer<()> {
        let mut call = self.on_group(&scripts::UNDO);
        call.command.arg(flag(made.stream)).arg(flag(made.group)).arg(flag(made.consumer));
        replies::number("undo", &self.call("undoing the registration", &scripts::UNDO, call).await?)
            .map(drop)
    }

    /// The last id up to which the group has done everything.
    pub(super) async fn floor(&self) -> Answer<MessageId> {
        let mut call = scripts::FLOOR.on(self.name.to_string());
        call.command.arg(&*self.group);
        replies::floor(&self.call("a look at the group", &scripts::FLOOR, call).await?)
    }

    /// Messages of anybody's in the group that have been idle for so long, in their order.
    pub(super) async fn pending(&self, idle: Duration, after: MessageId) -> Answer<Vec<Pending>> {
        let mut command = redis::cmd("XPENDING");
        command.arg(&*self.name).arg(&*self.group).arg("IDLE").arg(millis(idle));
        command.arg(format!("({after}")).arg("+").arg(PAGE);
        let call = Call { record: self.name.to_string(), command };
        replies::pending(&self.carry("a look at pending messages", None, call).await?)
    }

    /// Takes over messages that are as they were seen, each if it has been idle for its time.
    pub(super) async fn claim(&self, wanted: &[(Leased, Duration)]) -> Answer<Vec<Claim>> {
        let mut call = self.on_group(&scripts::CLAIM);
        for (leased, idle) in wanted {
            push(&mut call.command, *leased);
            call.command.arg(millis(*idle));
        }
        let reply = self.call("claiming messages", &scripts::CLAIM, call).await?;
        replies::claimed(reply, wanted.iter().map(|(leased, _)| *leased))
    }

    /// Keeps messages from going idle, a page in each script, in ascending order. Gives what was found,
    /// page by page.
    pub(super) async fn renew(
        &self,
        pages: &[Vec<Leased>],
        patience: Duration,
    ) -> Vec<Answer<Vec<Owned>>> {
        let call = |page: &Vec<Leased>| {
            let mut call = self.on_group(&scripts::RENEW);
            page.iter().for_each(|leased| push(&mut call.command, *leased));
            call
        };
        let calls = pages.iter().map(call).collect();
        let replies = self.servers.carry(Some(&scripts::RENEW), calls, patience).await;
        let judged = |(reply, page): (redis::RedisResult<Value>, &Vec<Leased>)| {
            let reply =
                reply.map_err(|error| unreached("renewing messages", self.times, &error))?;
            replies::owned("renewing messages", &reply, page.len())
        };
        replies.into_iter().zip(pages).map(judged).collect()
    }

    /// Acknowledges messages that are still this consumer's, those of a run together or not at all.
    pub(super) async fn acknowledge(
        &self,
        runs: &[Vec<Leased>],
        delete: bool,
    ) -> Answer<Vec<Vec<Owned>>> {
        let ids = || runs.iter().flatten().map(|leased| leased.id);
        let (Some(least), Some(greatest)) = (ids().min(), ids().max()) else {
            return Ok(runs.iter().map(|_| Vec::new()).collect());
        };
        let mut call = self.on_group(&scripts::ACKNOWLEDGE);
        call.command.arg(flag(delete)).arg(least.to_string()).arg(greatest.to_string());
        for run in runs.iter().filter(|run| !run.is_empty()) {
            call.command.arg(run.len());
            run.iter().for_each(|leased| push(&mut call.command, *leased));
        }
        let what = "acknowledging messages";
        let reply = self.call(what, &scripts::ACKNOWLEDGE, call).await?;
        let mut found = replies::owned(what, &reply, runs.iter().map(Vec::len).sum())?.into_iter();
        Ok(runs.iter().map(|run| found.by_ref().take(run.len()).collect()).collect())
    }

    /// Moves messages to the dead letters, each if it is still as it was seen, and with its error.
    pub(super) async fn bury(
        &self,
        seen: &[(Pending, String)],
        dead: &str,
        delete: bool,
    ) -> Vec<Answer<Owned>> {
        let call = |(seen, error): &(Pending, String)| {
            let mut call = scripts::BURY.on_both(&self.name, dead);
            call.command.arg(&*self.group).arg(seen.consumer.as_slice());
            push(&mut call.command, seen.leased);
            call.command.arg(millis(seen.idle)).arg(flag(delete)).arg(error);
            call
        };
        let what = "moving a message to the dead letters";
        let calls = seen.iter().map(call).collect();
        let replies = self.servers.carry(Some(&scripts::BURY), calls, self.times.command).await;
        let judged = |reply: redis::RedisResult<Value>| {
            let reply = reply.map_err(|error| unreached(what, self.times, &error))?;
            let found = replies::owned(what, &Value::Array(vec![reply]), 1)?;
            Ok(found.first().copied().unwrap_or(Owned::Gone))
        };
        replies.into_iter().map(judged).collect()
    }

    /// Lets others take messages at once, each as if it had been idle for so long and had not been
    /// delivered.
    pub(super) async fn give_back(&self, page: &[(Leased, Duration)]) -> Answer<u64> {
        let mut call = self.on_group(&scripts::GIVE_BACK);
        for (leased, idle) in page {
            push(&mut call.command, *leased);
            call.command.arg(millis(*idle));
        }
        let what = "giving messages back";
        replies::number(what, &self.call(what, &scripts::GIVE_BACK, call).await?)
    }

    /// Takes consumers out of the group that have nothing pending: this one if it `leaves`, and those
    /// whose names begin with `others` and that have been away for so long.
    pub(super) async fn leave(&self, leaves: bool, others: &str, away: Duration) -> Answer<u64> {
        let mut call = scripts::LEAVE.on(self.name.to_string());
        let this = if leaves { &*self.consumer } else { "" };
        call.command.arg(&*self.group).arg(this).arg(others).arg(millis(away));
        let what = "taking consumers out of the group";
        replies::number(what, &self.call(what, &scripts::LEAVE, call).await?)
    }

    /// A call of a script that takes the stream, the group and the consumer first.
    fn on_group(&self, script: &Script) -> Call {
        let mut call = script.on(self.name.to_string());
        call.command.arg(&*self.group).arg(&*self.consumer);
        call
    }

    async fn call(&self, what: &str, script: &Script, call: Call) -> Answer<Value> {
        self.carry(what, Some(script), call).await
    }

    async fn carry(&self, what: &str, script: Option<&Script>, call: Call) -> Answer<Value> {
        let reply = self.servers.carry_one(script, call, self.times.command).await;
        reply.map_err(|error| unreached(what, self.times, &error))
    }
}

fn push(command: &mut Cmd, leased: Leased) {
    command.arg(leased.id.to_string()).arg(leased.deliveries);
}

fn flag(is: bool) -> &'static str {
    if is { "1" } else { "" }
}

/// A time as the server takes it.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).min(i64::MAX as u64 / 4)
}
