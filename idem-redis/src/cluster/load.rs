//! Commands on their way to one node.

use std::sync::Arc;

use redis::{Cmd, Pipeline, RedisResult, Value};

use super::map::Node;
use crate::scripts::Script;
use crate::servers::{Call, carry};

/// Commands that go to one node together.
pub(super) struct Load {
    pub(super) node: Arc<Node>,
    commands: Pipeline,
    /// The place of each one's reply, and its record.
    calls: Vec<(usize, String)>,
    /// Whether the node has their slot only in part yet: it is told that they come all the same.
    asking: bool,
}

impl Load {
    pub(super) fn new(node: Arc<Node>, asking: bool) -> Self {
        Self { node, commands: Pipeline::new(), calls: Vec::new(), asking }
    }

    pub(super) fn add(&mut self, nth: usize, Call { record, command }: Call) {
        self.commands.add_command(command);
        self.calls.push((nth, record));
    }

    /// Each call's place and record, and its command.
    pub(super) fn each(&self) -> impl Iterator<Item = (&(usize, String), &Cmd)> {
        self.calls.iter().zip(self.commands.cmd_iter())
    }

    /// Sends them, and gives the reply to each.
    pub(super) async fn send(&self, script: Option<&Script>) -> Vec<RedisResult<Value>> {
        if !self.asking {
            return carry(&self.node.connections, script, &self.commands).await;
        }
        let mut commands = Pipeline::new();
        // The node may not know the script either, and forgets with each command that it was asked.
        if let Some(script) = script {
            commands.add_command(script.load());
        }
        for command in self.commands.cmd_iter() {
            commands.add_command(redis::cmd("ASKING")).add_command(command.clone());
        }
        match self.node.connections.send(&commands).await {
            Ok(replies) => {
                let first = usize::from(script.is_some()) + 1;
                replies.into_iter().skip(first).step_by(2).map(Ok).collect()
            }
            Err(error) => vec![Err(error); self.commands.len()],
        }
    }
}

/// Calls that came back.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// Their slot is another node's.
    pub(super) moved: Vec<(usize, Call)>,
    /// Their records are at a node that has not got the slot yet.
    pub(super) asked: Vec<Load>,
}

impl Elsewhere {
    pub(super) fn ask(&mut self, node: &Arc<Node>, nth: usize, call: Call) {
        load_of(&mut self.asked, node, true).add(nth, call);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.moved.is_empty() && self.asked.is_empty()
    }
}

/// The load for a node, which is begun if there is none.
pub(super) fn load_of<'a>(
    loads: &'a mut Vec<Load>,
    node: &Arc<Node>,
    asking: bool,
) -> &'a mut Load {
    let place = loads.iter().position(|load| Arc::ptr_eq(&load.node, node));
    let place = place.unwrap_or_else(|| {
        loads.push(Load::new(Arc::clone(node), asking));
        loads.len() - 1
    });
    &mut loads[place]
}
