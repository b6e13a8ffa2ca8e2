//! Wall clocks that differ: no decision rests on one.
//!
//! What a process's wall clock leaves in the store is `first reserved at`. The first test moves that
//! to where a clock that is ten seconds off would have put it. The others run whole processes whose
//! wall clock is off, or jumps, under `faketime`.

use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime};

use idem_redis::RedisBackend;
use idem_runtime::backend::{Reach, Renewal, Watch};
use idem_runtime::protocol::transition::{
    BeginReply, CompleteReply, DiscardReply, FenceReply, ReleaseReply, RenewReply, ReplaceReply,
};
use idem_runtime::record::{Found, Head, Owner, Record};
use idem_runtime::{Backend, BackendError, ErrorKind, RecordKey, Source};
use idem_tests::caller::{Call, Caller, Ends, OnDuplicate};
use idem_tests::eventually;

use crate::kit::{
    World, assert_refused, call, call_at_once, call_until, caller, process_on, program,
};

const LEASE: Duration = Duration::from_secs(5);
const SKEW: Duration = Duration::from_secs(10);

type Answer<T> = Result<T, BackendError>;

/// A store as it looks from a process whose wall clock is off by so many milliseconds.
struct Skewed(RedisBackend, i64);

impl Skewed {
    fn written(&self, record: &Record) -> Record {
        let at = record.first_reserved_at_ms.saturating_add_signed(self.1);
        Record { first_reserved_at_ms: at, ..record.clone() }
    }
}

impl Backend for Skewed {
    async fn begin(&self, key: &RecordKey, record: &Record, lease: Duration) -> Answer<BeginReply> {
        self.0.begin(key, &self.written(record), lease).await
    }

    async fn renew(&self, renewals: &[Renewal]) -> Vec<Answer<RenewReply>> {
        self.0.renew(renewals).await
    }

    async fn complete(
        &self,
        key: &RecordKey,
        outcome: &Record,
        ttl: Duration,
    ) -> Answer<CompleteReply> {
        self.0.complete(key, &self.written(outcome), ttl).await
    }

    async fn release(&self, key: &RecordKey, owner: Owner) -> Answer<ReleaseReply> {
        self.0.release(key, owner).await
    }

    async fn replace(
        &self,
        key: &RecordKey,
        seen: Head,
        record: &Record,
        life: Duration,
        if_lapsed: Option<Duration>,
    ) -> Answer<ReplaceReply> {
        self.0.replace(key, seen, &self.written(record), life, if_lapsed).await
    }

    async fn discard(&self, key: &RecordKey, owner: Owner) -> Answer<DiscardReply> {
        self.0.discard(key, owner).await
    }

    async fn fence(&self, key: &RecordKey, owner: Owner) -> Answer<FenceReply> {
        self.0.fence(key, owner).await
    }

    async fn peek(&self, key: &RecordKey) -> Answer<Option<Found>> {
        self.0.peek(key).await
    }

    async fn changed(&self, key: &RecordKey) -> Answer<Watch> {
        self.0.changed(key).await
    }

    async fn for_keeper(&self) -> Answer<Self> {
        Ok(Self(self.0.for_keeper().await?, self.1))
    }

    fn reach(&self) -> Reach {
        self.0.reach()
    }
}

/// A's wall clock is behind B's by twice the lease, and then ahead by as much. A is alive: B is
/// refused, and replays what A has stored.
#[tokio::test]
async fn clock_skew() {
    let skew = i64::try_from(SKEW.as_millis()).unwrap();
    for ahead in [-skew, skew] {
        let world = World::start();
        let off = process_on(Skewed(world.backend().await, ahead), |builder| builder.lease(LEASE));
        let right = world.process_with(|builder| builder.lease(LEASE)).await;
        for (key, a, b) in [("off", &off, &right), ("right", &right, &off)] {
            let outcome = call_until(&a.idem, key, 1, async {
                let seen = b.idem.inspect(idem_tests::caller::OPERATION, key).await.unwrap();
                let age = SystemTime::now().duration_since(seen.unwrap().first_at);
                let is_off = age.map_or(true, |age| age > SKEW / 2);
                assert_eq!(is_off, key == "off", "the clock is not where this test wants it");
                let refused = call_at_once(&b.idem, key, 2).await.unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::InProgress);
                let after = refused.retry_after().unwrap();
                assert!(after > Duration::ZERO && after <= LEASE, "{after:?}");
                // Also after a renewal.
                eventually("A is renewed", || a.events.has("renewed")).await;
                let refused = call_at_once(&b.idem, key, 2).await.unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::InProgress);
            });
            assert!(outcome.await.is_ok_and(|outcome| outcome.stored && !outcome.lapsed));
            let replayed = call(&b.idem, key, 2).await.unwrap();
            assert_eq!((replayed.value, replayed.source), (1, Source::Replayed));
        }
    }
}

/// A caller under `faketime`. The monotonic clock is left alone: a wall clock that is wrong is no
/// reason for that to be. Signals would go to `faketime`, which stays beside it.
fn fake(faketime: &[&str], world: &World) -> Caller {
    let mut command = Command::new("faketime");
    command.args(["--exclude-monotonic", "-f"]).args(faketime);
    let found = Command::new("faketime").arg("--version").output().is_ok();
    assert!(found, "there is no faketime: is it installed? (apt-get install faketime)");
    command.arg(program().get_program());
    let settings = world.settings().lease(LEASE).on_duplicate(OnDuplicate::Reject);
    Caller::start(command, &settings)
}

fn real(world: &World) -> Caller {
    caller(&world.settings().lease(LEASE).on_duplicate(OnDuplicate::Reject))
}

/// The whole wall clock of B is ten seconds ahead: A, which is alive, keeps its key, and B's own
/// lease is as long as any.
#[test]
fn clock_skew_of_a_process() {
    let world = World::start();
    let (mut a, mut b) = (real(&world), fake(&["+10s"], &world));
    a.begin(Call::of("a", 1).ends(Ends::WhenTold));
    let (_, at) = b.begin(Call::of("b", 1).ends(Ends::WhenTold));
    let ahead = at.duration_since(SystemTime::now()).expect("B's clock is ahead");
    assert!(ahead > SKEW / 2, "B's clock is ahead by {ahead:?} only");
    let life = Duration::from_millis(
        (world.expires_at("b").unwrap() - world.now()).try_into().expect("B holds its key"),
    );
    assert!(life <= LEASE, "{life:?}");
    assert_refused(&b.answer_to(Call::of("a", 2)), ErrorKind::InProgress);
    assert_refused(&a.answer_to(Call::of("b", 2)), ErrorKind::InProgress);
    for owner in [&mut a, &mut b] {
        owner.event("renewed");
    }
    assert_refused(&b.answer_to(Call::of("a", 2)), ErrorKind::InProgress);
    assert_refused(&a.answer_to(Call::of("b", 2)), ErrorKind::InProgress);
    for (owner, other, key) in [(0, 1, "a"), (1, 0, "b")] {
        let callers = [&mut a, &mut b];
        callers[owner].finish(key);
        let outcome = callers[owner].answer(key).unwrap();
        assert!(outcome.stored && !outcome.lapsed, "{outcome:?}");
        assert_eq!(callers[other].answer_to(Call::of(key, 2)).unwrap().source, "Replayed");
    }
}

/// The wall clock of an owner jumps by an hour, forwards and back, while its action runs: it goes on
/// being renewed, and is neither told that it lapsed nor takes itself for lost.
#[test]
fn clock_skew_that_comes_while_an_action_runs() {
    let world = World::start();
    let clock = world.ledger.path().with_file_name("clock");
    let jump = |to: &str| fs::write(&clock, to).unwrap();
    jump("+0s");
    let file = format!("FAKETIME_TIMESTAMP_FILE={}", clock.display());
    let mut a = fake(&["+0s", "env", "-u", "FAKETIME", "FAKETIME_NO_CACHE=1", &file], &world);
    let mut b = real(&world);
    a.begin(Call::of("a", 1).ends(Ends::WhenTold));
    for (nth, to) in ["+3600s", "-3600s"].into_iter().enumerate() {
        jump(to);
        let (_, at) = a.begin(Call::of(&format!("after jump {nth}"), 0));
        let off = at.duration_since(SystemTime::now()).unwrap_or_else(|behind| behind.duration());
        assert!(off > Duration::from_secs(1_800), "the clock has not jumped: {off:?}");
        for _ in 0..2 {
            a.event("renewed");
        }
        assert_refused(&b.answer_to(Call::of("a", 2)), ErrorKind::InProgress);
    }
    assert!(!a.has_event("lease_at_risk"));
    a.finish("a");
    let outcome = a.answer("a").unwrap();
    assert!(outcome.stored && !outcome.lapsed, "{outcome:?}");
    assert_eq!(b.answer_to(Call::of("a", 2)).unwrap().source, "Replayed");
}
