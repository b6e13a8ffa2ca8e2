//! Which node has which slot.

use std::fmt;
use std::sync::Arc;

use redis::{Cmd, Pipeline, RedisResult, Value};

use crate::builder::Times;
use crate::connections::Connections;
use crate::place::{Manner, Place};
use crate::servers::Call;

const SLOTS: u16 = 16_384;
/// The checksum that makes a slot of a name.
const CRC: crc::Crc<u16> = crc::Crc::<u16>::new(&crc::CRC_16_XMODEM);

/// The slot of a record. Names of records have no braces, so the whole name counts.
pub(super) fn slot(record: &str) -> u16 {
    CRC.checksum(record.as_bytes()) % SLOTS
}

/// One node, with connections of its own.
#[derive(Debug)]
pub(crate) struct Node {
    pub(super) host: String,
    port: u16,
    pub(crate) connections: Connections,
}

impl Node {
    pub(super) fn new(
        host: &str,
        port: u16,
        manner: &Manner,
        times: Times,
    ) -> RedisResult<Arc<Self>> {
        let place = Place::Server(Arc::new(manner.client(host, port)?));
        let connections = Connections::new(place, times);
        Ok(Arc::new(Self { host: host.to_owned(), port, connections }))
    }

    pub(super) fn separate(&self) -> Arc<Self> {
        let (host, connections) = (self.host.clone(), self.connections.separate());
        Arc::new(Self { host, port: self.port, connections })
    }

    pub(super) fn is_at(&self, host: &str, port: u16) -> bool {
        self.port == port && self.host == host
    }
}

/// `host:port`.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Commands on their way to one node.
pub(super) struct Load {
    pub(super) node: Arc<Node>,
    pub(super) commands: Pipeline,
    /// The record of each command, and the place of its reply.
    pub(super) calls: Vec<(usize, String)>,
}

impl Load {
    /// Each call's place and record, and its command.
    pub(super) fn each(&self) -> impl Iterator<Item = (&(usize, String), &Cmd)> {
        self.calls.iter().zip(self.commands.cmd_iter())
    }
}

/// The nodes, and the slots of each.
#[derive(Debug, Default)]
pub(super) struct Map {
    nodes: Vec<Arc<Node>>,
    /// The node of each slot, by its place in `nodes`; empty as long as nothing is known.
    slots: Vec<Option<u16>>,
}

impl Map {
    /// The map that a node has told of, with nodes made or found by `node`.
    pub(super) fn of(
        ranges: &[Range],
        node: impl Fn(&str, u16) -> RedisResult<Arc<Node>>,
    ) -> RedisResult<Self> {
        let mut map = Self::default();
        for Range { first, last, host, port } in ranges {
            let node = match map.at(host, *port) {
                Some(node) => Arc::clone(node),
                None => node(host, *port)?,
            };
            for slot in *first..=*last {
                map.give(slot, &node);
            }
        }
        Ok(map)
    }

    pub(super) fn nodes(&self) -> &[Arc<Node>] {
        &self.nodes
    }

    pub(super) fn separate(&self) -> Self {
        let nodes = self.nodes.iter().map(|node| node.separate()).collect();
        Self { nodes, slots: self.slots.clone() }
    }

    /// The node of a slot, by its place among the nodes.
    pub(super) fn index(&self, slot: u16) -> Option<usize> {
        self.slots.get(usize::from(slot)).copied().flatten().map(usize::from)
    }

    pub(super) fn of_slot(&self, slot: u16) -> Option<&Arc<Node>> {
        self.nodes.get(self.index(slot)?)
    }

    pub(super) fn at(&self, host: &str, port: u16) -> Option<&Arc<Node>> {
        self.nodes.iter().find(|node| node.is_at(host, port))
    }

    /// Gives a slot to a node.
    pub(super) fn give(&mut self, slot: u16, node: &Arc<Node>) {
        let index = self.place_of(node);
        self.slots.resize(usize::from(SLOTS), None);
        if let Some(of_slot) = self.slots.get_mut(usize::from(slot)) {
            *of_slot = index;
        }
    }

    fn place_of(&mut self, node: &Arc<Node>) -> Option<u16> {
        let index = self.nodes.iter().position(|known| known.is_at(&node.host, node.port));
        let index = index.unwrap_or_else(|| {
            self.nodes.push(Arc::clone(node));
            self.nodes.len() - 1
        });
        u16::try_from(index).ok()
    }

    /// Puts calls together by node; those whose slot no node is known to have are left out.
    pub(super) fn loads(&self, calls: Vec<(usize, Call)>) -> Vec<Load> {
        let mut loads: Vec<Load> = Vec::new();
        for (nth, Call { record, command }) in calls {
            let Some(node) = self.of_slot(slot(&record)) else { continue };
            let load = match loads.iter_mut().position(|load| Arc::ptr_eq(&load.node, node)) {
                Some(index) => &mut loads[index],
                None => {
                    let node = Arc::clone(node);
                    loads.push(Load { node, commands: Pipeline::new(), calls: Vec::new() });
                    let last = loads.len() - 1;
                    &mut loads[last]
                }
            };
            load.commands.add_command(command);
            load.calls.push((nth, record));
        }
        loads
    }
}

/// A range of slots, and where its master is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) host: String,
    pub(super) port: u16,
}

/// Reads the reply to `CLUSTER SLOTS`; a node without a host is on the host that was `asked`.
pub(super) fn ranges(reply: &Value, asked: &str) -> Option<Vec<Range>> {
    let Value::Array(ranges) = reply else { return None };
    ranges.iter().map(|range| Range::read(range, asked)).collect()
}

impl Range {
    fn read(range: &Value, asked: &str) -> Option<Self> {
        let Value::Array(parts) = range else { return None };
        let [Value::Int(first), Value::Int(last), Value::Array(master), ..] = &**parts else {
            return None;
        };
        let [host, Value::Int(port), ..] = &**master else { return None };
        let host = match host {
            Value::BulkString(host) => std::str::from_utf8(host).ok()?,
            Value::SimpleString(host) => host,
            Value::Nil => "",
            _ => return None,
        };
        // A node that does not know its own host says `?`.
        let host = if matches!(host, "" | "?") { asked } else { host };
        let number = |number: &i64| u16::try_from(*number).ok();
        let (first, last) = (number(first)?, number(last)?);
        (first <= last && last < SLOTS).then_some(())?;
        Some(Self { first, last, host: host.to_owned(), port: number(port)? })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use redis::{RedisConnectionInfo, parse_redis_value};

    use super::*;
    use crate::place::Certificates;

    fn read(reply: &str) -> Option<Vec<Range>> {
        ranges(&parse_redis_value(reply.replace(' ', "\r\n").as_bytes()).expect("a reply"), "asked")
    }

    fn range(first: u16, last: u16, host: &str, port: u16) -> Range {
        Range { first, last, host: host.to_owned(), port }
    }

    fn node(host: &str, port: u16) -> RedisResult<Arc<Node>> {
        let (login, certificates) = (RedisConnectionInfo::default(), Certificates::default());
        let second = Duration::from_secs(1);
        let times = Times { connect: second, command: second };
        Node::new(host, port, &Manner { login, encrypted: false, certificates }, times)
    }

    fn calls(records: &[&str]) -> Vec<(usize, Call)> {
        let call =
            |record: &&str| Call { record: (*record).to_owned(), command: redis::cmd("GET") };
        records.iter().map(call).enumerate().collect()
    }

    #[test]
    fn slots_are_those_of_the_servers() {
        // The example that the specification of the servers gives.
        assert_eq!(slot("123456789"), 0x31C3);
    }

    #[test]
    fn a_map_as_a_node_tells_it() {
        let two = "*2 *3 :0 :99 *3 $1 a :7000 $2 id *4 :100 :16383 *3 $1 b :7001 $2 id *3 $1 c :7002 $2 id ";
        assert_eq!(read(two), Some(vec![range(0, 99, "a", 7000), range(100, 16_383, "b", 7001)]));
        for unknown in
            ["*1 *3 :0 :9 *2 $0  :7000 ", "*1 *3 :0 :9 *2 $1 ? :7000 ", "*1 *3 :0 :9 *2 $-1 :7000 "]
        {
            assert_eq!(read(unknown), Some(vec![range(0, 9, "asked", 7000)]), "{unknown}");
        }
    }

    #[test]
    fn what_is_no_map_is_none() {
        for reply in [
            "+OK ",
            "*1 :1 ",
            "*1 *2 :0 :9 ",
            "*1 *3 :9 :0 *2 $1 a :7000 ",
            "*1 *3 :0 :16384 *2 $1 a :7000 ",
            "*1 *3 :0 :9 *2 $1 a :70000 ",
            "*1 *3 :0 :9 *1 $1 a ",
        ] {
            assert_eq!(read(reply), None, "{reply}");
        }
    }

    #[test]
    fn commands_go_to_the_node_of_their_slot_and_follow_it() {
        let half = slot("one").min(slot("two"));
        let told = [range(0, half, "a", 1), range(half + 1, 16_383, "b", 2)];
        let mut map = Map::of(&told, node).expect("nodes");
        let sent = |map: &Map, records: &[&str]| {
            let loads = map.loads(calls(records));
            let places = |load: &Load| load.calls.iter().map(|(nth, _)| *nth).collect::<Vec<_>>();
            loads.iter().map(|load| (load.node.to_string(), places(load))).collect::<Vec<_>>()
        };
        let [low, high] = if slot("one") == half { ["one", "two"] } else { ["two", "one"] };
        let expected = [("a:1".to_owned(), vec![0, 2]), ("b:2".to_owned(), vec![1])];
        assert_eq!(sent(&map, &[low, high, low]), expected);
        map.give(slot(high), &node("a", 1).expect("a node"));
        assert_eq!(sent(&map, &[low, high]), [("a:1".to_owned(), vec![0, 1])]);
        assert_eq!(map.nodes().len(), 2);
        map.give(slot(low), &node("c", 3).expect("a node"));
        assert_eq!(sent(&map, &[low]), [("c:3".to_owned(), vec![0])]);
    }

    #[test]
    fn without_a_map_nothing_goes_anywhere() {
        assert!(Map::default().loads(calls(&["one"])).is_empty());
    }
}
