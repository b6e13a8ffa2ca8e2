//! Callers that are dropped, recurse, hang, and keys in all forms.

use std::time::Duration;

use idem_runtime::testing::Operation;
use idem_runtime::{Error, ErrorKind, Idem, OnDrop, OnDuplicate, Outcome, Source, ToKey, lease};
use idem_tests::{LEASE, World, eventually};
use tokio::time::{Instant, sleep};

/// Calls the operation and is refused or answered at once.
async fn ask(idem: &Idem) -> Result<Outcome<u64>, Error> {
    let call = idem.call("op").key("k").on_duplicate(OnDuplicate::Reject);
    call.run(|_| async { Ok::<_, Error>(2) }).await
}

/// Effect at 100 ms, end at 300 ms, dropped at 200 ms: held, the key is free when the lease ends.
#[tokio::test(start_paused = true)]
async fn caller_dropped_hold() {
    let process = World::new().process();
    let start = Instant::now();
    drop_at_200_ms(&process.idem, OnDrop::Hold).await;
    assert_eq!(process.events.count("abandoned_by_drop"), 1);
    assert_eq!(ask(&process.idem).await.unwrap_err().kind(), ErrorKind::InProgress);
    // No longer than one lease after the store carried out the owner's last command.
    let call = process.idem.call("op").key("k");
    assert_eq!(call.run(|_| async { Ok::<_, Error>(3_u64) }).await.unwrap().value, 3);
    let took = start.elapsed();
    assert!((LEASE..LEASE + LEASE / 2).contains(&took), "{took:?}");
}

/// Released, the key is free at once.
#[tokio::test(start_paused = true)]
async fn caller_dropped_release() {
    let process = World::new().process();
    drop_at_200_ms(&process.idem, OnDrop::Release).await;
    eventually("the key is released", || process.faults.sent(Operation::Release) == 1).await;
    let outcome = ask(&process.idem).await.unwrap();
    assert_eq!((outcome.value, outcome.source), (2, Source::Fresh));
}

/// Detached, the body runs to its end and its outcome is stored.
#[tokio::test(start_paused = true)]
async fn caller_dropped_detach() {
    let world = World::new();
    let process = world.process();
    let runs = world.runs.clone();
    let call = process.idem.call("op").key("k").run_detached(move |lease| async move {
        assert!(lease.time_left() > Duration::ZERO);
        sleep(Duration::from_millis(100)).await;
        let _run = runs.start("effect");
        sleep(Duration::from_millis(200)).await;
        Ok::<_, Error>(1_u64)
    });
    assert!(tokio::time::timeout(Duration::from_millis(200), call).await.is_err());
    assert_eq!(ask(&process.idem).await.unwrap_err().kind(), ErrorKind::InProgress);
    eventually("the outcome is stored", || process.faults.sent(Operation::Complete) == 1).await;
    assert_eq!(ask(&process.idem).await.unwrap().value, 1);
    assert_eq!(world.runs.total("effect"), 1);
    assert!(!process.events.has("abandoned_by_drop"));
}

async fn drop_at_200_ms(idem: &Idem, on_drop: OnDrop) {
    let call = idem.call("op").key("k").on_drop(on_drop).run(|_| async {
        sleep(Duration::from_millis(300)).await;
        Ok::<_, Error>(1_u64)
    });
    assert!(tokio::time::timeout(Duration::from_millis(200), call).await.is_err());
}

/// Dropped while its outcome is being written, the outcome is stored: the keeper sees to it.
#[tokio::test(start_paused = true)]
async fn caller_dropped_during_completion() {
    for on_drop in [OnDrop::Hold, OnDrop::Release] {
        let process = World::new().process();
        let mut gate = process.faults.hold_before(Operation::Complete);
        let idem = process.idem.clone();
        let call = tokio::spawn(async move {
            let call = idem.call("op").key("k").on_drop(on_drop);
            call.run(|_| async { Ok::<_, Error>(1_u64) }).await
        });
        gate.arrived().await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        drop(gate);
        eventually("the outcome is stored", || process.events.has("deferred_stored")).await;
        assert_eq!(ask(&process.idem).await.unwrap().value, 1);
    }
}

/// Dropped before its body was first polled, nothing has run and the key is free.
#[tokio::test(start_paused = true)]
async fn caller_dropped_during_begin() {
    let process = World::new().process();
    let mut gate = process.faults.hold_after(Operation::Begin);
    let idem = process.idem.clone();
    let call = tokio::spawn(async move { ask(&idem).await });
    gate.arrived().await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    eventually("the begin is released", || process.faults.sent(Operation::Release) == 1).await;
    assert_eq!(ask(&process.idem).await.unwrap().source, Source::Fresh);
    assert!(!process.events.has("abandoned_by_drop"));
}

/// A body that calls its own operation with its own key is refused at once, at any depth.
#[tokio::test(start_paused = true)]
async fn recursion() {
    let process = World::new().process();
    let idem = process.idem.clone();
    let start = Instant::now();
    let outcome = process.idem.call("op").key("k").run(|_| async move {
        let direct = ask(&idem).await.unwrap_err().kind();
        let between = idem.call("other").key("k").run(|_| async {
            // Another operation's body in between does not hide the outer one.
            let inner = ask(&idem).await.unwrap_err().kind();
            Ok::<_, Error>(format!("{inner:?}"))
        });
        Ok::<_, Error>((format!("{direct:?}"), between.await?.value))
    });
    let outcome = outcome.await.unwrap();
    assert_eq!(outcome.value, ("Reentrant".to_owned(), "Reentrant".to_owned()));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

/// A body that never returns is dropped at its deadline; the caller is told, the key is free.
#[tokio::test(start_paused = true)]
async fn hung_action() {
    for (on_drop, free_after) in [(OnDrop::Hold, LEASE), (OnDrop::Release, Duration::ZERO)] {
        let process = World::new().process();
        let deadline = LEASE * 5;
        let call = process.idem.call("op").key("k").deadline(deadline).on_drop(on_drop);
        let start = Instant::now();
        let hung = call.run(|_| async {
            std::future::pending::<()>().await;
            Ok::<_, Error>(1_u64)
        });
        assert_eq!(hung.await.unwrap_err().kind(), ErrorKind::DeadlineExceeded);
        assert_eq!(start.elapsed(), deadline);
        assert_eq!(process.events.count("deadline_exceeded"), 1);
        let next = process.idem.call("op").key("k").run(|_| async { Ok::<_, Error>(2_u64) });
        assert_eq!(next.await.unwrap().value, 2);
        let waited = start.elapsed() - deadline;
        assert!(waited <= free_after + LEASE / 100, "{on_drop:?}: free after {waited:?}");
    }
}

/// The deadline holds for a body that never yields, as far as its key and its duplicates go.
#[test]
fn hung_action_that_blocks_its_thread() {
    let world = World::new();
    let lease = Duration::from_millis(200);
    let settings = |builder: idem_runtime::Builder| builder.lease(lease).on_drop(OnDrop::Release);
    let (blocked, other) = (world.real_process(settings), world.real_process(settings));
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (done, is_done) = std::sync::mpsc::channel();
    let idem = blocked.idem.clone();
    let thread = std::thread::spawn(move || {
        runtime().block_on(idem.call("op").key("k").deadline(lease).run(|_| async move {
            // Blocks until another call of the key has run.
            is_done.recv_timeout(Duration::from_secs(20)).unwrap();
            Ok::<_, Error>(1_u64)
        }))
    });
    runtime().block_on(async {
        eventually("the first has the key", || blocked.faults.sent(Operation::Begin) == 1).await;
        let call = other
            .idem
            .call("op")
            .key("k")
            .on_duplicate(OnDuplicate::WaitFor(Duration::from_millis(10_000)));
        assert_eq!(call.run(|_| async { Ok::<_, Error>(2_u64) }).await.unwrap().value, 2);
        done.send(()).unwrap();
    });
    assert_eq!(thread.join().unwrap().unwrap_err().kind(), ErrorKind::DeadlineExceeded);
}

/// Keys of all forms are records of their own; an empty one is refused.
#[tokio::test(start_paused = true)]
async fn key_forms() {
    async fn run<K: ToKey + ?Sized>(idem: &Idem, key: &K) -> Result<Outcome<String>, Error> {
        let call = idem.call("op").key(key);
        call.run(|lease| async move { Ok::<_, Error>(lease.key().to_owned()) }).await
    }
    let process = World::new().process();
    let idem = &process.idem;
    let long = "x".repeat(10_000);
    for text in ["{a}", "{a}{b}", "a b", "a\nb", "a:b", r"a\:b", "a%3Ab", "ключ", &long] {
        assert_eq!(run(idem, text).await.unwrap().source, Source::Fresh, "{text}");
        assert_eq!(run(idem, text).await.unwrap().source, Source::Replayed, "{text}");
    }
    assert_eq!(run(idem, &("a:b", "c")).await.unwrap().source, Source::Fresh);
    assert_eq!(run(idem, &("a", "b:c")).await.unwrap().source, Source::Fresh);
    assert_eq!(run(idem, &("a", "b", "c")).await.unwrap().source, Source::Fresh);
    let refused = run(idem, "").await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidKey);
    assert!(refused.to_string().starts_with("op: "), "{refused}");
    assert!(lease().is_none(), "outside of a body there is no lease");
}
