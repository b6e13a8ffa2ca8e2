//! Running: one worker for a run, its lease, its end, its way back into the queue.

use std::sync::Arc;
use std::time::Duration;

use idem_runtime::testing::Operation;
use idem_runtime::{Error, ErrorKind, Liveness, OnLost, Ran, RunStatus, Verdict, lease};
use idem_tests::{LEASE, World, eventually};
use tokio::sync::Notify;
use tokio::time::{advance, sleep};

use crate::kit::{HOLD, QUEUE_TIMEOUT, Queue, dispatch, run_key, work};

#[tokio::test(start_paused = true)]
async fn two_workers_of_one_run_start_it_once() {
    for same_process in [true, false] {
        for held in [Operation::Peek, Operation::Replace, Operation::Complete, Operation::Renew] {
            let (world, queue) = (World::new(), Queue::default());
            let slow = world.process();
            let fast = if same_process { slow.clone() } else { world.process() };
            let receipt = queue.dispatch(&slow).await.unwrap();
            let mut gate = slow.faults.hold_before(held);
            let (one, other) = tokio::join!(work(&slow, receipt.id(), 1), async {
                gate.arrived().await;
                let other = work(&fast, receipt.id(), 2).await;
                gate.open();
                other
            });
            let started = [&one, &other].map(|ran| matches!(ran, Ran::Ended(Ok(_))));
            assert!(started[0] != started[1], "{held:?}: {one:?}, {other:?}");
            let value = receipt.result::<u64>().await.unwrap();
            assert_eq!(value, if started[0] { 1 } else { 2 });
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_keeps_its_lease_while_it_runs() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    let (ran, ()) = tokio::join!(
        worker.idem.attach(receipt.id()).run(async {
            let own = lease().unwrap();
            assert_eq!(own.key(), receipt.id().to_string());
            sleep(LEASE * 10).await;
            Ok::<_, Error>(own.attempt())
        }),
        async {
            for _ in 0..9 {
                sleep(LEASE).await;
                assert_eq!(process.idem.verdict(receipt.id()).await, Verdict::Live);
            }
        }
    );
    assert!(matches!(ran.unwrap(), Ran::Ended(Ok(1))));
}

/// A run's worker that finds nothing where its reservation was ends: it does not begin again.
#[tokio::test(start_paused = true)]
async fn a_worker_whose_reservation_is_gone_stores_nothing() {
    for body_sees_it in [true, false] {
        let (world, queue) = (World::new(), Queue::default());
        let (process, worker) = (world.process(), world.process());
        let receipt = queue.dispatch(&process).await.unwrap();
        let key = run_key(receipt.id());
        let ran = worker.idem.attach(receipt.id()).run(async {
            world.store.plant(&key, &[], Duration::from_nanos(1));
            advance(Duration::from_millis(1)).await;
            if body_sees_it {
                lease().unwrap().token().cancelled().await;
                sleep(LEASE * 2).await;
            }
            Ok::<_, Error>(7_u64)
        });
        assert_eq!(ran.await.unwrap_err().kind(), ErrorKind::LeaseLost);
        assert_eq!(receipt.status().await.unwrap(), RunStatus::Gone);
        assert!(!queue.dispatch(&process).await.unwrap().is_replay());
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_past_its_deadline_has_failed() {
    let world = World::new();
    let (process, worker, queue) = (world.process(), world.process(), Queue::default());
    let receipt = dispatch(&process.idem)
        .deadline(LEASE * 3)
        .enqueue(async |run| {
            queue.push(run.id());
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    let body = async { std::future::pending::<Result<u64, Error>>().await };
    let error = worker.idem.attach(receipt.id()).run(body).await.unwrap_err();
    assert_eq!((error.kind(), error.retry_after()), (ErrorKind::DeadlineExceeded, None));
    let RunStatus::Failed { reason, .. } = receipt.status().await.unwrap() else { panic!() };
    assert!(reason.contains("deadline"), "{reason}");
    assert!(!queue.dispatch(&process).await.unwrap().is_replay());
}

#[tokio::test(start_paused = true)]
async fn a_run_is_given_back_and_tried_again() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    let busy =
        || async { Err::<u64, _>(Error::of_kind(ErrorKind::Backend, "the printer is busy")) };
    for attempt in 1..=3_u32 {
        let attach = worker.idem.attach(receipt.id());
        let given_back = attach.run_or_give_back(
            async {
                assert_eq!(lease().unwrap().attempt(), attempt);
                busy().await
            },
            |_| true,
        );
        assert!(matches!(given_back.await.unwrap(), Ran::GivenBack(_)));
        let RunStatus::WaitingForRetry { reason, .. } = receipt.status().await.unwrap() else {
            panic!()
        };
        assert!(reason.contains("the printer is busy"), "{reason}");
        assert_eq!(queue.dispatch(&process).await.unwrap().id(), receipt.id());
    }
    assert!(matches!(work(&worker, receipt.id(), 7).await, Ran::Ended(Ok(7))));
    assert_eq!(receipt.result::<u64>().await.unwrap(), 7);
}

/// What could not be started goes back to where it was, with what its last worker said.
#[tokio::test(start_paused = true)]
async fn a_run_that_waits_to_be_tried_again_is_given_back_as_that() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    let body = async { Err::<u64, _>("the printer is busy") };
    let given_back = process.idem.attach(receipt.id()).run_or_give_back(body, |_| true).await;
    assert!(!given_back.unwrap().is_done());
    worker.faults.fail_after(Operation::Renew, 30);
    let body = async { Ok::<u64, Error>(7) };
    assert!(worker.idem.attach(receipt.id()).run(body).await.is_err());
    // Handed out again at once: whoever has it, it is not done with.
    let again = work(&process, receipt.id(), 7).await;
    assert!(matches!(again, Ran::NotStarted(RunStatus::Running { .. })) && !again.is_done());
    sleep(LEASE).await;
    let RunStatus::WaitingForRetry { reason, .. } = receipt.status().await.unwrap() else {
        panic!()
    };
    assert_eq!(reason, "the printer is busy");
    assert!(work(&process, receipt.id(), 7).await.is_done());
}

/// A run has one result, which is not that of a worker who would rather not hear of its loss.
#[tokio::test(start_paused = true)]
async fn a_loss_cannot_be_ignored() {
    let (world, queue) = (World::new(), Queue::default());
    let process = world.process();
    let receipt = queue.dispatch(&process).await.unwrap();
    let body = async {
        receipt.cancel().await?;
        Ok::<_, Error>(7_u64)
    };
    let ran = process.idem.attach(receipt.id()).on_lost(OnLost::Ignore).run(body).await;
    let error = ran.unwrap_err();
    assert_eq!((error.kind(), error.operation()), (ErrorKind::LeaseLost, crate::kit::OPERATION));
    assert!(!process.events.has("run_moved"));
}

#[tokio::test(start_paused = true)]
async fn of_a_long_error_the_beginning_is_kept() {
    let (world, queue) = (World::new(), Queue::default());
    let process = world.process();
    let receipt = queue.dispatch(&process).await.unwrap();
    let body = async { Err::<u64, _>(format!("x{}", "ä".repeat(100_000))) };
    assert!(process.idem.attach(receipt.id()).run(body).await.unwrap().is_done());
    let RunStatus::Failed { reason, .. } = receipt.status().await.unwrap() else { panic!() };
    assert_eq!(reason.len(), 4096 - 1 + '…'.len_utf8());
}

/// The queue timeout counts anew for each wait.
#[tokio::test(start_paused = true)]
async fn a_run_that_waits_to_be_tried_again_is_given_up_after_its_queue_timeout() {
    let (world, queue) = (World::new(), Queue::default());
    let process = world.process();
    let receipt = queue.dispatch(&process).await.unwrap();
    sleep(QUEUE_TIMEOUT / 2).await;
    let body = async { Err::<u64, _>(Error::of_kind(ErrorKind::Backend, "busy")) };
    drop(process.idem.attach(receipt.id()).run_or_give_back(body, |_| true).await.unwrap());
    sleep(QUEUE_TIMEOUT * 3 / 4).await;
    assert_eq!(queue.dispatch(&process).await.unwrap().id(), receipt.id());
    sleep(QUEUE_TIMEOUT / 4).await;
    assert!(!queue.dispatch(&process).await.unwrap().is_replay());
}

/// A worker that cannot reach the store before its body has run: the keeper gives the run back.
#[tokio::test(start_paused = true)]
async fn a_run_that_could_not_be_started_is_given_back() {
    for failing in [Operation::Replace, Operation::Complete, Operation::Renew] {
        let (world, queue) = (World::new(), Queue::default());
        let (process, worker) = (world.process(), world.process());
        let receipt = queue.dispatch(&process).await.unwrap();
        // Carried out, not answered: until the call gives up.
        worker.faults.fail_after(failing, 30);
        let body = async { Ok::<u64, Error>(7) };
        let error = worker.idem.attach(receipt.id()).run(body).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Backend, "{failing:?}");
        let mut waited = Duration::ZERO;
        while receipt.status().await.unwrap() != RunStatus::Queued {
            sleep(LEASE / 10).await;
            waited += LEASE / 10;
            assert!(waited < LEASE * 10, "{failing:?}: {:?}", receipt.status().await.unwrap());
        }
        assert!(matches!(work(&process, receipt.id(), 7).await, Ran::Ended(Ok(7))));
    }
}

/// The same where the last renewal before the body is not answered: the lease has grown too short.
#[tokio::test(start_paused = true)]
async fn a_run_whose_lease_grew_too_short_to_start_is_given_back() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    // The reply of the first comes late, those of the later ones not at all.
    worker.faults.delay(Operation::Renew, LEASE / 2, 1);
    worker.faults.fail_after(Operation::Renew, 30);
    let body = async { Ok::<u64, Error>(7) };
    let error = worker.idem.attach(receipt.id()).run(body).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Backend, "{error}");
    sleep(LEASE / 2).await;
    assert_eq!(receipt.status().await.unwrap(), RunStatus::Queued);
}

/// Dropped before its body ran, a run goes back; dropped while it ran, it may have had its effect.
#[tokio::test(start_paused = true)]
async fn a_worker_that_is_dropped_gives_back_only_what_has_not_run() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    let mut gate = worker.faults.hold_before(Operation::Renew);
    let early = tokio::spawn({
        let (worker, run) = (worker.clone(), receipt.id());
        async move { work(&worker, run, 7).await }
    });
    gate.arrived().await;
    early.abort();
    let _ = early.await;
    drop(gate);
    sleep(LEASE / 2).await;
    assert_eq!(receipt.status().await.unwrap(), RunStatus::Queued);

    let started = Arc::new(Notify::new());
    let running = tokio::spawn({
        let (idem, run, started) = (worker.idem.clone(), receipt.id(), Arc::clone(&started));
        let body = async move {
            started.notify_one();
            std::future::pending::<Result<u64, Error>>().await
        };
        async move { idem.attach(run).run(body).await }
    });
    started.notified().await;
    running.abort();
    let _ = running.await;
    assert_eq!(queue.dispatch(&process).await.unwrap().id(), receipt.id());
    sleep(LEASE * 2).await;
    assert_eq!(process.idem.verdict(receipt.id()).await, Verdict::MaybeAlive);
    sleep(HOLD).await;
    assert!(!queue.dispatch(&process).await.unwrap().is_replay());
}

#[tokio::test(start_paused = true)]
async fn a_result_that_the_store_does_not_take_in_time_is_stored_by_the_keeper() {
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let receipt = queue.dispatch(&process).await.unwrap();
    let faults = worker.faults.clone();
    let body = async move {
        faults.away(true);
        Ok::<_, Error>(7_u64)
    };
    assert!(matches!(worker.idem.attach(receipt.id()).run(body).await.unwrap(), Ran::Ended(Ok(7))));
    assert_eq!(receipt.result::<u64>().await.unwrap_err().kind(), ErrorKind::InProgress);
    worker.faults.away(false);
    eventually("it is stored", || worker.events.has("deferred_stored")).await;
    assert_eq!(receipt.result::<u64>().await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_cannot_be_kept_or_is_of_another_type_is_told() {
    let world = World::new();
    let process = world.process_with(|builder| builder.max_result(100));
    let queue = Queue::default();
    let receipt = queue.dispatch(&process).await.unwrap();
    let body = async { Ok::<_, Error>("x".repeat(200)) };
    drop(process.idem.attach(receipt.id()).run(body).await.unwrap());
    let error = receipt.result::<String>().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotKept);
    // It has succeeded all the same.
    assert_eq!(queue.dispatch(&process).await.unwrap().id(), receipt.id());

    let other = process.idem.dispatch("other").key("k");
    let receipt = other.spawn(async { Ok::<_, Error>("text".to_owned()) }).await.unwrap();
    while !receipt.status().await.unwrap().has_ended() {
        sleep(LEASE / 20).await;
    }
    assert_eq!(receipt.result::<u64>().await.unwrap_err().kind(), ErrorKind::Unreadable);
    assert_eq!(receipt.result::<String>().await.unwrap(), "text");
}

/// The body of `spawn` runs to its end whatever becomes of the caller, and a shutdown waits for it.
#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_what_was_spawned() {
    let process = World::new().process();
    let receipt = dispatch(&process.idem)
        .spawn(async {
            sleep(LEASE * 5).await;
            Ok::<_, Error>(7_u64)
        })
        .await
        .unwrap();
    let report = process.idem.shutdown(LEASE * 10).await;
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(receipt.result::<u64>().await.unwrap(), 7);
    let refused = process.idem.attach(receipt.id()).run(async { Ok::<_, Error>(7_u64) }).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::ShuttingDown);
}

/// Past the grace period it is left to lapse, which callers see as one that may come back.
#[tokio::test(start_paused = true)]
async fn what_a_shutdown_leaves_lapses() {
    let world = World::new();
    let (process, other) = (world.process(), world.process());
    let body = async { std::future::pending::<Result<u64, Error>>().await };
    let receipt = dispatch(&process.idem).spawn(body).await.unwrap();
    assert_eq!(process.idem.shutdown(LEASE / 2).await.running, 1);
    sleep(LEASE * 2).await;
    assert_eq!(other.idem.verdict(receipt.id()).await, Verdict::MaybeAlive);
    let queue = Queue::default();
    assert_eq!(queue.dispatch(&other).await.unwrap().id(), receipt.id());
    sleep(HOLD).await;
    assert!(!queue.dispatch(&other).await.unwrap().is_replay());
}
