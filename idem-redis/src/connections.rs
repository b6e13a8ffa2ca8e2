//! Connections: one for each runtime that calls, since the runtime that opened a connection drives
//! it, and nobody else does.
//!
//! Opening is shared by the commands that wait for it, takes a bounded time, and goes on when they
//! are dropped. Whatever is not an answer of the server ends the connection; the next command opens
//! another. The client library's own connection manager is not used: it keeps a connection that has
//! stopped answering, and keeps for ever one whose opening the server refused once, while loading.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Cmd, Pipeline, RedisError, RedisResult, Value};
use tokio::runtime::{Handle, Id};
use tokio::sync::watch;
use tokio::task::JoinError;

use crate::builder::Times;
use crate::error::told;
use crate::place::Place;
use crate::scripts::Script;

/// After an attempt that failed, those who wait for it learn of it this much later: a server that
/// refuses connections is not asked more often.
pub(crate) const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(50);

/// A connection that is open, or being opened.
struct Line {
    opened: Shared<BoxFuture<'static, RedisResult<MultiplexedConnection>>>,
    /// Whether it is being asked if anybody is there.
    is_asked: AtomicBool,
}

/// The lines by runtime; without a line, the next command opens one.
type Lines = HashMap<Id, Option<Arc<Line>>>;

/// One connection to one server for each runtime.
pub(crate) struct Connections {
    shared: Arc<Shelf>,
    /// Dropped with the last handle: ends the tasks that wait for their runtime's end.
    life: watch::Sender<()>,
}

/// What the tasks of connections share.
struct Shelf {
    place: Place,
    times: Times,
    lines: Mutex<Lines>,
}

impl Connections {
    pub(crate) fn new(place: Place, times: Times) -> Self {
        let shared = Arc::new(Shelf { place, times, lines: Mutex::default() });
        Self { shared, life: watch::channel(()).0 }
    }

    /// The same server, by connections of its own.
    pub(crate) fn separate(&self) -> Self {
        Self::new(self.place().clone(), self.shared.times)
    }

    pub(crate) fn place(&self) -> &Place {
        &self.shared.place
    }

    /// Sends commands together and gives the reply to each; a refusal of the server's is a reply.
    pub(crate) async fn send(&self, commands: &Pipeline) -> RedisResult<Vec<Value>> {
        let waits = self.wait()?;
        let sent = async {
            let mut connection = waits.line.connection().await?;
            connection.req_packed_commands(commands, 0, commands.len()).await
        };
        let sent = sent.await;
        waits.end(sent, |replies| replies.iter().find_map(read_only))
    }

    /// The same for one command, which takes half the work.
    async fn send_one(&self, command: &Cmd) -> RedisResult<Value> {
        let waits = self.wait()?;
        let sent = match waits.line.connection().await {
            Ok(mut connection) => connection.send_packed_command(command).await,
            Err(error) => Err(error),
        };
        waits.end(sent, read_only)
    }

    fn wait(&self) -> RedisResult<Waits<'_>> {
        let runtime = Handle::try_current()
            .map_err(|_| io::Error::other("a call to Redis outside of a tokio runtime"))?;
        let line = self.line(&runtime);
        Ok(Waits { shelf: &self.shared, runtime, line, is_over: false })
    }

    /// Sends one command; if it is a call of a script that the server has forgotten, with that.
    pub(crate) async fn call_one(
        &self,
        script: Option<&Script>,
        command: Cmd,
    ) -> RedisResult<Value> {
        let reply = self.send_one(&command).await;
        match script {
            Some(script) if is_forgotten(&reply) => {
                let mut calls = Pipeline::new();
                calls.add_command(command);
                let mut replies = [reply];
                Box::pin(self.call_forgotten(script, &calls, &mut replies)).await;
                let [reply] = replies;
                reply
            }
            _ => reply,
        }
    }

    /// Sends calls of one script, and gives the server the script first if that has forgotten it. A
    /// call that was not reached has the failure for its reply.
    pub(crate) async fn call(&self, script: &Script, calls: &Pipeline) -> Vec<RedisResult<Value>> {
        let mut replies: Vec<_> = match self.send(calls).await {
            Ok(replies) => replies.into_iter().map(Ok).collect(),
            Err(error) => return vec![Err(error); calls.len()],
        };
        if replies.iter().any(is_forgotten) {
            self.call_forgotten(script, calls, &mut replies).await;
        }
        replies
    }

    /// Repeats the calls whose script the server did not know, with the script before them.
    async fn call_forgotten(
        &self,
        script: &Script,
        calls: &Pipeline,
        replies: &mut [RedisResult<Value>],
    ) {
        let mut commands = Pipeline::new();
        commands.add_command(script.load());
        let mut forgotten = Vec::new();
        for (call, reply) in calls.cmd_iter().zip(replies) {
            if is_forgotten(reply) {
                commands.add_command(call.clone());
                forgotten.push(reply);
            }
        }
        match self.send(&commands).await {
            Ok(repeated) => {
                for (reply, answer) in forgotten.into_iter().zip(repeated.into_iter().skip(1)) {
                    *reply = Ok(answer);
                }
            }
            Err(error) => forgotten.into_iter().for_each(|reply| *reply = Err(error.clone())),
        }
    }

    /// This runtime's line.
    fn line(&self, runtime: &Handle) -> Arc<Line> {
        let mut lines = lock(&self.shared.lines);
        if let Some(Some(line)) = lines.get(&runtime.id()) {
            return Arc::clone(line);
        }
        let is_new = !lines.contains_key(&runtime.id());
        let slot = lines.entry(runtime.id()).or_default();
        let line = Arc::clone(slot.get_or_insert_with(|| Arc::new(self.shared.open(runtime))));
        drop(lines);
        // Not under the lock: a runtime that is ending drops the task at once, and that locks.
        if is_new {
            self.watch_end(runtime);
        }
        line
    }

    /// Forgets a runtime's line with the runtime: its number may be another's afterwards.
    fn watch_end(&self, runtime: &Handle) {
        let ends = Ends { runtime: runtime.id(), shelf: Arc::clone(&self.shared) };
        let mut life = self.life.subscribe();
        runtime.spawn(async move {
            let _ends = ends;
            // Nothing is ever sent: this resolves when the sender is dropped.
            let _ = life.changed().await;
        });
    }
}

impl Shelf {
    fn open(&self, runtime: &Handle) -> Line {
        let (place, times) = (self.place.clone(), self.times);
        // A task, so that it does not stand still between the commands that look at it.
        let opening = runtime.spawn(async move {
            let opened = times.open(&place, times.connection()).await;
            if opened.is_err() {
                tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
            }
            opened
        });
        let opened = opening.map(|opened| opened.unwrap_or_else(|why| Err(not_opened(&why))));
        Line { opened: opened.boxed().shared(), is_asked: AtomicBool::new(false) }
    }

    /// Ends a line unless another command has done so.
    fn give_up(&self, runtime: Id, failed: &Arc<Line>, error: &RedisError) {
        let ends = match lock(&self.lines).get_mut(&runtime) {
            Some(slot) if slot.as_ref().is_some_and(|line| Arc::ptr_eq(line, failed)) => {
                slot.take()
            }
            _ => None,
        };
        let Some(line) = ends else { return };
        let (address, error) = (self.place.address(), told(error));
        if line.opened.peek().is_some_and(Result::is_ok) {
            tracing::warn!(
                target: "idem",
                address,
                error,
                "a connection to Redis is given up; the next command opens another"
            );
        } else {
            tracing::debug!(target: "idem", address, error, "cannot connect to Redis");
        }
    }

    /// Asks on a line whether anybody is there, and ends it if nobody is.
    async fn ask(&self, runtime: Id, line: &Arc<Line>) {
        let asked =
            async { line.connection().await?.send_packed_command(&redis::cmd("PING")).await };
        // Any answer will do, a refusal as well.
        if let Err(error) = asked.await {
            self.give_up(runtime, line, &error);
        }
        line.is_asked.store(false, Ordering::Release);
    }
}

impl Line {
    async fn connection(&self) -> RedisResult<MultiplexedConnection> {
        match self.opened.peek() {
            Some(opened) => opened.clone(),
            None => self.opened.clone().await,
        }
    }
}

/// A wait for replies. When it is dropped before its end, nobody learns whether they ever come:
/// callers that are less patient than the time for a reply would use a dead line for ever. So it is
/// asked then whether anybody is there.
struct Waits<'a> {
    shelf: &'a Arc<Shelf>,
    runtime: Handle,
    line: Arc<Line>,
    is_over: bool,
}

impl Waits<'_> {
    /// Whatever is not an answer ends the line. So does the refusal of a server that was the master
    /// when the connection was opened: the next command looks for the new one.
    fn end<T>(
        mut self,
        sent: RedisResult<T>,
        refusal: impl FnOnce(&T) -> Option<RedisError>,
    ) -> RedisResult<T> {
        self.is_over = true;
        let error = match &sent {
            Ok(replies) => refusal(replies),
            Err(error) => Some(error.clone()),
        };
        if let Some(error) = error {
            self.shelf.give_up(self.runtime.id(), &self.line, &error);
        }
        sent
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        if self.is_over || self.line.is_asked.swap(true, Ordering::AcqRel) {
            return;
        }
        let (shelf, line, id) = (Arc::clone(self.shelf), Arc::clone(&self.line), self.runtime.id());
        self.runtime.spawn(async move { shelf.ask(id, &line).await });
    }
}

struct Ends {
    runtime: Id,
    shelf: Arc<Shelf>,
}

impl Drop for Ends {
    fn drop(&mut self) {
        let line = lock(&self.shelf.lines).remove(&self.runtime);
        drop(line);
    }
}

/// The task that was to open a connection has not ended well.
fn not_opened(why: &JoinError) -> RedisError {
    let reason = if why.is_panic() {
        "opening a connection panicked: build the runtime with `enable_all`"
    } else {
        "the runtime is ending"
    };
    io::Error::other(reason).into()
}

fn read_only(reply: &Value) -> Option<RedisError> {
    match reply {
        Value::ServerError(error) if error.code() == "READONLY" => Some(error.clone().into()),
        _ => None,
    }
}

fn is_forgotten(reply: &RedisResult<Value>) -> bool {
    matches!(reply, Ok(Value::ServerError(error)) if error.code() == "NOSCRIPT")
}

fn lock(lines: &Mutex<Lines>) -> MutexGuard<'_, Lines> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("address", &self.place().address())
            .field("runtimes", &lock(&self.shared.lines).len())
            .finish_non_exhaustive()
    }
}
