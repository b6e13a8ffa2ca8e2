//! The end of an attempt: the future dropped, the deadline, the lease lost, the body done, at once.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use shuttle::thread;

use super::memory::key;
use super::stage::{Events, LEASE, builder};
use super::store::{Did, Store, pause};
use super::{dawdle, drawn, explore};
use crate::direct::DirectCall;
use crate::error::{Error, ErrorKind};
use crate::fingerprint::Fingerprint;
use crate::idem::Idem;
use crate::observe::Outcome;
use crate::policy::{OnDrop, OnDuplicate, OnLost};
use crate::record::{Owner, Record};
use crate::record_key::RecordKey;
use crate::sync::scheduled::{block_on, run_out, task};
use crate::sync::time::move_to;

const OPERATION: &str = "interleaved";
const ANOTHER: Owner = Owner::from_bytes([9; 16]);
/// A renewal is due; the lease is at risk; the action has run too long, whenever it began.
const MOMENTS: [u64; 4] = [26, 92, 130, 270];

/// What becomes of the store meanwhile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    Keeps,
    Evicts,
    /// It evicts, and another process takes the key.
    GoesOver,
}

/// One call, and all that may end it.
struct Scene {
    store: Store,
    events: Events,
    /// Until it has ended.
    idem: Option<Idem>,
    key: RecordKey,
    /// The body was polled.
    started: AtomicBool,
    /// Reconcile has said that the effect did not happen.
    answered: AtomicBool,
}

impl Scene {
    fn new(on_drop: OnDrop, on_lost: OnLost) -> Arc<Self> {
        let (store, events) = (Store::new(), Events::default());
        let builder = builder(&store).observer(events.clone()).deadline(LEASE);
        let idem = Some(builder.on_drop(on_drop).on_lost(on_lost).build().unwrap());
        let (started, answered) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Self { store, events, idem, key: key("a"), started, answered })
    }

    fn idem(&self) -> &Idem {
        self.idem.as_ref().unwrap()
    }

    fn call(&self) -> DirectCall {
        // It waits for nobody: time is not for that here.
        self.idem().call(OPERATION).key("a").on_duplicate(OnDuplicate::Reject)
    }

    async fn body(&self, fails: bool) -> Result<u64, Error> {
        self.started.store(true, Ordering::SeqCst);
        pause().await;
        pause().await;
        if fails { Err(Error::new(ErrorKind::Backend, OPERATION)) } else { Ok(7) }
    }

    /// Plays the call against a drop, the time, and the store; up to the end of all that it left.
    fn play<F>(self: &Arc<Self>, call: F, moments: &'static [u64], meanwhile: Meanwhile)
    where
        F: Future<Output = Result<Outcome<u64>, Error>> + Send + 'static,
    {
        let call = task(call);
        let time = thread::spawn(move || {
            for &at in moments {
                dawdle(60);
                move_to(Duration::from_millis(at));
            }
        });
        let scene = Arc::clone(self);
        let rival = thread::spawn(move || scene.disturb(meanwhile));
        if drawn(4) > 0 {
            dawdle(150);
            call.abort();
        }
        let result = block_on(call);
        time.join().unwrap();
        let is_taken = rival.join().unwrap();
        if let Ok(Ok(outcome)) = result {
            let stored = self.store.did().iter().any(|did| matches!(did, Did::Complete(_)));
            assert!(stored || !outcome.stored, "told stored, and it was not");
        }
        let report = block_on(self.idem().shutdown(Duration::from_secs(60)));
        assert!(report.is_clean(), "{report:?}");
        let is_anothers = self.store.stands(&self.key).is_some_and(|it| it.owner == ANOTHER);
        assert!(is_anothers || !is_taken, "another's record is gone");
    }

    /// Says whether another process has the key afterwards.
    fn disturb(&self, meanwhile: Meanwhile) -> bool {
        if meanwhile == Meanwhile::Keeps {
            return false;
        }
        dawdle(100);
        self.store.evict(&self.key);
        let another = Record::reservation(ANOTHER, Fingerprint::NONE, 0);
        meanwhile == Meanwhile::GoesOver
            && self.store.reserve(&self.key, &another, Duration::from_secs(100))
    }

    /// One party ended it, and one thing became of each owner's key.
    fn check_ends(&self) {
        let ends = ["executed", "abandoned_by_drop", "deadline_exceeded", "panicked"];
        let ends: usize = ends.iter().map(|name| self.events.count(name)).sum();
        assert!(ends <= 1, "{:?}", self.events);
        for owner in self.owners() {
            let (completed, released) = self.became_of(owner);
            assert!(!(completed && released), "stored and released: {:?}", self.store.did());
        }
    }

    fn owners(&self) -> Vec<Owner> {
        let did = self.store.did();
        let took = |did: &Did| match *did {
            Did::Reserve(owner) | Did::TakeOver(owner) => Some(owner),
            _ => None,
        };
        did.iter().filter_map(took).collect()
    }

    /// The others' reservations had run out, or were gone.
    fn last_owner(&self) -> Option<Owner> {
        self.owners().pop()
    }

    /// Whether the owner's outcome was stored, and whether a release of it was sent.
    fn became_of(&self, owner: Owner) -> (bool, bool) {
        let did = self.store.did();
        let released = [Did::Release(owner), Did::ReleaseNothing(owner)];
        (did.contains(&Did::Complete(owner)), did.iter().any(|did| released.contains(did)))
    }

    /// Waits for the end of all that is under way: what it tells, it may tell last.
    fn end(self: Arc<Self>) -> Self {
        let Some(mut scene) = Arc::into_inner(self) else { unreachable!("all others have ended") };
        drop(scene.idem.take());
        // Whoever only watches a deadline sleeps until then.
        run_out();
        scene.check_ends();
        scene
    }
}

fn run(
    scene: &Arc<Scene>,
    fails: bool,
) -> impl Future<Output = Result<Outcome<u64>, Error>> + use<> {
    let scene = Arc::clone(scene);
    async move { scene.call().run(|_lease| scene.body(fails)).await }
}

/// The moments of a schedule, and whether a lease can run out in them before anybody frees its key.
fn some_moments() -> (&'static [u64], bool) {
    if drawn(2) == 0 { (&MOMENTS, true) } else { (&MOMENTS[..2], false) }
}

#[test]
fn under_release_an_end_stores_or_releases() {
    explore("ends under on_drop = release", 2_000, || {
        let scene = Scene::new(OnDrop::Release, OnLost::Finish);
        let (fails, (moments, may_run_out)) = (drawn(3) == 0, some_moments());
        scene.play(run(&scene, fails), moments, Meanwhile::Keeps);
        let scene = scene.end();
        if let Some(owner) = scene.last_owner() {
            let (completed, released) = scene.became_of(owner);
            assert!(completed || released || may_run_out, "{:?}", scene.store.did());
        }
    });
}

#[test]
fn under_hold_an_end_stores_or_leaves_it_to_lapse() {
    explore("ends under on_drop = hold", 2_000, || {
        let scene = Scene::new(OnDrop::Hold, OnLost::Finish);
        let (moments, may_run_out) = some_moments();
        scene.play(run(&scene, false), moments, Meanwhile::Keeps);
        let scene = scene.end();
        let started = scene.started.load(Ordering::SeqCst);
        if let Some(owner) = scene.last_owner() {
            let (completed, released) = scene.became_of(owner);
            assert!(!(started && released), "released what may have run");
            assert!(started || !completed, "stored what never ran");
            assert!(started || released || may_run_out, "kept what never ran");
        }
    });
}

#[test]
fn an_end_beside_an_eviction_is_one_end() {
    explore("ends beside an eviction and a begin after gone", 2_000, || {
        let scene = Scene::new(OnDrop::Release, OnLost::Finish);
        let fails = drawn(2) == 0;
        scene.play(run(&scene, fails), &[26, 40], Meanwhile::Evicts);
        scene.end();
    });
}

#[test]
fn an_end_beside_a_loss_is_one_end() {
    explore("ends beside a loss", 2_000, || {
        let on_lost = [OnLost::Finish, OnLost::Cancel][usize::try_from(drawn(2)).unwrap()];
        let scene = Scene::new(OnDrop::Release, on_lost);
        scene.play(run(&scene, false), &MOMENTS, Meanwhile::GoesOver);
        scene.end();
    });
}

/// A takeover that was not answered has to lapse again: a release would forget the crash.
#[test]
fn a_takeover_is_not_released_before_it_is_answered() {
    explore("ends of a takeover", 2_000, || {
        let scene = Scene::new(OnDrop::Release, OnLost::Finish);
        let crashed = Record::reservation(ANOTHER, Fingerprint::NONE, 0)
            .remembered_for(Duration::from_secs(100));
        assert!(scene.store.reserve(&scene.key, &crashed, Duration::from_millis(1)));
        move_to(Duration::from_millis(2));
        let playing = Arc::clone(&scene);
        let call = async move {
            let ask = async {
                pause().await;
                let answer = drawn(3);
                playing.answered.store(answer == 0, Ordering::SeqCst);
                match answer {
                    0 => Ok(None),
                    1 => Ok(Some(7)),
                    _ => Err("nobody knows"),
                }
            };
            playing.call().run_reconciling(ask, |_lease| playing.body(false)).await
        };
        scene.play(call, &MOMENTS, Meanwhile::Keeps);
        let scene = scene.end();
        let is_known = scene.answered.load(Ordering::SeqCst)
            || scene.store.did().iter().all(|did| !matches!(did, Did::Release(_)));
        assert!(is_known, "the crash is forgotten: {:?}", scene.store.did());
    });
}
