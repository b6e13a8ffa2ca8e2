//! Whether what several callers saw of a map could have come about one operation after the other.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::backend::{Backend, Renewal};
use crate::memory::MemoryBackend;
use crate::protocol::Moment;
use crate::protocol::transition::{
    self, BeginReply, Change, CompleteReply, DiscardReply, Entry, ReleaseReply, RenewReply,
    ReplaceReply,
};
use crate::record::{Found, Head, Owner, Record, Standing};
use crate::record_key::RecordKey;
use crate::sync::scheduled::block_on;
use crate::sync::time::move_to;

/// An operation on the record under one key.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Begin(Record, Duration),
    Renew(Owner, Duration, Duration),
    Complete(Record, Duration),
    Release(Owner),
    Replace { seen: Head, record: Record, life: Duration, if_lapsed: Option<Duration> },
    Discard(Owner),
    Peek,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Begin(BeginReply),
    Renew(RenewReply),
    Complete(CompleteReply),
    Release(ReleaseReply),
    Replace(ReplaceReply),
    Discard(DiscardReply),
    Peek(Option<Found>),
    /// There was no room.
    Full,
}

impl Operation {
    pub(super) fn on(&self, store: &MemoryBackend, key: &RecordKey) -> Reply {
        match self.clone() {
            Self::Begin(record, lease) => {
                block_on(store.begin(key, &record, lease)).map_or(Reply::Full, Reply::Begin)
            }
            Self::Renew(owner, lease, retention) => {
                let renewal = Renewal { key: key.clone(), owner, lease, retention };
                Reply::Renew(block_on(store.renew(&[renewal])).remove(0).unwrap())
            }
            Self::Complete(record, ttl) => {
                Reply::Complete(block_on(store.complete(key, &record, ttl)).unwrap())
            }
            Self::Release(owner) => Reply::Release(block_on(store.release(key, owner)).unwrap()),
            Self::Replace { seen, record, life, if_lapsed } => Reply::Replace(
                block_on(store.replace(key, seen, &record, life, if_lapsed)).unwrap(),
            ),
            Self::Discard(owner) => Reply::Discard(block_on(store.discard(key, owner)).unwrap()),
            Self::Peek => Reply::Peek(block_on(store.peek(key)).unwrap()),
        }
    }

    /// What the protocol says to it.
    fn by_protocol(&self, found: Option<Entry<'_>>) -> (Reply, Change) {
        match self {
            Self::Begin(record, lease) => {
                let (reply, change) = transition::begin(found, record, *lease);
                (Reply::Begin(reply), change)
            }
            Self::Renew(owner, lease, retention) => {
                let (reply, change) = transition::renew(found, *owner, *lease, *retention);
                (Reply::Renew(reply), change)
            }
            Self::Complete(record, ttl) => {
                let (reply, change) = transition::complete(found, record, *ttl);
                (Reply::Complete(reply), change)
            }
            Self::Release(owner) => {
                let (reply, change) = transition::release(found, *owner);
                (Reply::Release(reply), change)
            }
            Self::Replace { seen, record, life, if_lapsed } => {
                let (reply, change) = transition::replace(found, *seen, record, *life, *if_lapsed);
                (Reply::Replace(reply), change)
            }
            Self::Discard(owner) => {
                let (reply, change) = transition::discard(found, *owner);
                (Reply::Discard(reply), change)
            }
            Self::Peek => {
                let found = found.map(|at| Found { standing: at.standing.clone(), left: at.left });
                (Reply::Peek(found), Change::Keep)
            }
        }
    }
}

/// An operation as its caller saw it.
#[derive(Clone, Debug)]
struct Seen {
    key: RecordKey,
    operation: Operation,
    reply: Option<Reply>,
    /// Between these places in the history.
    called: usize,
    answered: usize,
    /// Between these moments.
    from: Moment,
    to: Moment,
}

/// What all callers saw, in the order in which it happened.
#[derive(Default)]
pub(super) struct History(Mutex<Log>);

#[derive(Default)]
struct Log {
    events: usize,
    seen: Vec<Seen>,
    /// The moments to which time was moved; the last one may be still to come.
    moments: Vec<Moment>,
    now: Option<Moment>,
}

impl History {
    /// Moves time on.
    pub(super) fn move_to(&self, at: Duration) {
        let moment = Moment::ORIGIN.after(at);
        self.0.lock().unwrap().moments.push(moment);
        move_to(at);
        self.0.lock().unwrap().now = Some(moment);
    }

    /// Does it, and takes note of it.
    pub(super) fn ask(
        &self,
        store: &MemoryBackend,
        key: &RecordKey,
        operation: Operation,
    ) -> Reply {
        let index = self.called(key, operation.clone());
        let reply = operation.on(store, key);
        self.answered(index, reply.clone());
        reply
    }

    fn called(&self, key: &RecordKey, operation: Operation) -> usize {
        let mut log = self.0.lock().unwrap();
        log.events += 1;
        let (called, from) = (log.events, log.now.unwrap_or(Moment::ORIGIN));
        let key = key.clone();
        let (answered, to) = (usize::MAX, Moment::NEVER);
        log.seen.push(Seen { key, operation, reply: None, called, answered, from, to });
        log.seen.len() - 1
    }

    fn answered(&self, index: usize, reply: Reply) {
        let mut log = self.0.lock().unwrap();
        log.events += 1;
        let (answered, to) = (log.events, log.moments.last().copied().unwrap_or(Moment::ORIGIN));
        let seen = &mut log.seen[index];
        (seen.reply, seen.answered, seen.to) = (Some(reply), answered, to);
    }

    /// Fails unless some order of the operations, in which none comes before one that was answered
    /// before it was called, gives all the replies.
    pub(super) fn check(&self, most_records: usize) {
        let log = self.0.lock().unwrap();
        let map = Map { slots: BTreeMap::new(), most_records };
        assert!(log.explains(&mut vec![false; log.seen.len()], &map), "{:#?}", log.seen);
    }
}

impl Log {
    fn explains(&self, done: &mut Vec<bool>, map: &Map) -> bool {
        let Some(first_answer) = (0..done.len())
            .filter(|&index| !done[index])
            .map(|index| self.seen[index].answered)
            .min()
        else {
            return true;
        };
        (0..done.len()).any(|index| {
            let seen = &self.seen[index];
            if done[index] || seen.called > first_answer {
                return false;
            }
            done[index] = true;
            let explained = self.moments_of(seen).any(|now| {
                let mut map = map.clone();
                let reply = map.step(&seen.key, &seen.operation, now);
                seen.reply.as_ref() == Some(&reply) && self.explains(done, &map)
            });
            done[index] = explained;
            explained
        })
    }

    /// The store reads its clock at some moment of the operation.
    fn moments_of(&self, seen: &Seen) -> impl Iterator<Item = Moment> {
        let within = seen.from..=seen.to;
        let first = std::iter::once(Moment::ORIGIN);
        first.chain(self.moments.clone()).filter(move |moment| within.contains(moment))
    }
}

/// The map, one operation after the other.
#[derive(Clone)]
struct Map {
    slots: BTreeMap<String, (Standing, Moment)>,
    most_records: usize,
}

impl Map {
    fn step(&mut self, key: &RecordKey, operation: &Operation, now: Moment) -> Reply {
        let name = key.key().to_owned();
        let found = self.slots.get(&name).filter(|(_, ends)| *ends > now);
        let entry = found.map(|(standing, ends)| Entry { standing, left: ends.since(now) });
        let (reply, change) = operation.by_protocol(entry);
        let is_new = entry.is_none();
        if is_new && !matches!(operation, Operation::Peek) {
            self.slots.remove(&name);
        }
        match change {
            Change::Keep => {}
            Change::Put { record, life } => {
                if is_new && self.slots.len() >= self.most_records {
                    self.slots.retain(|_, (_, ends)| *ends > now);
                }
                if is_new && self.slots.len() >= self.most_records {
                    return Reply::Full;
                }
                self.slots.insert(name, (Standing::Record(record), now.after(life)));
            }
            Change::Extend { retention_ms, life } => {
                let Some((Standing::Record(record), ends)) = self.slots.get_mut(&name) else {
                    unreachable!("it was found")
                };
                record.retention_ms = retention_ms;
                *ends = now.after(life);
            }
            Change::Fence(_) => unreachable!("none is asked for"),
            Change::Remove => drop(self.slots.remove(&name)),
        }
        reply
    }
}
