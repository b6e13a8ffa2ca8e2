//! Cases of `renew`.

use super::*;

use crate::protocol::transition::RenewReply;

fn renewal(key: &RecordKey, owner: Owner, lease: Duration, retention: Duration) -> Renewal {
    Renewal { key: key.clone(), owner, lease, retention }
}

async fn renewed(backend: &impl Backend, renewal: Renewal) -> RenewReply {
    let mut replies = backend.renew(&[renewal]).await;
    assert_eq!(replies.len(), 1, "one answer for each renewal");
    answered(replies.remove(0))
}

/// A renewal sets the life to lease + retention and keeps the retention in the record.
pub async fn renew_moves_the_end_and_the_retention(backend: impl Backend) {
    let key = key("renew");
    let owner = reserved(&backend, &key, LEASE, Duration::ZERO).await;
    assert_eq!(renewed(&backend, renewal(&key, owner, LONG, LONG)).await, RenewReply::Renewed);
    assert_eq!(standing(&backend, &key).await, Some(reservation(owner).remembered_for(LONG)));
    let left = left(&backend, &key).await;
    assert!(left > LONG && left <= LONG * 2, "lease and retention, not {left:?}");
    assert_eq!(
        renewed(&backend, renewal(&key, owner, LONG, Duration::ZERO)).await,
        RenewReply::Renewed
    );
    assert_eq!(standing(&backend, &key).await, Some(reservation(owner)));
}

/// Where nothing stands, a renewal leaves nothing.
pub async fn renew_never_creates(backend: impl Backend) {
    let key = key("renew nothing");
    assert_eq!(
        renewed(&backend, renewal(&key, Owner::fresh(), LONG, LONG)).await,
        RenewReply::Gone
    );
    assert_eq!(standing(&backend, &key).await, None);
}

/// Another owner's reservation and any outcome are not renewed.
pub async fn renew_leaves_others_alone(backend: impl Backend) {
    let key = key("renew another's");
    let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
    let stale = renewal(&key, Owner::fresh(), LONG * 10, LONG);
    assert_eq!(renewed(&backend, stale.clone()).await, RenewReply::Taken);
    assert_eq!(standing(&backend, &key).await, Some(reservation(owner)));
    assert!(left(&backend, &key).await <= LONG);
    let done = outcome(owner, b"done");
    answered(backend.complete(&key, &done, LONG).await);
    for renewal in [stale, renewal(&key, owner, LONG * 10, LONG)] {
        assert_eq!(renewed(&backend, renewal).await, RenewReply::Completed);
    }
    assert_eq!(standing(&backend, &key).await, Some(done));
    assert!(left(&backend, &key).await <= LONG, "a renewal does not lengthen an outcome's life");
}

/// The answers of a batch are in its order, and none depends on another.
pub async fn renewals_of_a_batch_are_independent(backend: impl Backend) {
    let keys: Vec<RecordKey> = (0..200).map(|n| key(&format!("batch {n}"))).collect();
    let mut batch = Vec::new();
    for (n, key) in keys.iter().enumerate() {
        let owner = if n % 3 == 0 {
            Owner::fresh()
        } else {
            reserved(&backend, key, LONG, Duration::ZERO).await
        };
        let asking = if n % 3 == 2 { Owner::fresh() } else { owner };
        batch.push(renewal(key, asking, LONG, Duration::ZERO));
    }
    let replies = backend.renew(&batch).await;
    let expected = [RenewReply::Gone, RenewReply::Renewed, RenewReply::Taken];
    assert_eq!(replies.len(), batch.len());
    for (n, reply) in replies.into_iter().enumerate() {
        assert_eq!(answered(reply), expected[n % 3], "renewal {n}");
    }
    assert!(backend.renew(&[]).await.is_empty());
}

/// Renewed in time, a reservation stands when its first lease is long over; then it ends.
pub async fn a_lease_that_was_renewed_outlives_its_first_end(backend: impl Backend) {
    // Long enough that a busy machine renews it in time.
    let (key, lease) = (key("renew on"), LEASE * 6);
    let owner = reserved(&backend, &key, lease, Duration::ZERO).await;
    for _ in 0..5 {
        tokio::time::sleep(lease / 4).await;
        let reply = renewed(&backend, renewal(&key, owner, lease, Duration::ZERO)).await;
        assert_eq!(reply, RenewReply::Renewed);
    }
    until("the lease ends", || async { standing(&backend, &key).await.is_none() }).await;
}
