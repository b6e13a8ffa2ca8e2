//! A backend as somebody else would write one, from public items only: a map from names to bytes.
//! It passes the conformance suite; with a rule of the protocol left out, it does not.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use idem_runtime::backend::{Reach, Renewal, Watch};
use idem_runtime::protocol::transition::{
    self, BeginReply, Change, CompleteReply, DiscardReply, Entry, FenceReply, ReleaseReply,
    RenewReply, ReplaceReply,
};
use idem_runtime::record::{Found, Head, Owner, Record, Standing};
use idem_runtime::testing::conformance;
use idem_runtime::{Backend, BackendError, RecordKey};
use tokio::sync::watch;
use tokio::time::Instant;

type Answer<T> = Result<T, BackendError>;
/// Bytes by name, and until when they live.
type Records = HashMap<String, (Vec<u8>, Instant)>;

/// What is left out of the protocol, to see the suite notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeftOut {
    Nothing,
    OwnerOfRelease,
    OwnerOfRenewal,
    Expiry,
    WakeUps,
    Repeats,
}

#[derive(Clone)]
struct MapBackend {
    left_out: LeftOut,
    records: Arc<Mutex<Records>>,
    changes: watch::Sender<()>,
    last_fence: Arc<Mutex<u64>>,
}

impl MapBackend {
    fn new(left_out: LeftOut) -> Self {
        Self {
            left_out,
            records: Arc::default(),
            changes: watch::channel(()).0,
            last_fence: Arc::default(),
        }
    }

    fn step<T>(
        &self,
        key: &RecordKey,
        step: impl FnOnce(Option<Entry<'_>>) -> (T, Change),
    ) -> Answer<T> {
        let mut records = self.records.lock().unwrap();
        let name = name(key);
        let now = Instant::now();
        let found =
            records.get(&name).filter(|(_, ends)| *ends > now || self.left_out == LeftOut::Expiry);
        let found = found.map(|(bytes, ends)| (Standing::from_bytes(bytes), *ends - now));
        let entry = found.as_ref().map(|(standing, left)| Entry { standing, left: *left });
        let (reply, change) = step(entry);
        let standing = found.and_then(|(standing, _)| standing.record().cloned());
        match (change, standing) {
            (Change::Keep, _) => return Ok(reply),
            (Change::Put { record, life }, _) => {
                records.insert(name, (record.to_bytes(), now + life));
            }
            (Change::Extend { retention_ms, life }, Some(record)) => {
                let record = Record { retention_ms, ..record };
                records.insert(name, (record.to_bytes(), now + life));
            }
            (Change::Fence(fence), Some(record)) => {
                records.get_mut(&name).unwrap().0 = Record { fence, ..record }.to_bytes();
            }
            (Change::Remove, _) => drop(records.remove(&name)),
            (Change::Extend { .. } | Change::Fence(_), None) => {
                unreachable!("only where it stands")
            }
        }
        if self.left_out != LeftOut::WakeUps {
            self.changes.send_replace(());
        }
        Ok(reply)
    }
}

fn name(key: &RecordKey) -> String {
    // Prefix and operation have no colon.
    format!("{}:{}:{}", key.prefix(), key.operation(), key.key())
}

fn owner_of(entry: &Entry<'_>) -> Owner {
    entry.standing.record().unwrap().owner
}

impl Backend for MapBackend {
    async fn begin(&self, key: &RecordKey, own: &Record, lease: Duration) -> Answer<BeginReply> {
        self.step(key, |found| {
            let mut own = own.clone();
            if self.left_out == LeftOut::Repeats {
                own.owner = Owner::fresh();
            }
            transition::begin(found, &own, lease)
        })
    }

    async fn renew(&self, renewals: &[Renewal]) -> Vec<Answer<RenewReply>> {
        let renew = |Renewal { key, owner, lease, retention }: &Renewal| {
            self.step(key, |found| {
                let owner = match &found {
                    Some(entry) if self.left_out == LeftOut::OwnerOfRenewal => owner_of(entry),
                    _ => *owner,
                };
                transition::renew(found, owner, *lease, *retention)
            })
        };
        renewals.iter().map(renew).collect()
    }

    async fn complete(
        &self,
        key: &RecordKey,
        outcome: &Record,
        ttl: Duration,
    ) -> Answer<CompleteReply> {
        self.step(key, |found| transition::complete(found, outcome, ttl))
    }

    async fn release(&self, key: &RecordKey, owner: Owner) -> Answer<ReleaseReply> {
        self.step(key, |found| {
            let owner = match &found {
                Some(entry) if self.left_out == LeftOut::OwnerOfRelease => owner_of(entry),
                _ => owner,
            };
            transition::release(found, owner)
        })
    }

    async fn replace(
        &self,
        key: &RecordKey,
        seen: Head,
        record: &Record,
        life: Duration,
        if_lapsed: Option<Duration>,
    ) -> Answer<ReplaceReply> {
        self.step(key, |found| transition::replace(found, seen, record, life, if_lapsed))
    }

    async fn discard(&self, key: &RecordKey, owner: Owner) -> Answer<DiscardReply> {
        self.step(key, |found| transition::discard(found, owner))
    }

    async fn fence(&self, key: &RecordKey, owner: Owner) -> Answer<FenceReply> {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let now = u64::try_from(since_epoch.as_micros()).unwrap();
        let mut last = self.last_fence.lock().unwrap();
        *last = now.max(*last + 1);
        self.step(key, |found| transition::fence(found, owner, *last))
    }

    async fn peek(&self, key: &RecordKey) -> Answer<Option<Found>> {
        let records = self.records.lock().unwrap();
        let left = |ends: &Instant| ends.saturating_duration_since(Instant::now());
        let found = records.get(&name(key)).filter(|(_, ends)| !left(ends).is_zero());
        Ok(found
            .map(|(bytes, ends)| Found { standing: Standing::from_bytes(bytes), left: left(ends) }))
    }

    async fn changed(&self, _: &RecordKey) -> Answer<Watch> {
        // Early is allowed: every change of any key wakes.
        Ok(Watch::new(self.changes.subscribe(), || {}))
    }

    async fn for_keeper(&self) -> Answer<Self> {
        Ok(self.clone())
    }

    fn reach(&self) -> Reach {
        Reach::Process
    }
}

conformance!(map, async { MapBackend::new(LeftOut::Nothing) });

/// Whether a case fails for a backend with something left out.
async fn notices<F: Future<Output = ()> + Send + 'static>(
    case: fn(MapBackend) -> F,
    left_out: LeftOut,
) {
    let run = tokio::spawn(case(MapBackend::new(left_out)));
    assert!(run.await.is_err(), "the suite did not notice: {left_out:?}");
}

#[tokio::test(start_paused = true)]
async fn the_suite_notices_what_is_left_out() {
    notices(conformance::release_frees_its_own_reservation_only, LeftOut::OwnerOfRelease).await;
    notices(conformance::renew_leaves_others_alone, LeftOut::OwnerOfRenewal).await;
    notices(conformance::begin_takes_an_expired_key, LeftOut::Expiry).await;
    notices(conformance::complete_stores_once_for_its_ttl, LeftOut::Repeats).await;
    notices(conformance::changed_wakes_for_every_end, LeftOut::WakeUps).await;
}
