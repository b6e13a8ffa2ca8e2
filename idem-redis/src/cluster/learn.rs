//! Learning which node has which slot: by asking a node, whenever something came back from where it
//! should not have gone.

use std::sync::Arc;
use std::time::Duration;

use redis::{Pipeline, RedisError, RedisResult, Value};
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::map::{Map, Node, ranges};
use super::redirect::no_node;
use super::{Cluster, lock};

/// The map is not asked for more often, however much comes back.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// When and whom the map was last asked for.
#[derive(Debug, Default)]
pub(super) struct Asked {
    last: Option<Instant>,
    /// Counts the times: each begins with another node.
    times: usize,
}

impl Cluster {
    /// Asks for the map, those nodes that the address names.
    ///
    /// # Errors
    /// Why none of them told it; what one of them said counts for more than that another is away.
    pub(crate) async fn learn(&self) -> RedisResult<()> {
        self.learn_from(&self.0.seeds, 0).await
    }

    /// Asks for the map in a task of its own, unless that was done a moment ago: a command does not
    /// wait for it, it is sent again by who needs it.
    pub(super) fn learn_soon(&self) {
        let Ok(runtime) = Handle::try_current() else { return };
        let mut nodes: Vec<_> = self.map().all().chain(&self.0.seeds).cloned().collect();
        let asking = {
            let mut asked = lock(&self.0.asked);
            if asked.last.is_some_and(|last| last.elapsed() < ASK_EVERY) {
                return;
            }
            asked.last = Some(Instant::now());
            asked.times += 1;
            asked.times
        };
        let first = asking % nodes.len().max(1);
        nodes.rotate_left(first);
        let cluster = self.clone();
        runtime.spawn(async move {
            if let Err(error) = cluster.learn_from(&nodes, asking).await {
                tracing::debug!(target: "idem", error = crate::error::told(&error), "no node of the Redis cluster tells its slots");
            }
        });
    }

    async fn learn_from(&self, nodes: &[Arc<Node>], asking: usize) -> RedisResult<()> {
        let mut fault: Option<RedisError> = None;
        for node in nodes {
            match self.ask(node, asking).await {
                Ok(()) => return Ok(()),
                Err(error) => {
                    let said = fault.as_ref().is_some_and(|fault| fault.code().is_some());
                    fault = fault.filter(|_| said).or(Some(error));
                }
            }
        }
        Err(fault.unwrap_or_else(no_node))
    }

    async fn ask(&self, node: &Node, asking: usize) -> RedisResult<()> {
        let mut commands = Pipeline::new();
        commands.cmd("CLUSTER").arg("SLOTS");
        let replies = node.connections.send(&commands).await?;
        let told = match replies.first() {
            Some(Value::ServerError(error)) => return Err(RedisError::from(error.clone())),
            reply => reply.and_then(|reply| ranges(reply, &node.host)),
        };
        // A node that has just been started alone, or joined, knows of no slots.
        let told = told.filter(|told| !told.is_empty()).ok_or_else(no_node)?;
        let told = Map::of(&told, asking, |address| self.node(address))?;
        let mut map = self.map();
        // One that took longer to answer than a later one was asked too early.
        if !told.is_before(&map) {
            *map = told;
        }
        Ok(())
    }
}
