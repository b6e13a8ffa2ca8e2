//! Callers that are dropped, recurse, hang, and keys in all forms.

use std::future::pending;
use std::time::{Duration, Instant};

use idem_runtime::testing::Operation;
use idem_runtime::{Builder, Error, ErrorKind, Idem, OnDrop, OnDuplicate, Outcome, Source, ToKey};
use idem_tests::caller::OPERATION;
use idem_tests::{LEASE, eventually};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::kit::{LONG, World, call, call_at_once};

/// Drops a call between its effect and its end.
async fn drop_after_effect(idem: &Idem, on_drop: OnDrop) {
    let (effect, had_effect) = oneshot::channel();
    let call = idem.call(OPERATION).key("a").on_drop(on_drop).run(|_| async {
        sleep(Duration::from_millis(100)).await;
        effect.send(()).unwrap();
        pending::<Result<u64, Error>>().await
    });
    tokio::select! {
        _ = call => unreachable!("the action does not end"),
        had_effect = had_effect => had_effect.unwrap(),
    }
}

/// Held, the key is free when the lease ends, which nobody makes longer. The lease leaves a slow
/// machine two seconds from the last renewal to the refused call.
#[tokio::test]
async fn caller_dropped_hold() {
    let world = World::start();
    let lease = LEASE * 2;
    let process = world.process_with(|builder| builder.lease(lease)).await;
    drop_after_effect(&process.idem, OnDrop::Hold).await;
    assert_eq!(process.events.count("abandoned_by_drop"), 1);
    let refused = call_at_once(&process.idem, "a", 2).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InProgress);
    let ends = world.expires_at("a").unwrap();
    assert!(ends <= world.now() + i64::try_from(lease.as_millis()).unwrap());
    let next = process.idem.call(OPERATION).key("a").on_duplicate(OnDuplicate::WaitFor(LONG));
    let next = next.run(|_| async { Ok::<_, Error>(world.now()) }).await.unwrap();
    assert!(next.value >= ends && next.source == Source::Fresh);
}

/// Released, the key is free at once: before its lease could have ended.
#[tokio::test]
async fn caller_dropped_release() {
    let world = World::start();
    let process = world.process_with(|builder| builder.lease(LONG * 5)).await;
    let other = world.process().await;
    drop_after_effect(&process.idem, OnDrop::Release).await;
    eventually("the key is released", || world.expires_at("a").is_none()).await;
    // The process itself may not have heard yet that it is.
    let outcome = call_at_once(&other.idem, "a", 2).await.unwrap();
    assert_eq!((outcome.value, outcome.source), (2, Source::Fresh));
    assert_eq!(call(&process.idem, "a", 3).await.unwrap().value, 2);
}

/// Detached, the body runs to its end and its outcome is stored.
#[tokio::test]
async fn caller_dropped_detach() {
    let world = World::start();
    let process = world.process().await;
    let ((effect, had_effect), (end, ended)) = (oneshot::channel(), oneshot::channel::<()>());
    let runs = world.runs.clone();
    let call = process.idem.call(OPERATION).key("a").run_detached(|_| async move {
        let _run = runs.start("effect");
        effect.send(()).unwrap();
        ended.await.unwrap();
        Ok::<_, Error>(1_u64)
    });
    tokio::select! {
        _ = call => unreachable!("the action has not ended"),
        had_effect = had_effect => had_effect.unwrap(),
    }
    // Longer than a lease: it is renewed as any other.
    eventually("it is renewed", || process.events.count("renewed") >= 5).await;
    let refused = call_at_once(&process.idem, "a", 2).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InProgress);
    end.send(()).unwrap();
    eventually("the outcome is stored", || process.events.has("executed")).await;
    let outcome = call_at_once(&process.idem, "a", 2).await.unwrap();
    assert_eq!((outcome.value, outcome.source), (1, Source::Replayed));
    assert_eq!(world.runs.total("effect"), 1);
    assert!(!process.events.has("abandoned_by_drop"));
}

/// Dropped while its outcome is being written, before the server has it and after, the outcome is
/// stored: the keeper sees to it.
#[tokio::test]
async fn caller_dropped_during_completion() {
    let world = World::start();
    let mut nth = 0;
    for on_drop in [OnDrop::Hold, OnDrop::Release] {
        for has_it in [false, true] {
            nth += 1;
            let key = format!("key {nth}");
            let process = world.process_with(|builder| builder.on_drop(on_drop)).await;
            let mut gate = match has_it {
                false => process.faults.hold_before(Operation::Complete),
                true => process.faults.hold_after(Operation::Complete),
            };
            tokio::select! {
                _ = call(&process.idem, &key, 1) => unreachable!("the gate holds it"),
                () = gate.arrived() => {}
            }
            drop(gate);
            eventually("the outcome is stored", || process.events.has("deferred_stored")).await;
            let next = call(&process.idem, &key, 2).await.unwrap();
            assert_eq!((next.value, next.source), (1, Source::Replayed), "{on_drop:?}, {has_it}");
        }
    }
}

/// Dropped before its body was first polled, nothing has run and the key is free.
#[tokio::test]
async fn caller_dropped_during_begin() {
    let world = World::start();
    let process = world.process_with(|builder| builder.lease(LONG * 5)).await;
    let mut gate = process.faults.hold_after(Operation::Begin);
    let has_begun = async {
        gate.arrived().await;
        assert!(world.expires_at("a").is_some(), "the server has the begin");
    };
    tokio::select! {
        _ = call(&process.idem, "a", 1) => unreachable!("the gate holds it"),
        () = has_begun => {}
    }
    eventually("the begin is released", || world.expires_at("a").is_none()).await;
    assert_eq!(call_at_once(&process.idem, "a", 2).await.unwrap().source, Source::Fresh);
    assert!(!process.events.has("abandoned_by_drop"));
}

/// A body that calls its own operation with its own key is refused at once, at any depth: without
/// asking the server.
#[tokio::test]
async fn recursion() {
    let world = World::start();
    let process = world.process().await;
    let idem = process.idem.clone();
    let outcome = process.idem.call(OPERATION).key("a").run(|_| async move {
        let direct = call(&idem, "a", 2).await.unwrap_err().kind();
        let between = idem.call("other").key("a").run(|_| async {
            let inner = call(&idem, "a", 2).await.unwrap_err().kind();
            Ok::<_, Error>(format!("{inner:?}"))
        });
        Ok::<_, Error>((format!("{direct:?}"), between.await?.value))
    });
    let outcome = outcome.await.unwrap();
    assert_eq!(outcome.value, ("Reentrant".to_owned(), "Reentrant".to_owned()));
    assert_eq!(process.faults.sent(Operation::Begin), 2, "the outer one and the one between");
}

/// A body that never returns is dropped at its deadline; the caller is told, the key is free: when
/// its lease ends, or at once.
#[tokio::test]
async fn hung_action() {
    // The caller is told by its own runtime; this much is for a busy machine.
    const BUSY: Duration = Duration::from_secs(1);
    let (lease, deadline) = (LEASE * 2, LEASE * 2);
    for on_drop in [OnDrop::Hold, OnDrop::Release] {
        let world = World::start();
        let process = world.process_with(|builder| builder.lease(lease)).await;
        let other = world.process().await;
        let call = process.idem.call(OPERATION).key("a").deadline(deadline).on_drop(on_drop);
        let hung = call.run(|_| pending::<Result<u64, Error>>());
        let start = Instant::now();
        let renewed = async {
            // Of the three renewals before the deadline, the second.
            eventually("it is renewed", || process.events.count("renewed") >= 2).await;
            world.expires_at("a").unwrap()
        };
        let (told, ends) = tokio::join!(timeout(LONG, hung), renewed);
        let took = start.elapsed();
        assert_eq!(told.unwrap().unwrap_err().kind(), ErrorKind::DeadlineExceeded);
        assert!(took >= deadline && took < deadline + BUSY, "{took:?}");
        eventually("the key is free", || world.expires_at("a").is_none()).await;
        // Held for a second from here and longer, or released right now.
        assert_eq!(world.now() >= ends, on_drop == OnDrop::Hold, "{on_drop:?}");
        assert_eq!(call_at_once(&other.idem, "a", 2).await.unwrap().value, 2);
    }
}

/// The deadline holds for a body that never yields, as far as its key and its duplicates go.
#[test]
fn hung_action_that_blocks_its_thread() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (world, waits) = (World::start(), runtime());
    let settings = |builder: Builder| {
        builder.on_drop(OnDrop::Release).on_duplicate(OnDuplicate::WaitFor(LONG))
    };
    let blocked = waits.block_on(world.process_with(settings));
    let other = waits.block_on(world.process_with(settings));
    let (begun, has_begun) = oneshot::channel();
    let (done, is_done) = std::sync::mpsc::channel();
    let idem = blocked.idem.clone();
    let thread = std::thread::spawn(move || {
        runtime().block_on(idem.call(OPERATION).key("a").deadline(LEASE).run(|_| async move {
            begun.send(()).unwrap();
            // Blocks until another call of the key has run.
            is_done.recv_timeout(LONG).unwrap();
            Ok::<_, Error>(1_u64)
        }))
    });
    waits.block_on(async {
        has_begun.await.unwrap();
        assert_eq!(call(&other.idem, "a", 2).await.unwrap().source, Source::Fresh);
    });
    done.send(()).unwrap();
    assert_eq!(thread.join().unwrap().unwrap_err().kind(), ErrorKind::DeadlineExceeded);
}

/// Keys of all forms are records of their own, whose names are plain text without a hash tag; an empty
/// one is refused.
#[tokio::test]
async fn key_forms() {
    async fn run<K: ToKey + ?Sized>(idem: &Idem, key: &K) -> Result<Outcome<String>, Error> {
        let call = idem.call(OPERATION).key(key);
        call.run(|lease| async move { Ok::<_, Error>(lease.key().to_owned()) }).await
    }
    let world = World::start();
    let process = world.process().await;
    let idem = &process.idem;
    let (long, longer) = ("x".repeat(10_000), "x".repeat(10_001));
    let texts = [
        "{a}", "{a}{b}", "a b", "a\nb", "a%0Ab", "a:b", r"a\:b", "a%3Ab", "a", "ключ", &long,
        &longer,
    ];
    for text in texts {
        let first = run(idem, text).await.unwrap();
        assert_eq!(first.source, Source::Fresh, "{text}");
        let second = run(idem, text).await.unwrap();
        assert_eq!((second.source, second.value), (Source::Replayed, first.value), "{text}");
    }
    assert_eq!(run(idem, &("a:b", "c")).await.unwrap().source, Source::Fresh);
    assert_eq!(run(idem, &("a", "b:c")).await.unwrap().source, Source::Fresh);
    assert_eq!(run(idem, &("a", "b", "c")).await.unwrap().source, Source::Fresh);
    let refused = run(idem, "").await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidKey);
    let names: Vec<String> = world.server.ask(&["KEYS", "*"]);
    assert_eq!(names.len(), texts.len() + 3);
    let is_plain = |byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'{' | b'}');
    assert!(names.iter().all(|name| name.bytes().all(is_plain) && name.len() < 300), "{names:?}");
}
