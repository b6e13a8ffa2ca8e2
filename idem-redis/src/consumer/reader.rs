//! The connection on which new messages are waited for: nothing else goes by it.

use std::time::Duration;

use redis::Value;
use redis::aio::MultiplexedConnection;

use super::replies;
use super::stream::{Answer, Delivery, Stream};
use crate::error::unreached;
use crate::place::Place;

/// The longest wait for new messages in one command: so long may a shutdown last that finds nothing to
/// do, and so late is a connection noticed that has died.
pub(super) const LONGEST_BLOCK: Duration = Duration::from_millis(500);

/// Reads new messages of a group.
pub(super) struct Reader {
    stream: Stream,
    line: Option<(Place, MultiplexedConnection)>,
}

impl Reader {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, line: None }
    }

    /// Opens the connection if there is none.
    pub(super) async fn open(&mut self) -> Answer<()> {
        if self.line.is_some() {
            return Ok(());
        }
        let Some(place) = self.stream.place() else {
            return Err(idem_runtime::BackendError::unanswered(
                "no node of the Redis cluster is known to have the stream",
            ));
        };
        let times = self.stream.times();
        let patience = times.command + LONGEST_BLOCK;
        let config = times.connection().set_response_timeout(Some(patience));
        let opened = times.open(&place, config).await;
        let line = opened.map_err(|error| unreached("reading messages", times, &error))?;
        self.line = Some((place, line));
        Ok(())
    }

    /// Up to so many new messages, waiting for the first for so long; not at all without a time.
    ///
    /// Dropped, or failed, it may have been delivered messages that nobody has: they go idle.
    pub(super) async fn read(
        &mut self,
        count: usize,
        block: Option<Duration>,
    ) -> Answer<Vec<Delivery>> {
        self.open().await?;
        // Whatever is not an answer ends the connection.
        let Some((place, mut line)) = self.line.take() else { return Ok(Vec::new()) };
        let stream = &self.stream;
        let mut command = redis::cmd("XREADGROUP");
        command.arg("GROUP").arg(&*stream.group).arg(&*stream.consumer).arg("COUNT").arg(count);
        if let Some(block) = block {
            // Zero would be for ever.
            command.arg("BLOCK").arg(block.min(LONGEST_BLOCK).as_millis().max(1) as u64);
        }
        command.arg("STREAMS").arg(&*stream.name).arg(">");
        let reply = line.send_packed_command(&command).await;
        let reply = reply.map_err(|error| unreached("reading messages", stream.times(), &error))?;
        if let Value::ServerError(_) = &reply {
            stream.redirected(&reply, &place);
        }
        let read = replies::read(reply)?;
        self.line = Some((place, line));
        Ok(read)
    }
}
