//! Dispatching: one receipt for the same call, whatever becomes of the dispatcher.

use idem_runtime::backend::Backend;
use idem_runtime::testing::Operation;
use idem_runtime::{Error, ErrorKind, Ran, RunStatus};
use idem_tests::{LEASE, World, eventually};
use tokio::time::{advance, sleep};

use crate::kit::{OPERATION, Queue, dispatch, receipt_key, work};

#[tokio::test(start_paused = true)]
async fn a_spawned_run_gives_its_result_by_its_receipt() {
    let process = World::new().process();
    let receipt = dispatch(&process.idem).spawn(async { Ok::<_, Error>(7_u64) }).await.unwrap();
    assert!(!receipt.is_replay() && !receipt.is_queued());
    eventually_ended(&receipt).await;
    assert_eq!(receipt.result::<u64>().await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_queued_run_is_run_by_another_process() {
    let world = World::new();
    let (dispatcher, worker, queue) = (world.process(), world.process(), Queue::default());
    let receipt = queue.dispatch(&dispatcher).await.unwrap();
    assert!(receipt.is_queued());
    assert_eq!(receipt.status().await.unwrap(), RunStatus::Queued);
    assert_eq!(receipt.result::<u64>().await.unwrap_err().kind(), ErrorKind::InProgress);
    assert_eq!(queue.runs(), [receipt.id()]);
    assert!(matches!(work(&worker, receipt.id(), 7).await, Ran::Ended(Ok(7))));
    assert_eq!(receipt.status().await.unwrap(), RunStatus::Succeeded);
    assert_eq!(dispatcher.idem.run(receipt.id()).result::<u64>().await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn the_same_call_gets_the_same_receipt_while_the_run_can_succeed_and_once_it_has() {
    let world = World::new();
    let (first, second, queue) = (world.process(), world.process(), Queue::default());
    let receipt = queue.dispatch(&first).await.unwrap();
    for process in [&first, &second] {
        let again = queue.dispatch(process).await.unwrap();
        assert_eq!((again.id(), again.is_replay()), (receipt.id(), true));
        assert_eq!(again.dispatched_at(), receipt.dispatched_at());
    }
    drop(work(&second, receipt.id(), 7).await);
    assert_eq!(queue.dispatch(&first).await.unwrap().id(), receipt.id());
    assert_eq!(queue.runs().len(), 1);
    assert_eq!(first.events.count("receipt_replayed"), 2);
}

#[tokio::test(start_paused = true)]
async fn other_arguments_under_the_same_key_are_refused() {
    let process = World::new().process();
    let dispatched = |arguments: u64| {
        dispatch(&process.idem).fingerprint(&arguments).spawn(async { Ok::<_, Error>(0_u64) })
    };
    dispatched(1).await.unwrap();
    let error = dispatched(2).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FingerprintMismatch);
}

#[tokio::test(start_paused = true)]
async fn two_dispatches_at_once_start_one_run() {
    let world = World::new();
    let (first, second, queue) = (world.process(), world.process(), Queue::default());
    let (one, other) = tokio::join!(queue.dispatch(&first), queue.dispatch(&second));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one.id(), other.id());
    assert!(one.is_replay() != other.is_replay());
    assert_eq!(queue.runs().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_refuses_the_run_frees_the_key() {
    let (world, queue) = (World::new(), Queue::default());
    let process = world.process();
    let refused = dispatch(&process.idem)
        .enqueue(async |run| {
            queue.push(run.id());
            Err(Error::of_kind(ErrorKind::Backend, "the queue is full"))
        })
        .await;
    assert_eq!(refused.unwrap_err().operation(), "the queue is full");
    let [run] = queue.runs()[..] else { panic!("one run") };
    // Whatever the queue does with it now, it does not start.
    assert!(matches!(work(&process, run, 7).await, Ran::NotStarted(RunStatus::Cancelled)));
    assert!(!queue.dispatch(&process).await.unwrap().is_replay());
}

/// A queue that took the run and lost its answer: the worker has it already, and the receipt stands.
#[tokio::test(start_paused = true)]
async fn a_run_that_a_worker_has_is_not_refused_by_its_queue() {
    let world = World::new();
    let (process, worker) = (world.process(), world.process());
    let receipt = dispatch(&process.idem)
        .enqueue(async |run| {
            drop(work(&worker, run.id(), 7).await);
            Err(Error::of_kind(ErrorKind::Backend, "no answer"))
        })
        .await
        .unwrap();
    assert!(!receipt.is_replay());
    assert_eq!(receipt.result::<u64>().await.unwrap(), 7);
}

/// A dispatcher that dies between the queue and its own completion: the worker sees to the receipt.
#[tokio::test(start_paused = true)]
async fn a_dispatcher_killed_between_enqueue_and_completion_makes_one_run() {
    let world = World::new();
    let (dispatcher, worker, queue) = (world.process(), world.process(), Queue::default());
    let mut gate = dispatcher.faults.hold_before(Operation::Complete);
    // The first complete is that of the run's record, the second is the receipt's.
    let killed = tokio::spawn({
        let (dispatcher, queue) = (dispatcher.clone(), queue.clone());
        async move { queue.dispatch(&dispatcher).await }
    });
    gate.arrived().await;
    let mut receipts = dispatcher.faults.hold_before(Operation::Complete);
    gate.open();
    receipts.arrived().await;
    killed.abort();
    dispatcher.faults.away(true);
    let [run] = queue.runs()[..] else { panic!("one run") };
    for _ in 0..2 {
        // At once, while the dispatch's own reservation stands; and redelivered.
        drop(work(&worker, run, 7).await);
    }
    let again = queue.dispatch(&worker).await.unwrap();
    assert_eq!((again.id(), again.is_replay()), (run, true));
    assert_eq!(queue.runs().len(), 1);
    assert_eq!(again.result::<u64>().await.unwrap(), 7);
}

/// The same, and the worker comes only when the dispatch's reservation has ended.
#[tokio::test(start_paused = true)]
async fn a_worker_begins_the_receipt_anew_where_the_dispatch_has_ended() {
    let world = World::new();
    let (dispatcher, worker, queue) = (world.process(), world.process(), Queue::default());
    queue.dispatch_and_vanish(&dispatcher).await;
    let [run] = queue.runs()[..] else { panic!("one run") };
    assert!(matches!(work(&worker, run, 7).await, Ran::Ended(Ok(7))));
    assert_eq!(queue.dispatch(&worker).await.unwrap().id(), run);
}

/// Its dispatcher gives up late, and frees what the worker has begun in its name.
#[tokio::test(start_paused = true)]
async fn a_worker_begins_the_receipt_once_more_that_its_dispatcher_frees() {
    let world = World::new();
    let (dispatcher, worker, queue) = (world.process(), world.process(), Queue::default());
    queue.dispatch_and_vanish(&dispatcher).await;
    let [run] = queue.runs()[..] else { panic!("one run") };
    let mut finds_nothing = worker.faults.hold_before(Operation::Complete);
    let works = tokio::spawn({
        let worker = worker.clone();
        async move { work(&worker, run, 7).await }
    });
    finds_nothing.arrived().await;
    let mut has_begun = worker.faults.hold_before(Operation::Complete);
    finds_nothing.open();
    has_begun.arrived().await;
    let found = world.store.peek(&receipt_key()).await.unwrap().unwrap();
    let owner = found.standing.record().unwrap().owner;
    world.store.release(&receipt_key(), owner).await.unwrap();
    has_begun.open();
    assert!(matches!(works.await.unwrap(), Ran::Ended(Ok(7))));
}

/// Its key was free in between, and another run has it by now.
#[tokio::test(start_paused = true)]
async fn a_run_whose_place_another_one_has_is_skipped() {
    let world = World::new();
    let (dispatcher, other, queue) = (world.process(), world.process(), Queue::default());
    queue.dispatch_and_vanish(&dispatcher).await;
    let receipt = queue.dispatch(&other).await.unwrap();
    let [first, second] = queue.runs()[..] else { panic!("two runs") };
    assert_eq!(receipt.id(), second);
    assert!(matches!(work(&other, first, 1).await, Ran::NotStarted(RunStatus::Skipped)));
    assert_eq!(other.idem.run(first).status().await.unwrap(), RunStatus::Skipped);
    assert!(matches!(work(&other, second, 2).await, Ran::Ended(Ok(2))));
}

/// A worker that is faster than the dispatcher's own completion: that one finds its receipt stored.
#[tokio::test(start_paused = true)]
async fn a_worker_may_finish_before_the_dispatch_does() {
    let world = World::new();
    let (dispatcher, worker) = (world.process(), world.process());
    let receipt = dispatch(&dispatcher.idem)
        .enqueue(async |run| {
            drop(work(&worker, run.id(), 7).await);
            // Longer than a lease: its renewals find the receipt, and nobody is told of a loss.
            sleep(LEASE * 3).await;
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    assert!(!receipt.is_replay());
    assert_eq!(receipt.result::<u64>().await.unwrap(), 7);
    for event in ["lease_lost", "lease_at_risk", "completion_refused"] {
        assert!(!dispatcher.events.has(event), "{event}");
    }
}

/// A dispatcher that finds nothing in its reservation's place reads its run first: one that is over is
/// not to be named by a receipt, one that is not is.
#[tokio::test(start_paused = true)]
async fn a_dispatcher_that_finds_nothing_in_its_place_names_no_run_that_is_over() {
    for cancelled in [true, false] {
        let (world, queue) = (World::new(), Queue::default());
        let (dispatcher, other) = (world.process(), world.process());
        let gate = std::cell::Cell::new(None);
        let dispatching = dispatch(&dispatcher.idem).enqueue(async |run| {
            queue.push(run.id());
            gate.set(Some(dispatcher.faults.hold_before(Operation::Complete)));
            Ok::<_, Error>(())
        });
        let receipt = {
            let mut dispatching = std::pin::pin!(dispatching);
            assert!(tokio::time::timeout(LEASE / 10, dispatching.as_mut()).await.is_err());
            let [run] = queue.runs()[..] else { panic!("one run") };
            if cancelled {
                other.idem.run(run).cancel().await.unwrap();
            }
            world.store.plant(&receipt_key(), &[], LEASE / 1_000_000);
            sleep(LEASE / 1_000).await;
            // The gate opens by being dropped.
            gate.take();
            dispatching.await
        };
        match cancelled {
            true => assert_eq!(receipt.unwrap_err().kind(), ErrorKind::LeaseLost),
            false => assert_eq!(receipt.unwrap().id(), queue.runs()[0]),
        }
        let next = queue.dispatch(&other).await.unwrap();
        assert_eq!(next.is_replay(), !cancelled);
    }
}

/// Its keeper finds nothing either, while the queue has not answered yet: it reads the run as well before
/// it begins again.
#[tokio::test(start_paused = true)]
async fn a_keeper_takes_the_key_again_for_no_run_that_is_over() {
    let world = World::new();
    let (dispatcher, other) = (world.process(), world.process());
    let full = || Error::of_kind(ErrorKind::Backend, "the queue is full");
    let refused = dispatch(&dispatcher.idem)
        .enqueue(async |run| {
            let failed = other.idem.attach(run.id()).run(async { Err::<u64, _>(full()) }).await;
            assert!(matches!(failed, Ok(Ran::Ended(Err(_)))));
            // Another call sees that, removes the receipt, and finds no queue of its own.
            dispatch(&other.idem).enqueue(async |_| Err(full())).await.unwrap_err();
            sleep(LEASE).await;
            Ok::<_, Error>(())
        })
        .await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::LeaseLost);
}

/// A dispatcher whose place another one took: that one's receipt is its answer, also where its run is over by
/// then. It has handed on a run of its own, and begins no third.
#[tokio::test(start_paused = true)]
async fn a_dispatcher_that_comes_back_is_given_the_receipt_that_stands_whatever_its_run() {
    for fails in [true, false] {
        let (world, queue) = (World::new(), Queue::default());
        let (slow, fast) = (world.process(), world.process());
        let given = dispatch(&slow.idem)
            .enqueue(async |_| {
                slow.faults.away(true);
                sleep(LEASE * 2).await;
                let other = queue.dispatch(&fast).await?;
                if fails {
                    let body = async { Err::<u64, _>("no paper") };
                    assert!(fast.idem.attach(other.id()).run(body).await?.is_done());
                }
                slow.faults.away(false);
                Ok::<_, Error>(())
            })
            .await
            .unwrap();
        assert_eq!((given.id(), given.is_replay()), (queue.runs()[0], true));
        assert_eq!(queue.runs().len(), 1);
        assert_eq!(queue.dispatch(&fast).await.unwrap().is_replay(), !fails);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_read_a_receipt_as_its_value_nor_a_dispatch_an_outcome() {
    let process = World::new().process();
    dispatch(&process.idem).spawn(async { Ok::<_, Error>(1_u64) }).await.unwrap();
    let call = process.idem.call(OPERATION).key("k").run(|_| async { Ok::<u64, Error>(2) }).await;
    assert_eq!(call.unwrap_err().kind(), ErrorKind::Unreadable);
    process.idem.call(OPERATION).key("c").run(|_| async { Ok::<u64, Error>(2) }).await.unwrap();
    let dispatched =
        process.idem.dispatch(OPERATION).key("c").spawn(async { Ok::<_, Error>(3_u64) });
    assert_eq!(dispatched.await.unwrap_err().kind(), ErrorKind::Unreadable);
}

#[tokio::test(start_paused = true)]
async fn settings_that_contradict_each_other_are_refused() {
    let process = World::new().process();
    let body = || async { Ok::<_, Error>(0_u64) };
    let base = || process.idem.dispatch(OPERATION).key("k");
    let refusals = [
        process.idem.dispatch("idem.run").key("k").spawn(body()).await,
        process.idem.dispatch("no key").spawn(body()).await,
        base().deadline(LEASE / 2).spawn(body()).await,
        base().deadline(LEASE * 9).ttl(LEASE * 8).spawn(body()).await,
        base().queue_timeout(std::time::Duration::ZERO).spawn(body()).await,
        base().hold(std::time::Duration::MAX).spawn(body()).await,
    ];
    for refused in refusals {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidSetting);
    }
    let no_key = process.idem.dispatch(OPERATION).spawn(body()).await.unwrap_err();
    assert_eq!(no_key.kind(), ErrorKind::InvalidKey);
    advance(LEASE).await;
    assert!(process.events.all().is_empty());
}

async fn eventually_ended(receipt: &idem_runtime::Receipt) {
    for _ in 0..100 {
        if receipt.status().await.unwrap().has_ended() {
            return;
        }
        sleep(LEASE / 20).await;
    }
    eventually("the run ends", || false).await;
}
