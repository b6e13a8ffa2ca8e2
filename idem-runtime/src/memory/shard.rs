//! The map behind the memory backend: shards with a lock each, records that expire by themselves.

use std::collections::HashMap;

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;

use crate::backend::BackendError;
use crate::protocol::Moment;
use crate::protocol::transition::{Change, Entry};
use crate::record::{Found, Standing};
use crate::record_key::RecordKey;
use crate::sync::{Mutex, Padded, lock, watch};

/// Enough that a few dozen threads rarely meet.
const MOST_SHARDS: usize = 64;
/// A shard is not worth having for fewer records than this.
const LEAST_PER_SHARD: usize = 1024;
/// A shard sweeps out what has expired whenever it has doubled since it last did.
const FIRST_SWEEP: usize = 64;

pub(super) struct Shards {
    shards: Box<[Padded<Mutex<Shard>>]>,
    most_per_shard: usize,
    most_records: usize,
}

struct Shard {
    slots: HashTable<Slot>,
    watches: HashMap<RecordKey, watch::Sender<()>>,
    sweep_at: usize,
    /// Nothing here expires before this moment: a sweep until then finds nothing.
    earliest_end: Moment,
}

struct Slot {
    key: RecordKey,
    standing: Standing,
    ends: Moment,
}

impl Shards {
    pub(super) fn new(most_records: usize) -> Self {
        let wanted = (most_records / LEAST_PER_SHARD).clamp(1, MOST_SHARDS);
        // A power of two, so that a shard is chosen by a mask.
        let count = 1 << wanted.ilog2();
        let shard = || {
            Padded(Mutex::new(Shard {
                slots: HashTable::new(),
                watches: HashMap::new(),
                sweep_at: FIRST_SWEEP,
                earliest_end: Moment::NEVER,
            }))
        };
        Self {
            shards: std::iter::repeat_with(shard).take(count).collect(),
            most_per_shard: most_records.div_ceil(count),
            most_records,
        }
    }

    /// Carries out one operation on what stands under `key` now.
    pub(super) fn step<T>(
        &self,
        key: &RecordKey,
        now: Moment,
        transition: impl FnOnce(Option<Entry<'_>>) -> (T, Change),
    ) -> Result<T, BackendError> {
        let mut shard = lock(self.shard(key));
        if let Ok(found) = shard.slots.find_entry(key.local_hash(), |slot| slot.key == *key) {
            if found.get().ends > now {
                let slot = found.get();
                let (reply, change) = transition(Some(Entry {
                    standing: &slot.standing,
                    left: slot.ends.since(now),
                }));
                let (changed, ends) = apply(found, change, now);
                shard.earliest_end = shard.earliest_end.min(ends);
                let watch = if changed { shard.watch_of(key) } else { None };
                drop(shard);
                wake(watch);
                return Ok(reply);
            }
            found.remove();
        }
        let (reply, change) = transition(None);
        if let Change::Put { record, life } = change {
            self.make_room(&mut shard, now)?;
            let slot = Slot {
                key: key.clone(),
                standing: Standing::Record(record),
                ends: now.after(life),
            };
            shard.insert(slot);
            let watch = shard.watch_of(key);
            drop(shard);
            wake(watch);
        }
        Ok(reply)
    }

    pub(super) fn peek(&self, key: &RecordKey, now: Moment) -> Option<Found> {
        let shard = lock(self.shard(key));
        let slot = shard.slots.find(key.local_hash(), |slot| slot.key == *key)?;
        let left = slot.ends.since(now);
        (!left.is_zero()).then(|| Found { standing: slot.standing.clone(), left })
    }

    pub(super) fn watch(&self, key: &RecordKey) -> watch::Receiver<()> {
        let mut shard = lock(self.shard(key));
        shard.watches.entry(key.clone()).or_insert_with(|| watch::channel(()).0).subscribe()
    }

    /// Gives up the watch of a key that nobody watches any more.
    pub(super) fn unwatch(&self, key: &RecordKey) {
        let mut shard = lock(self.shard(key));
        if shard.watches.get(key).is_some_and(|sender| sender.receiver_count() == 0) {
            shard.watches.remove(key);
        }
    }

    #[cfg(all(test, idem_interleave = "shuttle"))]
    pub(super) fn is_watched(&self, key: &RecordKey) -> bool {
        lock(self.shard(key)).watches.contains_key(key)
    }

    pub(super) fn count_live(&self, now: Moment) -> usize {
        let live = |shard: &Padded<Mutex<Shard>>| {
            lock(shard).slots.iter().filter(|slot| slot.ends > now).count()
        };
        self.shards.iter().map(live).sum()
    }

    #[cfg(feature = "testing")]
    pub(super) fn plant(&self, key: &RecordKey, standing: Standing, ends: Moment) {
        let mut shard = lock(self.shard(key));
        if let Ok(found) = shard.slots.find_entry(key.local_hash(), |slot| slot.key == *key) {
            found.remove();
        }
        shard.insert(Slot { key: key.clone(), standing, ends });
        let watch = shard.watch_of(key);
        drop(shard);
        wake(watch);
    }

    fn shard(&self, key: &RecordKey) -> &Mutex<Shard> {
        // The table uses the hash's low and top bits; the shard takes some from between.
        let index = (key.local_hash() >> 32) as usize & (self.shards.len() - 1);
        &self.shards[index].0
    }

    /// Sweeps when it is time to, and refuses when even that makes no room.
    fn make_room(&self, shard: &mut Shard, now: Moment) -> Result<(), BackendError> {
        if shard.slots.len() >= shard.sweep_at.min(self.most_per_shard) && shard.earliest_end <= now
        {
            shard.sweep(now);
        }
        if shard.slots.len() >= self.most_per_shard {
            return Err(BackendError::answered(format!(
                "the memory backend is full ({} records, as bounded): nothing live is forgotten to make room",
                self.most_records
            )));
        }
        Ok(())
    }
}

impl Shard {
    fn sweep(&mut self, now: Moment) {
        self.slots.retain(|slot| slot.ends > now);
        self.earliest_end = self.slots.iter().map(|slot| slot.ends).min().unwrap_or(Moment::NEVER);
        self.sweep_at = (2 * self.slots.len()).max(FIRST_SWEEP);
    }

    fn insert(&mut self, slot: Slot) {
        self.earliest_end = self.earliest_end.min(slot.ends);
        let hash = slot.key.local_hash();
        self.slots.insert_unique(hash, slot, |slot| slot.key.local_hash());
    }

    fn watch_of(&self, key: &RecordKey) -> Option<watch::Sender<()>> {
        if self.watches.is_empty() { None } else { self.watches.get(key).cloned() }
    }
}

/// Wakes who watches, outside of the shard's lock: a waker may run anything.
fn wake(watch: Option<watch::Sender<()>>) {
    if let Some(watch) = watch {
        watch.send_replace(());
    }
}

/// Applies a change to a live slot; says whether a waiter has to hear of it, and when it ends now.
fn apply(mut found: OccupiedEntry<'_, Slot>, change: Change, now: Moment) -> (bool, Moment) {
    let slot = found.get_mut();
    let changed = match change {
        Change::Keep => false,
        Change::Put { record, life } => {
            slot.standing = Standing::Record(record);
            slot.ends = now.after(life);
            true
        }
        Change::Extend { retention_ms, life } => {
            if let Standing::Record(record) = &mut slot.standing {
                record.retention_ms = retention_ms;
            }
            slot.ends = now.after(life);
            false
        }
        Change::Fence(fence) => {
            if let Standing::Record(record) = &mut slot.standing {
                record.fence = fence;
            }
            false
        }
        Change::Remove => {
            found.remove();
            return (true, Moment::NEVER);
        }
    };
    (changed, slot.ends)
}
