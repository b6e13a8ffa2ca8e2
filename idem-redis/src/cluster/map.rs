//! Which node has which slot.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::{RedisResult, Value};
use tokio::time::Instant;

use super::load::{Load, load_of};
use crate::builder::Times;
use crate::connections::Connections;
use crate::place::Manner;
use crate::servers::Call;

const SLOTS: u16 = 16_384;
/// A map that is in use is asked for anew after this long: where nothing ever comes back, nodes may
/// have been replaced one after another until none that is known is left.
const OLD_AFTER: Duration = Duration::from_secs(60);
/// The checksum that makes a slot of a name.
const CRC: crc::Crc<u16> = crc::Crc::<u16>::new(&crc::CRC_16_XMODEM);

/// The slot of a name: of what stands between its first `{` and the `}` after that, if anything does.
/// Names of records have no braces.
pub(super) fn slot(name: &str) -> u16 {
    let tag = name.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    let counts = tag.filter(|tag| !tag.is_empty()).unwrap_or(name);
    CRC.checksum(counts.as_bytes()) % SLOTS
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
        let connections = manner.connections(host, port, times)?;
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

/// The nodes, and the slots of each.
#[derive(Debug, Default)]
pub(super) struct Map {
    nodes: Vec<Arc<Node>>,
    /// The node of each slot, by its place in `nodes`; empty as long as nothing is known.
    slots: Vec<Option<u16>>,
    /// Known, and without slots: replicas, and nodes that are about to get some.
    others: Vec<Arc<Node>>,
    /// When it was told, and at which time of asking.
    told: Option<(Instant, usize)>,
}

impl Map {
    /// The map that a node has told of, with nodes made or found by `node`.
    pub(super) fn of(
        ranges: &[Range],
        asking: usize,
        node: impl Fn(&Address) -> RedisResult<Arc<Node>>,
    ) -> RedisResult<Self> {
        let mut map = Self { told: Some((Instant::now(), asking)), ..Self::default() };
        map.slots.resize(usize::from(SLOTS), None);
        for Range { first, last, master, .. } in ranges {
            let Some(master) = master else { continue };
            let place = map.place_of(&node(master)?);
            map.slots[usize::from(*first)..=usize::from(*last)].fill(place);
        }
        for replica in ranges.iter().flat_map(|range| &range.replicas) {
            map.meet(&node(replica)?);
        }
        Ok(map)
    }

    /// Whether it was told at an earlier time of asking than `other`.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        self.told.map(|(_, asking)| asking) < other.told.map(|(_, asking)| asking)
    }

    /// Whether much may have happened since it was told.
    pub(super) fn is_old(&self) -> bool {
        self.told.is_none_or(|(when, _)| when.elapsed() > OLD_AFTER)
    }

    /// The nodes that have slots.
    pub(super) fn nodes(&self) -> &[Arc<Node>] {
        &self.nodes
    }

    /// All nodes that are known.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.iter().chain(&self.others)
    }

    pub(super) fn separate(&self) -> Self {
        let separate = |nodes: &[Arc<Node>]| nodes.iter().map(|node| node.separate()).collect();
        Self {
            nodes: separate(&self.nodes),
            slots: self.slots.clone(),
            others: separate(&self.others),
            told: self.told,
        }
    }

    /// The node of a slot, by its place among the nodes.
    pub(super) fn index(&self, slot: u16) -> Option<usize> {
        self.slots.get(usize::from(slot)).copied().flatten().map(usize::from)
    }

    pub(super) fn of_slot(&self, slot: u16) -> Option<&Arc<Node>> {
        self.nodes.get(self.index(slot)?)
    }

    pub(super) fn unserved(&self) -> usize {
        usize::from(SLOTS) - self.slots.iter().flatten().count()
    }

    pub(super) fn at(&self, host: &str, port: u16) -> Option<&Arc<Node>> {
        self.all().find(|node| node.is_at(host, port))
    }

    /// Takes note of a node.
    pub(super) fn meet(&mut self, node: &Arc<Node>) {
        if self.at(&node.host, node.port).is_none() {
            self.others.push(Arc::clone(node));
        }
    }

    /// Gives a slot to a node.
    pub(super) fn give(&mut self, slot: u16, node: &Arc<Node>) {
        let place = self.place_of(node);
        self.slots.resize(usize::from(SLOTS), None);
        if let Some(of_slot) = self.slots.get_mut(usize::from(slot)) {
            *of_slot = place;
        }
    }

    fn place_of(&mut self, node: &Arc<Node>) -> Option<u16> {
        let place = self.nodes.iter().position(|known| known.is_at(&node.host, node.port));
        let place = place.unwrap_or_else(|| {
            self.others.retain(|other| !other.is_at(&node.host, node.port));
            self.nodes.push(Arc::clone(node));
            self.nodes.len() - 1
        });
        u16::try_from(place).ok()
    }

    /// Puts calls together by node; those whose slot no node is known to have are left out.
    pub(super) fn loads(&self, calls: Vec<(usize, Call)>) -> Vec<Load> {
        let mut loads = Vec::new();
        for (nth, call) in calls {
            if let Some(node) = self.of_slot(slot(&call.record)) {
                load_of(&mut loads, node, false).add(nth, call);
            }
        }
        loads
    }
}

/// Host and port.
pub(super) type Address = (String, u16);

/// A range of slots, and who has it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range {
    first: u16,
    last: u16,
    /// Unknown where the node that told of it does not know its host.
    master: Option<Address>,
    replicas: Vec<Address>,
}

/// Reads the reply to `CLUSTER SLOTS` of a node on the host that was `asked`.
pub(super) fn ranges(reply: &Value, asked: &str) -> Option<Vec<Range>> {
    let Value::Array(ranges) = reply else { return None };
    ranges.iter().map(|range| Range::read(range, asked)).collect()
}

impl Range {
    fn read(range: &Value, asked: &str) -> Option<Self> {
        let Value::Array(parts) = range else { return None };
        let [Value::Int(first), Value::Int(last), master, replicas @ ..] = &**parts else {
            return None;
        };
        let (first, last) = (u16::try_from(*first).ok()?, u16::try_from(*last).ok()?);
        (first <= last && last < SLOTS).then_some(())?;
        let replicas = replicas.iter().filter_map(|replica| address(replica, asked)).collect();
        Some(Self { first, last, master: address(master, asked), replicas })
    }
}

/// Where a node is, as `CLUSTER SLOTS` has it: host, port, id, and more of it by name.
fn address(node: &Value, asked: &str) -> Option<Address> {
    let Value::Array(node) = node else { return None };
    let [host, Value::Int(port), more @ ..] = &**node else { return None };
    let host = match text(host)? {
        "" => asked,
        // It is told to be known by a name, and has none. Its address may stand among the rest.
        "?" => match more.get(1) {
            Some(Value::Array(more)) => {
                let named = more.chunks_exact(2).find(|named| text(&named[0]) == Some("ip"))?;
                text(&named[1])?
            }
            _ => return None,
        },
        host => host,
    };
    Some((host.to_owned(), u16::try_from(*port).ok()?))
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(text) => std::str::from_utf8(text).ok(),
        Value::SimpleString(text) => Some(text),
        Value::Nil => Some(""),
        _ => None,
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
        Range { first, last, master: Some((host.to_owned(), port)), replicas: Vec::new() }
    }

    fn node((host, port): &Address) -> RedisResult<Arc<Node>> {
        let (login, certificates) = (RedisConnectionInfo::default(), Certificates::default());
        let second = Duration::from_secs(1);
        let times = Times { connect: second, command: second };
        Node::new(host, *port, &Manner { login, encrypted: false, certificates }, times)
    }

    fn node_at(host: &str, port: u16) -> Arc<Node> {
        node(&(host.to_owned(), port)).expect("a node")
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
        let mut second = range(100, 16_383, "b", 7001);
        second.replicas.push(("c".to_owned(), 7002));
        assert_eq!(read(two), Some(vec![range(0, 99, "a", 7000), second]));
        for same_host in ["$0  :7000 ", "$-1 :7000 "] {
            let told = read(&format!("*1 *3 :0 :9 *2 {same_host}"));
            assert_eq!(told, Some(vec![range(0, 9, "asked", 7000)]), "{same_host}");
        }
    }

    /// A node that is to be known by a name and has none.
    #[test]
    fn a_host_without_a_name_is_known_by_its_address_or_not_at_all() {
        let by_address = "*1 *3 :0 :9 *4 $1 ? :7000 $2 id *2 $2 ip $8 10.0.0.1 ";
        assert_eq!(read(by_address), Some(vec![range(0, 9, "10.0.0.1", 7000)]));
        for unknown in ["*2 $1 ? :7000 ", "*4 $1 ? :7000 $2 id *0 ", "*2 $1 a :70000 ", "*1 $1 a "]
        {
            let told = read(&format!("*1 *3 :0 :9 {unknown}")).expect("a map");
            assert_eq!(told[0].master, None, "{unknown}");
            let map = Map::of(&told, 1, node).expect("nodes");
            assert_eq!(map.unserved(), usize::from(SLOTS));
        }
    }

    #[test]
    fn what_is_no_map_is_none() {
        for reply in [
            "+OK ",
            "*1 :1 ",
            "*1 *2 :0 :9 ",
            "*1 *3 :9 :0 *2 $1 a :7000 ",
            "*1 *3 :0 :16384 *2 $1 a :1 ",
        ] {
            assert_eq!(read(reply), None, "{reply}");
        }
    }

    #[test]
    fn commands_go_to_the_node_of_their_slot_and_follow_it() {
        let half = slot("one").min(slot("two"));
        let told = [range(0, half, "a", 1), range(half + 1, 16_383, "b", 2)];
        let mut map = Map::of(&told, 1, node).expect("nodes");
        let sent = |map: &Map, records: &[&str]| {
            let loads = map.loads(calls(records));
            let places = |load: &Load| load.each().map(|((nth, _), _)| *nth).collect::<Vec<_>>();
            loads.iter().map(|load| (load.node.to_string(), places(load))).collect::<Vec<_>>()
        };
        let [low, high] = if slot("one") == half { ["one", "two"] } else { ["two", "one"] };
        let expected = [("a:1".to_owned(), vec![0, 2]), ("b:2".to_owned(), vec![1])];
        assert_eq!(sent(&map, &[low, high, low]), expected);
        map.give(slot(high), &node_at("a", 1));
        assert_eq!(sent(&map, &[low, high]), [("a:1".to_owned(), vec![0, 1])]);
        assert_eq!(map.nodes().len(), 2);
        map.give(slot(low), &node_at("c", 3));
        assert_eq!(sent(&map, &[low]), [("c:3".to_owned(), vec![0])]);
    }

    /// Replicas are asked for the map when their master is gone, and never sent a command on a record.
    #[test]
    fn nodes_without_slots_are_known_once() {
        let mut told = range(0, 16_383, "a", 1);
        told.replicas.push(("b".to_owned(), 2));
        let mut map = Map::of(&[told], 1, node).expect("nodes");
        map.meet(&node_at("b", 2));
        map.meet(&node_at("a", 1));
        let all = |map: &Map| map.all().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!((map.nodes().len(), all(&map)), (1, vec!["a:1".to_owned(), "b:2".to_owned()]));
        map.give(7, &node_at("b", 2));
        assert_eq!((map.nodes().len(), all(&map).len()), (2, 2));
    }

    #[test]
    fn a_map_that_was_asked_for_earlier_is_told_from_a_later_one() {
        let told = |asking| Map::of(&[range(0, 9, "a", 1)], asking, node).expect("nodes");
        assert!(told(1).is_before(&told(2)) && Map::default().is_before(&told(1)));
        assert!(!told(2).is_before(&told(1)) && !told(1).is_old() && Map::default().is_old());
    }

    #[test]
    fn without_a_map_nothing_goes_anywhere() {
        assert!(Map::default().loads(calls(&["one"])).is_empty());
    }
}
