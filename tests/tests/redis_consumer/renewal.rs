//! Renewal: what it keeps, and the fault without it.

use std::time::{Duration, Instant};

use idem_tests::eventually;

use crate::kit::{IDLE, Works, World, start};

/// Looks at a pending message for so long: how idle it gets at most.
async fn idlest(world: &World, id: idem_redis::consumer::MessageId, whole: Duration) -> Duration {
    let (from, mut idlest) = (Instant::now(), Duration::ZERO);
    while from.elapsed() < whole {
        let row = world.row(id).expect("it is pending");
        assert_eq!(row.deliveries, 1, "{row:?}");
        idlest = idlest.max(row.idle);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    idlest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_handler_runs_once() {
    let world = World::start().await;
    let works = Works::gated();
    let [one, other] = [1, 2].map(|_| start(world.builder(), &works));
    let id = world.add();
    works.begins(id).await;
    let owner = world.row(id).unwrap().consumer;
    assert!(idlest(&world, id, 3 * IDLE).await < IDLE);
    assert_eq!(world.row(id).unwrap().consumer, owner);
    works.open();
    eventually("it is done", || world.is_done()).await;
    assert_eq!((works.began(id), works.ended()), (1, vec![id]));
    let done = [&one, &other].map(|running| running.consumer.stats().done);
    assert_eq!(done.iter().sum::<u64>(), 1);
    one.end().await;
    other.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_renewal_a_slow_handler_runs_twice_at_once() {
    let world = World::start().await;
    let works = Works::gated();
    let running = [1, 2].map(|_| start(world.builder().without_renewal(), &works));
    world.add();
    eventually("it runs twice at once", || works.most_at_once() == 2).await;
    works.open();
    eventually("it is done", || world.is_done()).await;
    for running in running {
        running.end().await;
    }
}
