//! A run that is over gives way to a new one, and only such a run.

use std::time::Duration;

use idem_runtime::testing::Operation;
use idem_runtime::{Error, ErrorKind, Ran, RunId, RunStatus, Verdict};
use idem_tests::{LEASE, Process, World};
use tokio::time::sleep;

use crate::kit::{HOLD, QUEUE_TIMEOUT, Queue, TICK, receipt_key, run_key, verdict, work};

/// A run whose worker has vanished: its lease lapses a lease from now.
async fn vanish(worker: &Process, run: RunId) {
    let started = std::sync::Arc::new(tokio::sync::Notify::new());
    let body = {
        let started = std::sync::Arc::clone(&started);
        async move {
            started.notify_one();
            std::future::pending::<Result<u64, Error>>().await
        }
    };
    let task = tokio::spawn({
        let idem = worker.idem.clone();
        async move { idem.attach(run).run(body).await }
    });
    started.notified().await;
    worker.faults.away(true);
    task.abort();
    let _ = task.await;
}

#[tokio::test(start_paused = true)]
async fn a_run_that_failed_gives_a_new_one() {
    let (world, queue) = (World::new(), Queue::default());
    let process = world.process();
    let receipt = queue.dispatch(&process).await.unwrap();
    let failed = process
        .idem
        .attach(receipt.id())
        .run(async { Err::<u64, _>(Error::of_kind(ErrorKind::Backend, "no paper")) })
        .await
        .unwrap();
    assert!(matches!(failed, Ran::Ended(Err(_))));
    let error = receipt.result::<u64>().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RunFailed);
    assert!(error.to_string().contains("no paper"), "{error}");
    assert_eq!(verdict(&process, &receipt).await, Verdict::Ended);
    let next = queue.dispatch(&process).await.unwrap();
    assert!(next.id() != receipt.id() && !next.is_replay());
    assert_eq!(process.events.count("receipt_reclaimed"), 1);
    assert_eq!(queue.dispatch(&process).await.unwrap().id(), next.id());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_panicked_gives_a_new_one() {
    let (world, queue) = (World::new(), Queue::default());
    let process = world.process();
    let receipt = queue.dispatch(&process).await.unwrap();
    let (idem, run) = (process.idem.clone(), receipt.id());
    let body = async { panic!("out of ink") };
    let task = tokio::spawn(async move { idem.attach(run).run::<u64, Error, _>(body).await });
    assert!(task.await.unwrap_err().is_panic());
    let RunStatus::Failed { reason, .. } = receipt.status().await.unwrap() else { panic!() };
    assert_eq!(reason, "it panicked: out of ink");
    assert!(!queue.dispatch(&process).await.unwrap().is_replay());
}

/// Nothing is known of it any more: its record has been lost.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_gone_gives_a_new_one() {
    let (world, queue) = (World::new(), Queue::default());
    let process = world.process();
    // Of an operation whose runs are kept elsewhere, the receipt alone is in this store.
    let receipt = queue.dispatch(&process).await.unwrap();
    world.store.plant(&run_key(receipt.id()), &[], Duration::from_nanos(1));
    sleep(TICK).await;
    assert_eq!(verdict(&process, &receipt).await, Verdict::Gone);
    assert_eq!(receipt.status().await.unwrap(), RunStatus::Gone);
    assert!(!queue.dispatch(&process).await.unwrap().is_replay());
    assert!(matches!(work(&process, receipt.id(), 7).await, Ran::NotStarted(RunStatus::Gone)));
}

/// The hold ends to the moment: just before it the old receipt, at it and after it a new run.
#[tokio::test(start_paused = true)]
async fn the_hold_ends_to_the_moment() {
    for (moment, held) in [(HOLD - TICK, true), (HOLD, false), (HOLD + TICK, false)] {
        let (world, queue) = (World::new(), Queue::default());
        let (process, worker) = (world.process(), world.process());
        let receipt = queue.dispatch(&process).await.unwrap();
        vanish(&worker, receipt.id()).await;
        assert_eq!(verdict(&process, &receipt).await, Verdict::Live);
        sleep(LEASE - TICK).await;
        assert_eq!(verdict(&process, &receipt).await, Verdict::Live);
        sleep(TICK).await;
        assert_eq!(verdict(&process, &receipt).await, Verdict::MaybeAlive);
        sleep(moment).await;
        let RunStatus::Lapsed { since, .. } = receipt.status().await.unwrap() else { panic!() };
        assert_eq!(since, moment);
        let again = queue.dispatch(&process).await.unwrap();
        assert_eq!(again.id() == receipt.id(), held, "{moment:?}");
        assert_eq!(again.is_replay(), held);
        assert_eq!(process.events.count("receipt_held"), usize::from(held));
        if !held {
            let status = receipt.status().await.unwrap();
            assert!(matches!(status, RunStatus::Failed { .. }), "{status:?}");
        }
    }
}

/// The hold is that of the dispatch, whatever a later caller would set.
#[tokio::test(start_paused = true)]
async fn the_hold_is_the_runs_own() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    vanish(&worker, receipt.id()).await;
    sleep(LEASE + HOLD / 2).await;
    let impatient = process.idem.dispatch(crate::kit::OPERATION).key("k").hold(Duration::ZERO);
    let again = impatient.spawn(async { Ok::<_, Error>(0_u64) }).await.unwrap();
    assert_eq!((again.id(), again.is_replay()), (receipt.id(), true));
}

/// A worker that comes back inside the hold, with its result: it counts.
#[tokio::test(start_paused = true)]
async fn a_late_success_inside_the_hold_counts() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    let faults = worker.faults.clone();
    let body = async move {
        faults.away(true);
        sleep(LEASE + HOLD / 2).await;
        faults.away(false);
        Ok::<_, Error>(7_u64)
    };
    let (ran, again) = tokio::join!(worker.idem.attach(receipt.id()).run(body), async {
        sleep(LEASE * 2).await;
        queue.dispatch(&process).await.unwrap()
    });
    assert!(matches!(ran.unwrap(), Ran::Ended(Ok(7))));
    assert_eq!(again.id(), receipt.id());
    assert_eq!(receipt.result::<u64>().await.unwrap(), 7);
    assert_eq!(verdict(&process, &receipt).await, Verdict::Succeeded);
    assert_eq!(queue.dispatch(&process).await.unwrap().id(), receipt.id());
}

/// A worker that was paused past the hold: it finds itself ended, and stores nothing.
#[tokio::test(start_paused = true)]
async fn a_worker_that_comes_back_after_the_hold_finds_itself_ended() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    let faults = worker.faults.clone();
    let body = async move {
        faults.away(true);
        sleep(LEASE * 2 + HOLD).await;
        faults.away(false);
        Ok::<_, Error>(7_u64)
    };
    let (ran, next) = tokio::join!(worker.idem.attach(receipt.id()).run(body), async {
        sleep(LEASE + HOLD + TICK * 10).await;
        queue.dispatch(&process).await.unwrap()
    });
    let error = ran.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LeaseLost);
    assert!(error.to_string().contains("lease expired"), "{error}");
    assert!(!next.is_replay());
    assert_eq!(receipt.result::<u64>().await.unwrap_err().kind(), ErrorKind::RunFailed);
    assert!(matches!(work(&process, next.id(), 8).await, Ran::Ended(Ok(8))));
    assert_eq!(queue.dispatch(&process).await.unwrap().result::<u64>().await.unwrap(), 8);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_nobody_picks_up_is_given_up_after_its_queue_timeout() {
    let (world, queue) = (World::new(), Queue::default());
    let process = world.process();
    let receipt = queue.dispatch(&process).await.unwrap();
    sleep(QUEUE_TIMEOUT - TICK).await;
    assert_eq!(queue.dispatch(&process).await.unwrap().id(), receipt.id());
    sleep(TICK).await;
    let next = queue.dispatch(&process).await.unwrap();
    assert!(next.id() != receipt.id() && !next.is_replay());
    // Its message arrives after all: it is not started, or there would be two.
    let late = work(&process, receipt.id(), 1).await;
    let Ran::NotStarted(RunStatus::Failed { reason, .. }) = late else { panic!("{late:?}") };
    assert!(reason.contains("queue timeout"), "{reason}");
}

/// A worker that takes the run in the moment in which it is judged: it is alive, and its receipt stands.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_picked_up_while_it_is_judged_keeps_its_receipt() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    sleep(QUEUE_TIMEOUT).await;
    let mut gate = process.faults.hold_before(Operation::Replace);
    let (again, ()) = tokio::join!(queue.dispatch(&process), async {
        gate.arrived().await;
        drop(work(&worker, receipt.id(), 7).await);
        gate.open();
    });
    let again = again.unwrap();
    assert_eq!((again.id(), again.is_replay()), (receipt.id(), true));
    assert_eq!(again.result::<u64>().await.unwrap(), 7);
    assert_eq!(queue.runs().len(), 1);
}

/// A worker that is heard of again after the hold, and then not: a new hold has begun, and the store knows
/// it in the step that would have ended the run.
#[tokio::test(start_paused = true)]
async fn a_worker_that_comes_back_while_it_is_judged_is_held_anew() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    let run = receipt.id();
    let body = async { std::future::pending::<Result<u64, Error>>().await };
    let running = tokio::spawn({
        let idem = worker.idem.clone();
        async move { idem.attach(run).run(body).await }
    });
    while verdict(&process, &receipt).await != Verdict::Live
        || receipt.status().await.unwrap() == RunStatus::Queued
    {
        sleep(TICK).await;
    }
    worker.faults.away(true);
    sleep(LEASE + HOLD).await;
    let mut gate = process.faults.hold_before(Operation::Replace);
    let (again, ()) = tokio::join!(queue.dispatch(&process), async {
        gate.arrived().await;
        worker.faults.away(false);
        while verdict(&process, &receipt).await != Verdict::Live {
            sleep(TICK).await;
        }
        worker.faults.away(true);
        while verdict(&process, &receipt).await != Verdict::MaybeAlive {
            sleep(TICK).await;
        }
        gate.open();
    });
    let again = again.unwrap();
    assert_eq!((again.id(), again.is_replay()), (receipt.id(), true));
    assert!(matches!(receipt.status().await.unwrap(), RunStatus::Lapsed { .. }));
    running.abort();
}

/// First dead, second live replays, second dead, third.
#[tokio::test(start_paused = true)]
async fn generation_after_generation() {
    let (world, queue) = (World::new(), Queue::default());
    let process = world.process();
    for generation in 1..=5 {
        let receipt = queue.dispatch(&process).await.unwrap();
        assert!(!receipt.is_replay());
        assert_eq!(queue.dispatch(&process).await.unwrap().id(), receipt.id());
        assert_eq!(queue.runs().len(), generation);
        let body = async { Err::<u64, _>(Error::of_kind(ErrorKind::Backend, "again")) };
        drop(process.idem.attach(receipt.id()).run(body).await.unwrap());
    }
}

/// Two callers see the same dead run. Whoever is slower, at whichever step, one new run starts.
#[tokio::test(start_paused = true)]
async fn two_callers_of_one_dead_run_start_one_new_run() {
    for held in [Operation::Peek, Operation::Replace, Operation::Discard, Operation::Begin] {
        for before in [true, false] {
            let (world, queue) = (World::new(), Queue::default());
            let (slow, fast) = (world.process(), world.process());
            let old = queue.dispatch(&fast).await.unwrap();
            sleep(QUEUE_TIMEOUT).await;
            // Its first begin is that which finds the receipt.
            if held == Operation::Begin {
                slow.faults.delay(Operation::Begin, Duration::ZERO, 1);
            }
            let mut gate = match before {
                true => slow.faults.hold_before(held),
                false => slow.faults.hold_after(held),
            };
            let (one, other) = tokio::join!(queue.dispatch(&slow), async {
                gate.arrived().await;
                // By then the fast one is done, unless it waits for the slow one's begin.
                let opened = async {
                    sleep(LEASE / 2).await;
                    gate.open();
                };
                tokio::join!(queue.dispatch(&fast), opened).0.unwrap()
            });
            let one = one.unwrap();
            assert_eq!(queue.runs().len(), 2, "{held:?}, before: {before}");
            assert_ne!(one.id(), old.id(), "{held:?}, before: {before}");
            assert_eq!(one.id(), other.id(), "{held:?}, before: {before}");
            assert!(one.is_replay() != other.is_replay());
        }
    }
}

/// The contrast: callers that remove whatever receipt stands start two.
#[tokio::test(start_paused = true)]
async fn with_an_unconditional_delete_there_would_be_two_new_runs() {
    use idem_runtime::Backend;
    let (world, queue) = (World::new(), Queue::default());
    let (slow, fast) = (world.process(), world.process());
    queue.dispatch(&fast).await.unwrap();
    sleep(QUEUE_TIMEOUT).await;
    let mut gate = slow.faults.hold_before(Operation::Discard);
    let (one, other) = tokio::join!(queue.dispatch(&slow), async {
        gate.arrived().await;
        let receipt = queue.dispatch(&fast).await.unwrap();
        // What a delete by the slow one would do now: without looking at whom the receipt names.
        let stands = world.store.peek(&receipt_key()).await.unwrap().unwrap();
        let owner = stands.standing.record().unwrap().owner;
        world.store.discard(&receipt_key(), owner).await.unwrap();
        gate.open();
        receipt
    });
    assert_ne!(one.unwrap().id(), other.id());
    assert_eq!(queue.runs().len(), 3);
}
