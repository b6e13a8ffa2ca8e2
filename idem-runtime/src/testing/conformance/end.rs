//! Cases of `complete`, `release`, `discard` and `fence`.

use super::*;
use crate::protocol::transition::{
    BeginReply, CompleteReply, DiscardReply, FenceReply, ReleaseReply,
};
use crate::record::Standing;

/// A completion stores, its repeat recognises itself, and the outcome lives for its ttl.
pub async fn complete_stores_once_for_its_ttl(backend: impl Backend) {
    let key = key("complete");
    let owner = reserved(&backend, &key, LONG, LONG).await;
    let done = outcome(owner, b"done");
    assert_eq!(answered(backend.complete(&key, &done, LEASE).await), CompleteReply::Stored);
    let again = answered(backend.complete(&key, &done, LONG).await);
    assert_eq!(again, CompleteReply::AlreadyStored);
    assert_eq!(standing(&backend, &key).await, Some(done));
    assert!(left(&backend, &key).await <= LEASE, "a repeated completion does not lengthen the ttl");
    until("the ttl ends", || async { standing(&backend, &key).await.is_none() }).await;
}

/// A completion never stores where no reservation of its owner stands.
pub async fn complete_stores_nothing_where_nothing_is(backend: impl Backend) {
    let key = key("complete nothing");
    let done = outcome(Owner::fresh(), b"done");
    assert_eq!(answered(backend.complete(&key, &done, LONG).await), CompleteReply::Gone);
    assert_eq!(standing(&backend, &key).await, None);
}

/// Another owner's reservation or outcome refuses a completion, and says what it is.
pub async fn complete_is_refused_by_another_owner(backend: impl Backend) {
    let key = key("complete another's");
    let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
    let stale = outcome(Owner::fresh(), b"stale");
    let refused = answered(backend.complete(&key, &stale, LONG).await);
    assert_eq!(refused, CompleteReply::Refused(Standing::Record(reservation(owner))));
    let done = outcome(owner, b"done");
    answered(backend.complete(&key, &done, LONG).await);
    let refused = answered(backend.complete(&key, &stale, LONG).await);
    assert_eq!(refused, CompleteReply::Refused(Standing::Record(done.clone())));
    assert_eq!(standing(&backend, &key).await, Some(done));
}

/// A release frees what its owner reserved, and touches nothing else.
pub async fn release_frees_its_own_reservation_only(backend: impl Backend) {
    let key = key("release");
    let owner = reserved(&backend, &key, LONG, LONG).await;
    assert_eq!(answered(backend.release(&key, Owner::fresh()).await), ReleaseReply::NotMine);
    assert!(standing(&backend, &key).await.is_some());
    assert_eq!(answered(backend.release(&key, owner).await), ReleaseReply::Released);
    assert_eq!(answered(backend.release(&key, owner).await), ReleaseReply::NotMine);
    assert_eq!(standing(&backend, &key).await, None);
    let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
    let done = outcome(owner, b"done");
    answered(backend.complete(&key, &done, LONG).await);
    assert_eq!(answered(backend.release(&key, owner).await), ReleaseReply::NotMine);
    assert_eq!(standing(&backend, &key).await, Some(done));
}

/// A discard removes an outcome of its owner, and touches nothing else.
pub async fn discard_removes_its_own_outcome_only(backend: impl Backend) {
    let key = key("discard");
    let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
    assert_eq!(answered(backend.discard(&key, owner).await), DiscardReply::NotThere);
    assert_eq!(standing(&backend, &key).await, Some(reservation(owner)));
    answered(backend.complete(&key, &outcome(owner, b"done"), LONG).await);
    assert_eq!(answered(backend.discard(&key, Owner::fresh()).await), DiscardReply::NotThere);
    assert!(standing(&backend, &key).await.is_some());
    assert_eq!(answered(backend.discard(&key, owner).await), DiscardReply::Discarded);
    assert_eq!(answered(backend.discard(&key, owner).await), DiscardReply::NotThere);
    assert_eq!(standing(&backend, &key).await, None);
}

/// An owner gets the same number as long as its reservation stands; the next owner a greater one.
pub async fn fence_is_kept_by_its_owner_and_grows_for_the_next(backend: impl Backend) {
    let key = key("fence");
    let mut last = 0;
    for _ in 0..5 {
        let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
        let FenceReply::Fence(number) = answered(backend.fence(&key, owner).await) else {
            panic!("the owner of a reservation gets its fence")
        };
        assert!(number > last, "{number} after {last}");
        assert_eq!(answered(backend.fence(&key, owner).await), FenceReply::Fence(number));
        assert_eq!(standing(&backend, &key).await.map(|record| record.fence), Some(number));
        // Begun again, it is still the same reservation.
        let again = answered(backend.begin(&key, &reservation(owner), LONG).await);
        assert_eq!(again, BeginReply::Acquired);
        assert_eq!(answered(backend.fence(&key, owner).await), FenceReply::Fence(number));
        answered(backend.release(&key, owner).await);
        last = number;
    }
}

/// No fence without a reservation of one's own.
pub async fn fence_is_refused_to_others(backend: impl Backend) {
    let key = key("fence refused");
    assert_eq!(answered(backend.fence(&key, Owner::fresh()).await), FenceReply::Refused);
    assert_eq!(standing(&backend, &key).await, None);
    let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
    assert_eq!(answered(backend.fence(&key, Owner::fresh()).await), FenceReply::Refused);
    let done = outcome(owner, b"done");
    answered(backend.complete(&key, &done, LONG).await);
    assert_eq!(answered(backend.fence(&key, owner).await), FenceReply::Refused);
    assert_eq!(standing(&backend, &key).await, Some(done));
}
