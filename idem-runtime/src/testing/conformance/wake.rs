//! Cases of `changed` and of the keeper's own connection.

use super::*;
use crate::protocol::transition::BeginReply;

/// Whoever watches a key hears of every way its record can end.
pub async fn changed_wakes_for_every_end(backend: impl Backend) {
    for end in ["complete", "release", "replace", "discard"] {
        let key = key(end);
        let mut owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
        if end == "discard" {
            answered(backend.complete(&key, &outcome(owner, b"done"), LONG).await);
        }
        let mut watch = answered(backend.changed(&key).await);
        let done = outcome(owner, b"done");
        match end {
            "complete" => drop(answered(backend.complete(&key, &done, LONG).await)),
            "release" => drop(answered(backend.release(&key, owner).await)),
            "discard" => drop(answered(backend.discard(&key, owner).await)),
            _ => {
                let new = reservation(Owner::fresh());
                let seen = reservation(owner).head();
                answered(backend.replace(&key, seen, &new, LONG, None).await);
                owner = new.owner;
            }
        }
        let woken = tokio::time::timeout(LIMIT, watch.changed()).await;
        assert!(woken.is_ok(), "no wake-up for {end} (owner {owner:?})");
    }
}

/// Watches come and go, side by side; a dropped one does not silence another.
pub async fn changed_can_be_dropped_and_taken_again(backend: impl Backend) {
    let key = key("watches");
    let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
    let first = answered(backend.changed(&key).await);
    let mut second = answered(backend.changed(&key).await);
    drop(first);
    answered(backend.release(&key, owner).await);
    assert!(
        tokio::time::timeout(LIMIT, second.changed()).await.is_ok(),
        "the second watch sleeps on"
    );
    drop(second);
    let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
    let mut third = answered(backend.changed(&key).await);
    answered(backend.complete(&key, &outcome(owner, b"done"), LONG).await);
    assert!(tokio::time::timeout(LIMIT, third.changed()).await.is_ok(), "a later watch sleeps on");
}

/// What the keeper's connection does is seen through the other one, and the other way round.
pub async fn the_keepers_store_is_the_same(backend: impl Backend) {
    let key = key("keeper");
    let keepers = answered(backend.for_keeper().await);
    let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
    assert_eq!(standing(&keepers, &key).await, Some(reservation(owner)));
    answered(keepers.release(&key, owner).await);
    let reply = answered(backend.begin(&key, &reservation(Owner::fresh()), LONG).await);
    assert_eq!(reply, BeginReply::Acquired);
}
