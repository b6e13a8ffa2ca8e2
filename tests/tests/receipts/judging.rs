//! Who says whether a run can still succeed: its record, or a queue that knows better. In doubt, nobody.

use idem_runtime::testing::Operation;
use idem_runtime::{Error, Idem, Liveness, Ran, RunId, RunStatus, Verdict};
use idem_tests::{LEASE, TTL, World};
use tokio::time::sleep;

use crate::kit::{QUEUE_TIMEOUT, Queue, TICK, dispatch, run_key, verdict, work};

#[tokio::test(start_paused = true)]
async fn any_doubt_gives_the_old_receipt_and_begins_nothing() {
    // A store that does not answer, or with an error, at each step of the way to a new run.
    for failing in [Operation::Peek, Operation::Replace, Operation::Discard] {
        for answers in [true, false] {
            let (world, queue) = (World::new(), Queue::default());
            let process = world.process();
            let receipt = queue.dispatch(&process).await.unwrap();
            sleep(QUEUE_TIMEOUT).await;
            match answers {
                true => process.faults.answer(failing, "no permission", 1),
                false => process.faults.fail_before(failing, 1_000),
            }
            let again = queue.dispatch(&process).await.unwrap();
            assert_eq!((again.id(), again.is_replay()), (receipt.id(), true), "{failing:?}");
            assert_eq!(queue.runs().len(), 1, "{failing:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_record_cannot_be_read_is_in_doubt() {
    let (world, queue) = (World::new(), Queue::default());
    let process = world.process();
    let receipt = queue.dispatch(&process).await.unwrap();
    for bytes in [&b"\x09another version"[..], &[1; 80], &[]] {
        world.store.plant(&run_key(receipt.id()), bytes, TTL);
        assert_eq!(verdict(&process, &receipt).await, Verdict::Indeterminate);
        assert_eq!(receipt.status().await.unwrap(), RunStatus::Unreadable);
        let again = queue.dispatch(&process).await.unwrap();
        assert_eq!((again.id(), again.is_replay()), (receipt.id(), true));
        assert!(matches!(
            work(&process, receipt.id(), 1).await,
            Ran::NotStarted(RunStatus::Unreadable)
        ));
        assert_eq!(receipt.cancel().await.unwrap(), RunStatus::Unreadable);
    }
}

/// A queue of the user's own knows better than the record: except of a worker that holds its lease, and
/// of a result.
#[tokio::test(start_paused = true)]
async fn a_queue_of_ones_own_says_whether_a_run_can_succeed() {
    struct Says(Verdict);
    impl Liveness for Says {
        async fn verdict(&self, _run: RunId) -> Verdict {
            self.0
        }
    }
    let (world, queue) = (World::new(), Queue::default());
    let (process, worker) = (world.process(), world.process());
    let again = |idem: &Idem, verdict| {
        let dispatch = dispatch(idem).liveness(Says(verdict));
        let queue = queue.clone();
        async move {
            let push = async |run: idem_runtime::Run| {
                queue.push(run.id());
                Ok::<_, Error>(())
            };
            dispatch.enqueue(push).await.unwrap()
        }
    };
    let first = again(&process.idem, Verdict::Live).await;
    sleep(QUEUE_TIMEOUT * 2).await;
    assert_eq!(again(&process.idem, Verdict::Live).await.id(), first.id());
    // Lost by the queue, within its timeout by the record or not.
    let second = again(&process.idem, Verdict::GivenUp).await;
    assert_ne!(second.id(), first.id());
    let late = work(&process, first.id(), 1).await;
    assert!(matches!(late, Ran::NotStarted(RunStatus::Failed { .. })), "{late:?}");
    // Its record says otherwise, and nobody claims to know better.
    for verdict in [Verdict::Ended, Verdict::Gone] {
        assert_eq!(again(&process.idem, verdict).await.id(), second.id());
    }
    let third = again(&process.idem, Verdict::GivenUp).await;
    assert_ne!(third.id(), second.id());
    // A worker that holds its lease is not run over.
    let (ran, ()) = tokio::join!(
        process.idem.attach(third.id()).run(async {
            sleep(LEASE * 3).await;
            Ok::<_, Error>(7_u64)
        }),
        async {
            sleep(LEASE * 2).await;
            assert_eq!(again(&process.idem, Verdict::GivenUp).await.id(), third.id());
        }
    );
    assert!(matches!(ran.unwrap(), Ran::Ended(Ok(7))));
    // Nor is a result.
    assert_eq!(again(&worker.idem, Verdict::GivenUp).await.id(), third.id());
    // Nor is there more to a lapsed one's hold than its queue's word.
    let dead = world.process();
    let fourth = dead.idem.dispatch("other").key("k");
    let body = async { std::future::pending::<Result<u64, Error>>().await };
    let fourth = fourth.spawn(body).await.unwrap();
    while !matches!(fourth.status().await.unwrap(), RunStatus::Running { .. }) {
        sleep(TICK).await;
    }
    dead.faults.away(true);
    sleep(LEASE * 2).await;
    let dispatch = process.idem.dispatch("other").key("k").liveness(Says(Verdict::GivenUp));
    let fifth = dispatch.spawn(async { Ok::<_, Error>(5_u64) }).await.unwrap();
    assert_ne!(fifth.id(), fourth.id());
    assert_eq!(third.result::<u64>().await.unwrap(), 7);
}
