//! Cases of `begin` and of what a record is.

use super::*;
use crate::protocol::transition::{BeginReply, CompleteReply};
use crate::record::Standing;

/// The first begin acquires, the second finds the first's record.
pub async fn begin_reserves_once(backend: impl Backend) {
    let key = key("begin");
    let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
    let second = answered(backend.begin(&key, &reservation(Owner::fresh()), LONG).await);
    assert_eq!(second, BeginReply::Found(Standing::Record(reservation(owner))));
    let left = left(&backend, &key).await;
    assert!(left <= LONG && left > LONG / 2, "a reservation lives for its lease, not {left:?}");
}

/// A begin whose reply was lost is sent again; that is not a second lease.
pub async fn begin_repeated_by_its_owner_is_acquired_and_moves_nothing(backend: impl Backend) {
    let key = key("begin again");
    let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
    let again = answered(backend.begin(&key, &reservation(owner), LONG * 10).await);
    assert_eq!(again, BeginReply::Acquired);
    assert!(left(&backend, &key).await <= LONG, "a repeated begin does not lengthen the lease");
}

/// A completed record is a completed record, whoever wrote it.
pub async fn begin_finds_an_outcome_whoever_wrote_it(backend: impl Backend) {
    let key = key("begin after complete");
    let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
    let done = outcome(owner, b"done");
    assert_eq!(answered(backend.complete(&key, &done, LONG).await), CompleteReply::Stored);
    for asking in [owner, Owner::fresh()] {
        let reply = answered(backend.begin(&key, &reservation(asking), LONG).await);
        assert_eq!(reply, BeginReply::Found(Standing::Record(done.clone())));
    }
}

/// A reservation whose life has ended is not in the way, and not before.
pub async fn begin_takes_an_expired_key(backend: impl Backend) {
    let key = key("expiry");
    let start = Instant::now();
    reserved(&backend, &key, LEASE, Duration::ZERO).await;
    let next = reservation(Owner::fresh());
    until("the lease ends", || async {
        answered(backend.begin(&key, &next, LEASE).await) == BeginReply::Acquired
    })
    .await;
    // The store counts from when it carried the begin out: a little later than `start`.
    assert!(start.elapsed() >= LEASE, "the key was free before its lease had ended");
}

/// Of many begins at the same time one acquires.
pub async fn many_begins_at_once_reserve_once(backend: impl Backend) {
    let key = key("many begins");
    let backend = Arc::new(backend);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let (backend, key) = (Arc::clone(&backend), key.clone());
        tasks.spawn(async move {
            answered(backend.begin(&key, &reservation(Owner::fresh()), LONG).await)
                == BeginReply::Acquired
        });
    }
    let acquired = tasks.join_all().await.into_iter().filter(|acquired| *acquired).count();
    assert_eq!(acquired, 1);
}

/// Nothing of a record is lost or changed in the store, also not of a large or binary value.
pub async fn every_field_of_a_record_comes_back(backend: impl Backend) {
    let key = key("fields");
    let owner = Owner::fresh();
    let record = Record {
        fingerprint: Fingerprint::from_bytes([7; 16]),
        first_reserved_at_ms: u64::MAX / 3,
        attempt: 41,
        ..reservation(owner)
    }
    .remembered_for(LONG);
    answered(backend.begin(&key, &record, LONG).await);
    assert_eq!(standing(&backend, &key).await, Some(record.clone()));
    let value: Vec<u8> = (0..1 << 20).map(|n: u32| (n % 251) as u8).collect();
    let done = Record {
        flags: Flags::ERROR.with(Flags::NOT_KEPT),
        codec: 200,
        value_version: u32::MAX,
        ..Record { state: State::Completed, payload: outcome(owner, &value).payload, ..record }
    };
    answered(backend.complete(&key, &done, LONG).await);
    assert_eq!(standing(&backend, &key).await, Some(done));
}

/// Prefix, operation and key all tell records apart, whatever characters a key has.
pub async fn keys_do_not_meet(backend: impl Backend) {
    let unique = format!("{:?}", Owner::fresh());
    let long = "x".repeat(10_000);
    let texts = ["a:b/c", "a/b:c", "{a}b", "{a}c", "a b", "a\nb", "a\0b", "%", "%25", "ü", &long];
    let mut keys: Vec<RecordKey> = texts
        .iter()
        .map(|text| named("idem-conformance", "one", &format!("{text}{unique}")))
        .collect();
    keys.push(named("idem-conformance", "two", &format!("a b{unique}")));
    keys.push(named("idem-conformance-2", "one", &format!("a b{unique}")));
    keys.push(named("", "one", &format!("a b{unique}")));
    let mut owners = Vec::new();
    for key in &keys {
        owners.push(reserved(&backend, key, LONG, Duration::ZERO).await);
    }
    for (key, owner) in keys.iter().zip(owners) {
        assert_eq!(standing(&backend, key).await, Some(reservation(owner)), "under {key:?}");
    }
}
