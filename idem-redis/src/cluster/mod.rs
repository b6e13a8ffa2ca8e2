//! A cluster: each command goes to the node that has its record's slot, and follows a slot that
//! moves.
//!
//! Every command is on one record and may be repeated, so routing is all there is to do. A node has
//! connections of its own, and nothing waits for one node on behalf of another: where one is away,
//! the calls and leases of the others go on.

mod learn;
mod map;
mod redirect;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use redis::{Cmd, Pipeline, RedisResult, Value};

use crate::builder::Times;
use crate::place::{Manner, Place};
use crate::scripts::Script;
use crate::servers::{Call, carry};
use learn::Asked;
pub(crate) use map::Node;
use map::{Map, slot};
use redirect::Redirect;

/// How often a command follows a slot that moves before it gives up.
const MOST_HOPS: usize = 5;

/// The nodes of a cluster. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Cluster(Arc<Inner>);

struct Inner {
    /// The nodes of the address: asked for the map whatever else is known.
    seeds: Vec<Arc<Node>>,
    map: Mutex<Map>,
    asked: Mutex<Asked>,
    manner: Manner,
    times: Times,
}

impl Cluster {
    pub(crate) fn new(seeds: &[(String, u16)], manner: Manner, times: Times) -> RedisResult<Self> {
        let node = |(host, port): &(String, u16)| Node::new(host, *port, &manner, times);
        let seeds = seeds.iter().map(node).collect::<RedisResult<_>>()?;
        let (map, asked) = (Mutex::default(), Mutex::default());
        Ok(Self(Arc::new(Inner { seeds, map, asked, manner, times })))
    }

    /// The same cluster, by connections of its own; what is known of the slots is taken along.
    pub(crate) fn separate(&self) -> Self {
        let Inner { seeds, map, manner, times, .. } = &*self.0;
        Self(Arc::new(Inner {
            seeds: seeds.iter().map(|node| node.separate()).collect(),
            map: Mutex::new(lock(map).separate()),
            asked: Mutex::default(),
            manner: manner.clone(),
            times: *times,
        }))
    }

    /// For a person.
    pub(crate) fn address(&self) -> String {
        let seeds: Vec<_> = self.0.seeds.iter().map(ToString::to_string).collect();
        format!("the cluster of {}", seeds.join(", "))
    }

    /// A number that is the same for records on the same node, as far as is known.
    pub(crate) fn group(&self, record: &str) -> u64 {
        self.map().index(slot(record)).map_or(0, |index| index as u64 + 1)
    }

    /// Where the node of a record is, if that is known.
    pub(crate) fn place(&self, record: &str) -> Option<Place> {
        let place = self.map().of_slot(slot(record)).map(|node| node.connections.place().clone());
        if place.is_none() {
            self.learn_soon();
        }
        place
    }

    pub(crate) async fn carry(
        &self,
        script: Option<&Script>,
        calls: Vec<Call>,
    ) -> Vec<RedisResult<Value>> {
        let mut replies: Vec<RedisResult<Value>> = Vec::new();
        replies.resize_with(calls.len(), || Err(redirect::no_node()));
        let mut waiting: Vec<(usize, Call)> = calls.into_iter().enumerate().collect();
        for _ in 0..MOST_HOPS {
            let loads = self.map().loads(std::mem::take(&mut waiting));
            let sent =
                loads.iter().map(|load| carry(&load.node.connections, script, &load.commands));
            for (load, answers) in loads.iter().zip(join_all(sent).await) {
                for (((nth, record), command), answer) in load.each().zip(answers) {
                    replies[*nth] = match Redirect::of(&answer, &load.node.host) {
                        Some(Redirect::Moved { slot, to }) => {
                            self.moved(slot, &to);
                            let (record, command) = (record.clone(), command.clone());
                            waiting.push((*nth, Call { record, command }));
                            answer
                        }
                        Some(Redirect::Ask { to }) => self.carry_asking(&to, script, command).await,
                        None => answer,
                    };
                }
            }
            if waiting.is_empty() {
                break;
            }
        }
        if replies.iter().any(redirect::is_lost) {
            self.learn_soon();
        }
        replies
    }

    /// A command on a record that is on its way to another node, which has not got the slot yet.
    async fn carry_asking(
        &self,
        (host, port): &(String, u16),
        script: Option<&Script>,
        command: &Cmd,
    ) -> RedisResult<Value> {
        let node = self.node(host, *port)?;
        let mut commands = Pipeline::new();
        // The node may not know the script either, and would forget that it was asked.
        if let Some(script) = script {
            commands.add_command(script.load());
        }
        commands.add_command(redis::cmd("ASKING")).add_command(command.clone());
        let mut replies = node.connections.send(&commands).await?;
        replies.pop().ok_or_else(redirect::no_node)
    }

    /// Takes note of a reply that says whose a slot is now; `from` is the host that said it.
    pub(crate) fn redirected(&self, reply: &Value, from: &str) {
        if let Some(Redirect::Moved { slot, to }) = Redirect::read(reply, from) {
            self.moved(slot, &to);
        }
    }

    fn moved(&self, slot: u16, (host, port): &(String, u16)) {
        if let Ok(node) = self.node(host, *port) {
            self.map().give(slot, &node);
        }
        // Slots seldom move alone.
        self.learn_soon();
    }

    /// The node at an address, with the connections it has if it is known.
    fn node(&self, host: &str, port: u16) -> RedisResult<Arc<Node>> {
        let known = self.map().at(host, port).cloned();
        let seed = || self.0.seeds.iter().find(|node| node.is_at(host, port)).cloned();
        match known.or_else(seed) {
            Some(node) => Ok(node),
            None => Node::new(host, port, &self.0.manner, self.0.times),
        }
    }

    /// Every node that has slots, as far as is known.
    pub(crate) fn nodes(&self) -> Vec<Arc<Node>> {
        self.map().nodes().to_vec()
    }

    fn map(&self) -> MutexGuard<'_, Map> {
        lock(&self.0.map)
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("nodes", &self.map().nodes()).finish_non_exhaustive()
    }
}
