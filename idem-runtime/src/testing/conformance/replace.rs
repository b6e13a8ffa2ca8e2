//! Cases of `replace`.

use super::*;
use crate::protocol::transition::{ReleaseReply, ReplaceReply};
use crate::record::{Head, Standing};

fn stands(record: &Record) -> ReplaceReply {
    ReplaceReply::Stands(Some(Standing::Record(record.clone())))
}

/// A replace carries out only if version, state and owner are those that were seen.
pub async fn replace_needs_what_was_seen(backend: impl Backend) {
    let key = key("replace");
    let new = outcome(Owner::fresh(), b"new");
    let seen = Head { state: State::Reserved, owner: Owner::fresh() };
    let nothing = answered(backend.replace(&key, seen, &new, LONG, None).await);
    assert_eq!(nothing, ReplaceReply::Stands(None));
    assert_eq!(standing(&backend, &key).await, None);

    let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
    let other_owner = answered(backend.replace(&key, seen, &new, LONG, None).await);
    assert_eq!(other_owner, stands(&reservation(owner)));
    let other_state = Head { state: State::Completed, owner };
    let reply = answered(backend.replace(&key, other_state, &new, LONG, None).await);
    assert_eq!(reply, stands(&reservation(owner)));

    let seen = Head { state: State::Reserved, owner };
    assert_eq!(
        answered(backend.replace(&key, seen, &new, LEASE, None).await),
        ReplaceReply::Replaced
    );
    assert_eq!(standing(&backend, &key).await, Some(new));
    assert!(left(&backend, &key).await <= LEASE, "the new record has the life it was given");
}

/// A reservation is taken over once it has lapsed by its own retention, in one step, and not before.
pub async fn replace_if_lapsed_needs_a_lapse(backend: impl Backend) {
    let key = key("takeover");
    let start = Instant::now();
    let owner = reserved(&backend, &key, LEASE, LONG).await;
    let lapsed = reservation(owner).remembered_for(LONG);
    let successor = Record { attempt: 2, ..reservation(Owner::fresh()) }.remembered_for(LONG);
    let early = answered(backend.replace(&key, lapsed.head(), &successor, LONG, Some(LONG)).await);
    assert_eq!(early, stands(&lapsed));
    until("the reservation lapses", || async {
        let reply = backend.replace(&key, lapsed.head(), &successor, LONG * 2, Some(LONG)).await;
        answered(reply) == ReplaceReply::Replaced
    })
    .await;
    assert!(start.elapsed() >= LEASE, "it was taken over before its lease had ended");
    assert_eq!(standing(&backend, &key).await, Some(successor.clone()));
    assert_eq!(answered(backend.release(&key, owner).await), ReleaseReply::NotMine);
    // A completed record never lapses.
    let done = outcome(successor.owner, b"done");
    answered(backend.complete(&key, &done, LEASE).await);
    let reply = answered(backend.replace(&key, done.head(), &lapsed, LONG, Some(LONG)).await);
    assert_eq!(reply, stands(&done));
}

/// `if lapsed (max)`: with more than `max` of its life left, a lapsed reservation stays.
pub async fn replace_if_lapsed_respects_the_most_that_may_be_left(backend: impl Backend) {
    let key = key("hold");
    let retention = LEASE * 2;
    let owner = reserved(&backend, &key, LEASE, retention).await;
    let seen = Head { state: State::Reserved, owner };
    until("the reservation lapses", || async { left(&backend, &key).await <= retention }).await;
    let new = reservation(Owner::fresh());
    let most = LEASE / 10;
    let too_early = answered(backend.replace(&key, seen, &new, LONG, Some(most)).await);
    assert_eq!(too_early, stands(&reservation(owner).remembered_for(retention)));
    // The last tenth of a lease may pass unseen on a slow machine; then nothing stands.
    let mut reply = too_early;
    until("its last moments come", || {
        let (backend, key, new) = (&backend, &key, &new);
        async move {
            answered(backend.replace(key, seen, new, LONG, Some(most)).await)
                == ReplaceReply::Replaced
                || standing(backend, key).await.is_none()
        }
    })
    .await;
    reply = match standing(&backend, &key).await {
        Some(record) if record == new => ReplaceReply::Replaced,
        Some(_) => reply,
        None => ReplaceReply::Replaced,
    };
    assert_eq!(reply, ReplaceReply::Replaced);
}

/// A replace whose reply was lost is sent again: it has been carried out, once.
pub async fn replace_repeated_recognises_itself(backend: impl Backend) {
    let key = key("replace again");
    let owner = reserved(&backend, &key, LONG, Duration::ZERO).await;
    let seen = Head { state: State::Reserved, owner };
    let new = reservation(Owner::fresh());
    for life in [LEASE, LONG] {
        let reply = answered(backend.replace(&key, seen, &new, life, None).await);
        assert_eq!(reply, ReplaceReply::Replaced);
    }
    assert!(left(&backend, &key).await <= LEASE, "the repeat changes nothing");
}
