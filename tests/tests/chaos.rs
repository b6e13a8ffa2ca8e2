//! Chaos: several processes on one store, random policies, faults, drops and decisions, on a paused
//! clock. What is checked are the promises of the protocol, seen from outside:
//!
//! - No two actions of a key at once, unless the earlier one's lease deadline has passed, or it was
//!   told that it is lost or stopped (or one of them runs unprotected).
//! - No action starts over an outcome that stands, or without a reservation.
//! - Every value that is given out was made by an action, a reconciliation or a decision of its key.
//! - A call that runs nothing itself ends within its bound.
//! - When all is quiet nothing is left: no reservation in progress, no flight, no job, no renewal.
//!
//! - An outcome stays what it is until its life ends.
//!
//! `CHAOS_SEED` runs one seed, `CHAOS_SEEDS` that many of them from `CHAOS_FIRST` on; `CHAOS_PANICS`
//! adds backends that panic, `CHAOS_LOG` shows what happened before a failure. Pauses between tries
//! are jittered with the system's randomness, so a seed is not repeated to the last tick: run a seed
//! that failed a few times.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use idem_runtime::backend::Backend;
use idem_runtime::record::{Head, Record, State};
use idem_runtime::testing::{FaultBackend, Faults, Operation};
use idem_runtime::{
    Decision, DirectCall, Error, Idem, Key, Lease, MemoryBackend, OnCrash, OnDrop, OnDuplicate,
    OnLost, OnOutage, Outcome, RecordKey, Source, Status, lease, on_error,
};
use idem_tests::Events;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

const KEYS: u64 = 3;
/// How often a call that runs nothing may wait for a store's whole time beyond its own bound.
const ASKS: u32 = 3;
const OPERATIONS: [Operation; 9] = [
    Operation::Begin,
    Operation::Renew,
    Operation::Complete,
    Operation::Release,
    Operation::Replace,
    Operation::Fence,
    Operation::Peek,
    Operation::Changed,
    Operation::ForKeeper,
];

/// SplitMix64: all that is needed of a random generator here.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn ms(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from + 1))
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn fork(&mut self) -> Self {
        Self(self.next())
    }
}

#[derive(Debug, Serialize, Deserialize)]
enum Failure {
    Own(u64),
    Refused { kind: String },
}

impl Failure {
    fn is_even(&self) -> bool {
        matches!(self, Self::Own(n) if n % 2 == 0)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let _ = (error.to_string(), error.retry_after());
        Self::Refused { kind: format!("{:?}", error.kind()) }
    }
}

/// What the test sees of the world from outside.
#[derive(Clone)]
struct World(Arc<Inner>);

struct Inner {
    seed: u64,
    store: MemoryBackend,
    next: AtomicU64,
    active: Mutex<HashMap<u64, Vec<(u64, Lease)>>>,
    made: Mutex<HashMap<u64, u64>>,
    /// Calls whose action another one started beside.
    overlapped: Mutex<HashSet<u64>>,
    panics: bool,
    /// How long the world stood still, in nanoseconds.
    still: AtomicU64,
    failures: Mutex<Vec<String>>,
    log: Mutex<Vec<String>>,
    start: Instant,
}

impl World {
    fn log(&self, text: impl FnOnce() -> String) {
        if std::env::var_os("CHAOS_LOG").is_some() {
            let at = self.0.start.elapsed().as_millis();
            self.0.log.lock().unwrap().push(format!("{at:>7} {}", text()));
        }
    }

    fn fails(&self, text: impl std::fmt::Display) {
        self.log(|| format!("FAILURE {text}"));
        self.0.failures.lock().unwrap().push(format!("seed {}: {text}", self.0.seed));
    }

    fn make(&self, key: u64) -> u64 {
        let value = self.0.next.fetch_add(1, Ordering::SeqCst);
        self.0.made.lock().unwrap().insert(value, key);
        value
    }

    fn is_of(&self, key: u64, value: u64) -> bool {
        self.0.made.lock().unwrap().get(&value) == Some(&key)
    }

    /// An action starts: nobody else's may be running, and the reservation stands.
    fn enter(&self, key: u64, id: u64, what: &'static str) -> Active {
        let lease = lease().unwrap();
        self.log(|| {
            format!(
                "k{key} {what} {id} starts, attempt {} protected {}",
                lease.attempt(),
                lease.is_protected()
            )
        });
        if lease.is_protected() {
            for (other, held) in self.0.active.lock().unwrap().get(&key).into_iter().flatten() {
                self.0.overlapped.lock().unwrap().insert(*other);
                let told = held.token().is_cancelled() || held.time_left().is_zero();
                if held.is_protected() && !told {
                    self.fails(format!(
                        "k{key} {what} {id} starts while {other} has {:?} of its lease left",
                        held.time_left()
                    ));
                }
            }
            let record = record_key(key);
            let found = self.0.store.peek(&record).now_or_never().unwrap().unwrap();
            match found.as_ref().and_then(|found| found.standing.record()) {
                Some(record) if record.state == State::Reserved => {}
                _ => self.fails(format!("k{key} {what} {id} starts over {found:?}")),
            }
        }
        self.0.active.lock().unwrap().entry(key).or_default().push((id, lease));
        Active { world: self.clone(), key, id }
    }
}

struct Active {
    world: World,
    key: u64,
    id: u64,
}

impl Drop for Active {
    fn drop(&mut self) {
        let (key, id) = (self.key, self.id);
        self.world.log(|| format!("k{key} {id} ends"));
        self.world
            .0
            .active
            .lock()
            .unwrap()
            .get_mut(&key)
            .unwrap()
            .retain(|(other, _)| *other != id);
    }
}

#[derive(Clone)]
struct Process {
    idem: Idem,
    faults: Faults,
    events: Events,
    store_timeout: Duration,
}

fn process(world: &World, dice: &mut Dice) -> Process {
    let (faults, events) = (Faults::new(), Events::default());
    let store_timeout = Duration::from_millis(dice.pick(&[1, 20, 100, 500, 2_000]));
    let idem = Idem::builder()
        .backend(FaultBackend::new(world.0.store.clone(), &faults))
        .lease(Duration::from_millis(500))
        .ttl(dice.ms(500, 3_000))
        .store_timeout(store_timeout)
        .observer(events.clone())
        .keeper_as_task()
        .build()
        .unwrap();
    Process { idem, faults, events, store_timeout }
}

/// What one call does and how it is treated, thrown beforehand.
#[derive(Clone, Debug)]
struct Plan {
    id: u64,
    key: u64,
    lease: Duration,
    ttl: Duration,
    deadline: Option<Duration>,
    retention: Duration,
    on_duplicate: OnDuplicate,
    on_lost: OnLost,
    on_drop: OnDrop,
    on_crash: OnCrash,
    on_outage: OnOutage,
    on_error: u64,
    fingerprint: u64,
    steps: Vec<Duration>,
    /// 0..: ok, error, panic, own key again.
    end: u64,
    fence: bool,
    stands_still: bool,
    nested: Option<u64>,
    ask: u64,
    ask_time: Duration,
    dropped_after: Option<Duration>,
}

fn plan(id: u64, dice: &mut Dice) -> Plan {
    let lease = Duration::from_millis(dice.pick(&[100, 100, 300, 500, 1_000]));
    let length = match dice.below(4) {
        0 => Duration::ZERO,
        1 => lease.mul_f64(dice.below(100) as f64 / 100.0),
        2 => lease.mul_f64(dice.below(400) as f64 / 100.0),
        _ => lease.mul_f64(0.9 + dice.below(20) as f64 / 100.0),
    };
    let pieces = 1 + dice.below(3) as u32;
    let ms = |d: Duration| Duration::from_millis(d.as_millis() as u64);
    Plan {
        id,
        key: dice.below(KEYS),
        lease,
        ttl: if dice.one_in(2) { lease } else { lease + dice.ms(0, 2_000) },
        deadline: dice.one_in(4).then(|| lease + dice.ms(0, 500)),
        retention: dice.ms(1, 2_000),
        on_duplicate: match dice.below(4) {
            0 => OnDuplicate::Reject,
            1 => OnDuplicate::WaitFor(dice.ms(1, 2_000)),
            _ => OnDuplicate::Wait,
        },
        on_lost: dice.pick(&[OnLost::Finish, OnLost::Cancel, OnLost::Ignore]),
        on_drop: dice.pick(&[OnDrop::Hold, OnDrop::Release, OnDrop::Detach]),
        on_crash: dice.pick(&[OnCrash::Rerun, OnCrash::Rerun, OnCrash::Refuse, OnCrash::Reconcile]),
        on_outage: if dice.one_in(5) { OnOutage::Run } else { OnOutage::Refuse },
        on_error: dice.below(3),
        fingerprint: if dice.one_in(20) { 1 + dice.below(2) } else { 0 },
        steps: (0..pieces).map(|_| ms(length / pieces)).collect(),
        end: dice.pick(&[0, 0, 0, 0, 0, 1, 1, 1, 2, 3]),
        fence: dice.one_in(5),
        stands_still: dice.one_in(50),
        nested: dice.one_in(12).then(|| dice.below(KEYS)),
        ask: dice.below(4),
        ask_time: dice.ms(0, 700),
        dropped_after: dice.one_in(4).then(|| dice.ms(0, 1_500)),
    }
}

async fn body(
    world: World,
    process: Process,
    plan: Plan,
    ran: Arc<AtomicBool>,
) -> Result<u64, Failure> {
    ran.store(true, Ordering::SeqCst);
    let _active = world.enter(plan.key, plan.id, "action");
    for step in &plan.steps {
        sleep(*step).await;
    }
    if plan.stands_still {
        // The whole world stands still: what a blocked executor looks like to its keeper task.
        let still = plan.lease / 3;
        world.0.still.fetch_add(still.as_nanos() as u64, Ordering::SeqCst);
        tokio::time::advance(still).await;
    }
    if plan.fence {
        let _ = lease().unwrap().fence().await;
    }
    if let Some(nested) = plan.nested {
        let call = process
            .idem
            .call("op")
            .key(&nested)
            .on_duplicate(OnDuplicate::Reject)
            .lease(plan.lease);
        let inner = world.clone();
        let result = call
            .run(|_| async move {
                let _active = inner.enter(nested, 1_000_000 + plan.id, "nested");
                sleep(Duration::from_millis(20)).await;
                Ok::<_, Failure>(inner.make(nested))
            })
            .await;
        if nested == plan.key && result.is_ok() {
            world.fails(format!("k{nested}: a call inside its own action was {result:?}"));
        }
    }
    match plan.end {
        1 => Err(Failure::Own(world.make(plan.key))),
        2 => panic!("the action's own panic"),
        _ => Ok(world.make(plan.key)),
    }
}

async fn ask(world: World, plan: Plan) -> Result<Option<u64>, String> {
    let _active = world.enter(plan.key, plan.id, "reconcile");
    sleep(plan.ask_time).await;
    match plan.ask {
        0 => Err("cannot say".to_owned()),
        1 => Ok(Some(world.make(plan.key))),
        _ => Ok(None),
    }
}

async fn call(world: World, process: Process, plan: Plan) {
    let ran = Arc::new(AtomicBool::new(false));
    let mut made = process
        .idem
        .call("op")
        .key(&plan.key)
        .lease(plan.lease)
        .ttl(plan.ttl)
        .retention(plan.retention)
        .on_duplicate(plan.on_duplicate)
        .on_lost(plan.on_lost)
        .on_outage(plan.on_outage);
    if let Some(deadline) = plan.deadline {
        made = made.deadline(deadline);
    }
    if plan.fingerprint > 0 {
        made = made.fingerprint(&plan.fingerprint);
    }
    if plan.on_crash != OnCrash::Reconcile || plan.on_drop == OnDrop::Detach {
        made = made.on_crash(if plan.on_crash == OnCrash::Reconcile {
            OnCrash::Refuse
        } else {
            plan.on_crash
        });
    }
    if plan.on_drop != OnDrop::Detach {
        made = made.on_drop(plan.on_drop);
    }
    async fn go<P>(
        made: DirectCall<P>,
        world: World,
        process: Process,
        plan: Plan,
        ran: Arc<AtomicBool>,
    ) -> Result<Outcome<u64>, Failure>
    where
        P: on_error::OnError<u64, Failure>,
    {
        let action = body(world.clone(), process, plan.clone(), ran.clone());
        match (plan.on_drop, plan.on_crash) {
            (OnDrop::Detach, _) => made.run_detached(|_| action).await,
            (_, OnCrash::Reconcile) => made.run_reconciling(ask(world, plan), |_| action).await,
            _ => made.run(|_| action).await,
        }
    }
    let arrived = Instant::now();
    world.log(|| format!("k{} call {} arrives: {plan:?}", plan.key, plan.id));
    let (w, p, r) = (world.clone(), plan.clone(), ran.clone());
    let result: std::pin::Pin<Box<dyn Future<Output = _> + Send>> = match plan.on_error {
        0 => Box::pin(go(made, w, process.clone(), p, r)),
        1 => Box::pin(go(made.on_error(on_error::Store), w, process.clone(), p, r)),
        _ => Box::pin(go(
            made.on_error(on_error::StoreIf(Failure::is_even)),
            w,
            process.clone(),
            p,
            r,
        )),
    };
    let result = AssertUnwindSafe(result).catch_unwind();
    let result = match plan.dropped_after {
        Some(after) => match timeout(after, result).await {
            Ok(result) => result,
            Err(_) => {
                world.log(|| format!("k{} call {} dropped", plan.key, plan.id));
                return;
            }
        },
        None => match timeout(Duration::from_secs(600), result).await {
            Ok(result) => result,
            Err(_) => return world.fails(format!("hangs: {plan:?}")),
        },
    };
    let took = arrived.elapsed();
    world.log(|| format!("k{} call {} after {took:?}: {result:?}", plan.key, plan.id));
    let ran = ran.load(Ordering::SeqCst);
    match &result {
        Err(_) if plan.end != 2 && !world.0.panics => {
            world.fails(format!("a panic that is not the action's: {plan:?}"));
        }
        Ok(Ok(outcome)) if !world.is_of(plan.key, outcome.value) => {
            world.fails(format!("{outcome:?} of nobody: {plan:?}"));
        }
        Ok(Ok(outcome)) if outcome.source == Source::Fresh && !ran => {
            world.fails(format!("{outcome:?} without a run: {plan:?}"));
        }
        Ok(Ok(outcome))
            if outcome.source == Source::Fresh
                && outcome.protected
                && !outcome.lapsed
                && world.0.overlapped.lock().unwrap().contains(&plan.id) =>
        {
            world.fails(format!("{outcome:?}: nobody told it of the other: {plan:?}"));
        }
        Ok(Err(Failure::Own(value))) if !world.is_of(plan.key, *value) => {
            world.fails(format!("error {value} of nobody: {plan:?}"));
        }
        _ => {}
    }
    let wait = match plan.on_duplicate {
        OnDuplicate::Reject => Duration::ZERO,
        OnDuplicate::WaitFor(wait) => wait,
        _ => plan.lease * 2,
    };
    let reconciled = plan.on_crash == OnCrash::Reconcile;
    let bound = wait
        + process.store_timeout * ASKS
        + Duration::from_millis(5)
        + if reconciled { plan.ask_time + process.store_timeout * 2 } else { Duration::ZERO };
    let bound = bound + Duration::from_nanos(world.0.still.load(Ordering::SeqCst));
    if !ran && took > bound {
        world.fails(format!(
            "took {took:?}, more than {bound:?} ({wait:?}, store {:?}): {result:?} {plan:?}",
            process.store_timeout
        ));
    }
}

/// Makes things go wrong for one process, until it is told to stop.
async fn trouble(process: Process, world: World, mut dice: Dice, panics: bool) {
    let peace = dice.pick(&[400, 2_000, 6_000]);
    loop {
        sleep(dice.ms(1, peace)).await;
        let operation = dice.pick(&OPERATIONS);
        let times = 1 + dice.below(6) as usize;
        let faults = &process.faults;
        let what = dice.below(if panics { 9 } else { 8 });
        world.log(|| format!("trouble {what} {operation:?} x{times}"));
        match what {
            0 => {
                faults.away(true);
                sleep(dice.ms(10, 300)).await;
                faults.away(false);
            }
            1 => {
                faults.away(true);
                sleep(dice.ms(300, 3_000)).await;
                faults.away(false);
            }
            2 => faults.fail_before(operation, times),
            3 | 4 => faults.fail_after(operation, times),
            5 => faults.delay(operation, dice.ms(1, 1_500), times),
            6 => {
                let gate = if dice.one_in(2) {
                    faults.hold_before(operation)
                } else {
                    faults.hold_after(operation)
                };
                let held = dice.ms(1, 2_000);
                tokio::spawn(async move {
                    sleep(held).await;
                    gate.open();
                });
            }
            7 => faults.answer(operation, "an answer", times.min(2)),
            _ => faults.panic(operation, 1),
        }
    }
}

/// An operator who decides at random.
async fn operator(process: Process, world: World, mut dice: Dice) {
    loop {
        sleep(dice.ms(100, 1_500)).await;
        let key = dice.below(KEYS);
        let _ = AssertUnwindSafe(process.idem.inspect("op", &key)).catch_unwind().await;
        let decision =
            if dice.one_in(2) { Decision::take(&world.make(key)) } else { Decision::run_again() };
        let decided = process.idem.decide("op", &key, decision);
        let decided = AssertUnwindSafe(decided).catch_unwind().await;
        world.log(|| format!("k{key} decided: {decided:?}"));
    }
}

/// Looks at the records all the time: an outcome stays what it is until its life ends.
async fn watch(world: World) {
    let mut last: HashMap<u64, (Head, Instant)> = HashMap::new();
    loop {
        for key in 0..KEYS {
            let record = record_key(key);
            let found = world.0.store.peek(&record).now_or_never().unwrap().unwrap();
            let head = found.as_ref().and_then(|f| f.standing.record()).map(Record::head);
            let now = Instant::now();
            if let Some((before, ends)) = last.get(&key)
                && now < *ends
                && head != Some(*before)
            {
                world.fails(format!("k{key}: the outcome of {before:?} became {found:?}"));
            }
            last.remove(&key);
            if let (Some(head), Some(found)) = (head, found)
                && head.state == State::Completed
            {
                last.insert(key, (head, now + found.left));
            }
        }
        sleep(Duration::from_millis(3)).await;
    }
}

fn record_key(key: u64) -> RecordKey {
    RecordKey::new("".into(), "op".into(), Key::of(&key).unwrap())
}

async fn chaos(seed: u64) -> Vec<String> {
    let mut dice = Dice(seed);
    let panics = std::env::var_os("CHAOS_PANICS").is_some();
    let world = World(Arc::new(Inner {
        seed,
        store: MemoryBackend::new(),
        next: AtomicU64::new(1),
        active: Mutex::default(),
        made: Mutex::default(),
        overlapped: Mutex::default(),
        panics,
        still: AtomicU64::new(0),
        failures: Mutex::default(),
        log: Mutex::default(),
        start: Instant::now(),
    }));
    let count = 1 + dice.below(3);
    let processes: Vec<_> = (0..count).map(|_| process(&world, &mut dice)).collect();
    let mut others = JoinSet::new();
    others.spawn(watch(world.clone()));
    let faulty = !dice.one_in(5);
    for process in &processes {
        if faulty {
            others.spawn(trouble(process.clone(), world.clone(), dice.fork(), panics));
        }
        others.spawn(operator(process.clone(), world.clone(), dice.fork()));
    }
    let mut calls = JoinSet::new();
    let number = 20 + dice.below(60);
    let spacing = dice.pick(&[50, 200, 600]);
    for id in 0..number {
        let process = processes[dice.below(count) as usize].clone();
        let plan = plan(id, &mut dice);
        let abort = (plan.end == 3).then(|| dice.ms(0, 1_000));
        let handle = calls.spawn(call(world.clone(), process, plan));
        if let Some(after) = abort {
            others.spawn(async move {
                sleep(after).await;
                handle.abort();
            });
        }
        if !dice.one_in(3) {
            sleep(dice.ms(0, spacing)).await;
        }
    }
    while let Some(ended) = calls.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            world.fails("the test itself panicked");
        }
    }
    others.shutdown().await;
    sleep(Duration::from_secs(3)).await;
    for process in &processes {
        process.faults.away(false);
        // Faults that were not used up.
        for _ in 0..60 {
            for key in 1_000..1_002_u64 {
                let drain = process.idem.call("drain").key(&key).lease(Duration::from_millis(100));
                let drain = drain.run(|_| async { Err::<u64, _>(Failure::Own(0)) });
                let _ = AssertUnwindSafe(drain).catch_unwind().await;
            }
        }
    }
    sleep(Duration::from_secs(10)).await;
    world.log(|| "quiet".to_owned());
    let renewals: Vec<_> = processes.iter().map(|p| p.faults.sent(Operation::Renew)).collect();
    sleep(Duration::from_secs(60)).await;
    for (process, before) in processes.iter().zip(renewals) {
        let after = process.faults.sent(Operation::Renew);
        if after != before {
            world.fails(format!("{} renewals although all is quiet", after - before));
        }
    }
    let reader = Idem::builder().backend(world.0.store.clone()).keeper_as_task().build().unwrap();
    for key in 0..KEYS {
        match reader.inspect("op", &key).await.unwrap() {
            Some(found) if matches!(found.status, Status::InProgress { .. }) => {
                world.fails(format!("k{key} is in progress although all is quiet: {found:?}"));
            }
            _ => {}
        }
    }
    for (key, active) in world.0.active.lock().unwrap().iter() {
        if !active.is_empty() {
            world.fails(format!("k{key}: an action is left"));
        }
    }
    for process in &processes {
        let report = process.idem.shutdown(Duration::from_secs(1)).await;
        if !report.is_clean() {
            let last: Vec<_> = process.events.all().into_iter().rev().take(20).collect();
            world.fails(format!("{report:?} {last:?}"));
        }
    }
    let failures = world.0.failures.lock().unwrap().clone();
    if !failures.is_empty() {
        for line in world.0.log.lock().unwrap().iter() {
            println!("{line}");
        }
    }
    failures
}

fn env(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn the_promises_hold_in_chaos() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        if !text.contains("the action's own panic") && !text.contains("a fault of the test") {
            eprintln!("{text}");
        }
    }));
    let first = env("CHAOS_SEED").or(env("CHAOS_FIRST")).unwrap_or(1);
    let seeds = if env("CHAOS_SEED").is_some() { 1 } else { env("CHAOS_SEEDS").unwrap_or(300) };
    let mut failures = Vec::new();
    for seed in first..first + seeds {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        failures.extend(runtime.block_on(chaos(seed)));
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
