//! A cluster: each command goes to the node that has its record's slot, and follows a slot that
//! moves.
//!
//! Every command is on one record and may be repeated, so routing is all there is to do. A node has
//! connections of its own, and nothing waits for one node on behalf of another: where one is away,
//! the calls and leases of the others go on.

#[cfg(test)]
mod fuzz;
mod learn;
mod load;
mod map;
mod redirect;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redis::{RedisResult, Value};
use tokio::time::timeout;

use crate::builder::Times;
use crate::connections::Connections;
use crate::place::{Manner, Place};
use crate::scripts::Script;
use crate::servers::Call;
use learn::Asked;
use load::{Elsewhere, Load};
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

    /// Whether two names are in one slot.
    #[cfg(feature = "consumer")]
    pub(crate) fn are_together(one: &str, other: &str) -> bool {
        slot(one) == slot(other)
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

    /// Sends calls, each to the node of its record, and follows those whose slot is elsewhere for as
    /// long as `patience` allows: what has been answered does not wait for longer.
    pub(crate) async fn carry(
        &self,
        script: Option<&Script>,
        calls: Vec<Call>,
        patience: Duration,
    ) -> Vec<RedisResult<Value>> {
        let mut replies: Vec<RedisResult<Value>> = Vec::new();
        replies.resize_with(calls.len(), || Err(redirect::no_node()));
        let loads = self.loads(calls.into_iter().enumerate().collect());
        let elsewhere = self.send(script, loads, &mut replies).await;
        if !elsewhere.is_empty() {
            // In vain, it is known where to go the next time.
            let _ = timeout(patience, self.follow(script, elsewhere, &mut replies)).await;
        }
        if replies.iter().any(redirect::is_lost) {
            self.learn_soon();
        }
        replies
    }

    async fn follow(
        &self,
        script: Option<&Script>,
        mut elsewhere: Elsewhere,
        replies: &mut [RedisResult<Value>],
    ) {
        for _ in 1..MOST_HOPS {
            let mut loads = self.loads(elsewhere.moved);
            loads.append(&mut elsewhere.asked);
            elsewhere = self.send(script, loads, replies).await;
            if elsewhere.is_empty() {
                return;
            }
        }
    }

    /// Sends loads, notes the replies as they come, and gives the calls that belong elsewhere.
    async fn send(
        &self,
        script: Option<&Script>,
        loads: Vec<Load>,
        replies: &mut [RedisResult<Value>],
    ) -> Elsewhere {
        let mut elsewhere = Elsewhere::default();
        let mut sent: FuturesUnordered<_> = loads
            .into_iter()
            .map(|load| async {
                let answers = load.send(script).await;
                (load, answers)
            })
            .collect();
        while let Some((load, answers)) = sent.next().await {
            for (((nth, record), command), answer) in load.each().zip(answers) {
                let call = || Call { record: record.clone(), command: command.clone() };
                match Redirect::of(&answer, &load.node.host) {
                    Some(Redirect::Moved { slot, to }) => {
                        self.moved(slot, &to);
                        elsewhere.moved.push((*nth, call()));
                    }
                    Some(Redirect::Ask { to }) => {
                        if let Ok(node) = self.node(&to) {
                            elsewhere.ask(&node, *nth, call());
                        }
                    }
                    None => {}
                }
                replies[*nth] = answer;
            }
        }
        elsewhere
    }

    /// Puts calls together by node.
    fn loads(&self, calls: Vec<(usize, Call)>) -> Vec<Load> {
        let map = self.map();
        let (loads, is_old) = (map.loads(calls), map.is_old());
        drop(map);
        if is_old {
            self.learn_soon();
        }
        loads
    }

    /// Takes note of a reply that says whose a slot is now; `from` is the host that said it.
    pub(crate) fn redirected(&self, reply: &Value, from: &str) {
        if let Some(Redirect::Moved { slot, to }) = Redirect::read(reply, from) {
            self.moved(slot, &to);
        }
    }

    fn moved(&self, slot: u16, to: &(String, u16)) {
        if let Ok(node) = self.node(to) {
            self.map().give(slot, &node);
        }
        // Slots seldom move alone.
        self.learn_soon();
    }

    /// Any server of the cluster, by connections of its own.
    pub(crate) fn server(&self, host: &str, port: u16) -> RedisResult<Connections> {
        self.0.manner.connections(host, port, self.0.times)
    }

    /// How many slots no node is known to serve.
    pub(crate) fn unserved(&self) -> usize {
        self.map().unserved()
    }

    /// The node at an address: the known one, with its connections, or one that is known from now.
    fn node(&self, (host, port): &(String, u16)) -> RedisResult<Arc<Node>> {
        let seed = || self.0.seeds.iter().find(|node| node.is_at(host, *port)).cloned();
        let mut map = self.map();
        if let Some(node) = map.at(host, *port).cloned().or_else(seed) {
            return Ok(node);
        }
        let node = Node::new(host, *port, &self.0.manner, self.0.times)?;
        map.meet(&node);
        Ok(node)
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
