//! The conformance suite: what every backend has to do, case by case.
//!
//! Each case takes a backend that may hold other records (its keys are its own) and panics with
//! what is wrong. Leases are a few hundred milliseconds of the store's time; where a case waits for
//! an expiry it waits for the condition, with a limit.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::backend::{Backend, BackendError, Renewal};
use crate::fingerprint::Fingerprint;
use crate::key::Key;
use crate::record::{Flags, Owner, Payload, Record, State};
use crate::record_key::RecordKey;

mod begin;
mod end;
mod renew;
mod replace;
mod runs;
mod wake;

pub use begin::*;
pub use end::*;
pub use renew::*;
pub use replace::*;
pub use runs::*;
pub use wake::*;

/// Runs the suite against a backend: `conformance!(memory, async { MemoryBackend::new() })` makes a
/// module `memory` with one `#[tokio::test]` for each case; the expression is evaluated for each.
///
/// The crate that uses it depends on tokio with the features `macros` and `rt`.
#[doc(hidden)]
#[macro_export]
macro_rules! __idem_conformance {
    ($module:ident, $backend:expr) => {
        $crate::__idem_conformance! { @cases $module, $backend,
            begin_reserves_once
            begin_repeated_by_its_owner_is_acquired_and_moves_nothing
            begin_finds_an_outcome_whoever_wrote_it
            begin_takes_an_expired_key
            many_begins_at_once_reserve_once
            every_field_of_a_record_comes_back
            keys_do_not_meet
            renew_moves_the_end_and_the_retention
            renew_never_creates
            renew_leaves_others_alone
            renewals_of_a_batch_are_independent
            a_lease_that_was_renewed_outlives_its_first_end
            complete_stores_once_for_its_ttl
            complete_stores_nothing_where_nothing_is
            complete_is_refused_by_another_owner
            release_frees_its_own_reservation_only
            discard_removes_its_own_outcome_only
            replace_needs_what_was_seen
            replace_if_lapsed_needs_a_lapse
            replace_if_lapsed_respects_the_most_that_may_be_left
            replace_repeated_recognises_itself
            fence_is_kept_by_its_owner_and_grows_for_the_next
            fence_is_refused_to_others
            changed_wakes_for_every_end
            changed_can_be_dropped_and_taken_again
            the_keepers_store_is_the_same
            a_reservation_keeps_what_it_carries
            a_run_goes_from_its_queue_to_its_result
            a_run_that_is_over_gives_way_to_another
            a_run_that_lapsed_is_held
            a_cancel_reaches_the_worker
        }
    };
    (@cases $module:ident, $backend:expr, $($case:ident)+) => {
        mod $module {
            use super::*;
            $(
                #[tokio::test]
                async fn $case() {
                    $crate::testing::conformance::$case($backend.await).await;
                }
            )+
        }
    };
}

/// The lease of most cases.
const LEASE: Duration = Duration::from_millis(300);
/// Longer than any case takes.
const LONG: Duration = Duration::from_secs(60);
/// How long a condition may take to come about.
const LIMIT: Duration = Duration::from_secs(10);

/// A key of its own for each use.
fn key(text: &str) -> RecordKey {
    let unique = format!("{text}/{:?}", Owner::fresh());
    named("idem-conformance", "conformance", &unique)
}

fn named(prefix: &str, operation: &'static str, text: &str) -> RecordKey {
    let key = Key::of(text).unwrap_or_else(|why| panic!("a key of the suite is valid: {why}"));
    RecordKey::new(Arc::from(prefix), operation.into(), key)
}

fn reservation(owner: Owner) -> Record {
    Record::reservation(owner, Fingerprint::NONE, 1_700_000_000_000)
}

fn outcome(owner: Owner, value: &[u8]) -> Record {
    let payload = Payload::of(|out| {
        out.extend_from_slice(value);
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(payload) = payload;
    Record {
        state: State::Completed,
        flags: Flags::default(),
        codec: 1,
        payload,
        ..reservation(owner)
    }
}

/// The answer, which a store under test is expected to give.
#[track_caller]
fn answered<T>(answer: Result<T, BackendError>) -> T {
    answer.unwrap_or_else(|error| panic!("the store failed: {error}"))
}

/// Reserves a key for a new owner.
async fn reserved(
    backend: &impl Backend,
    key: &RecordKey,
    lease: Duration,
    retention: Duration,
) -> Owner {
    let owner = Owner::fresh();
    let record = reservation(owner).remembered_for(retention);
    let reply = answered(backend.begin(key, &record, lease).await);
    assert_eq!(reply, crate::protocol::transition::BeginReply::Acquired);
    owner
}

/// Waits until `condition` holds, and says how long that took.
async fn until<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) -> Duration {
    let start = Instant::now();
    while !condition().await {
        assert!(start.elapsed() < LIMIT, "{what}: not within {LIMIT:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    start.elapsed()
}

/// What stands under a key.
async fn standing(backend: &impl Backend, key: &RecordKey) -> Option<Record> {
    let found = answered(backend.peek(key).await)?;
    let record = found.standing.record().cloned();
    Some(record.unwrap_or_else(|| panic!("a record of the suite can be read")))
}

async fn left(backend: &impl Backend, key: &RecordKey) -> Duration {
    answered(backend.peek(key).await).map_or(Duration::ZERO, |found| found.left)
}
