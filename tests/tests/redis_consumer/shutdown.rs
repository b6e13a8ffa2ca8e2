//! Shutdowns, and consumers that are dropped.

use std::time::{Duration, Instant};

use idem_redis::consumer::{Fields, Message};
use idem_tests::eventually;

use crate::kit::{IDLE, Log, Running, Works, World, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_takes_nothing_more_and_lets_handlers_finish_under_their_leases() {
    let world = World::start().await;
    let works = Works::gated();
    let running = start(world.builder().concurrency(2), &works);
    let held = world.add();
    works.begins(held).await;
    running.shut_down();
    // A read that was under way is over by then.
    tokio::time::sleep(Duration::from_millis(600)).await;
    let new = world.add();
    tokio::time::sleep(2 * IDLE).await;
    assert!(world.row(held).unwrap().idle < IDLE && world.row(new).is_none());
    works.open();
    running.ends().await.unwrap();
    assert_eq!((works.ended(), world.is_done()), (vec![held], true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_grace_period_handlers_are_cancelled() {
    let world = World::start().await;
    let works = Works::gated();
    let running = start(world.builder().retry_on_idle(60 * IDLE).grace(IDLE), &works);
    let held = world.add();
    works.begins(held).await;
    running.shut_down();
    let since = Instant::now();
    let log = running.log.clone();
    running.ends().await.unwrap();
    assert!(since.elapsed() >= IDLE && since.elapsed() < 3 * IDLE, "{:?}", since.elapsed());
    assert_eq!((log.of("cancelled")[0].ids.clone(), works.running()), (vec![held], 0));
    assert_eq!(world.row(held).unwrap().deliveries, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_taken_and_not_started_is_given_back_at_once_and_uncounted() {
    let world = World::start().await;
    let works = Works::gated();
    let slow = 60 * IDLE;
    let running = start(world.builder().retry_on_idle(slow).read_ahead(2), &works);
    works.begins(world.add()).await;
    let waits = [world.add(), world.add()];
    eventually("both are read ahead", || running.consumer.stats().in_hand == 3).await;
    running.shut_down();
    assert_eq!(running.log.hears("given_back").await.ids, waits);
    let free = Works::free();
    let since = Instant::now();
    let other = start(world.builder().retry_on_idle(slow).concurrency(2), &free);
    for id in waits {
        free.begins(id).await;
    }
    assert!(since.elapsed() < 5 * IDLE, "{:?}", since.elapsed());
    assert!(free.all_begun().iter().all(|(_, deliveries)| *deliveries == 1));
    assert!(waits.iter().all(|id| works.began(*id) == 0));
    works.open();
    running.ends().await.unwrap();
    other.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_consumer_ends_within_a_second() {
    let world = World::start().await;
    let running = start(world.builder().retry_on_idle(60 * IDLE), &Works::free());
    running.log.hears("created").await;
    let since = Instant::now();
    running.end().await;
    assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_ends_though_the_server_is_away() {
    let mut world = World::start().await;
    let works = Works::gated();
    let running = start(world.builder().grace(IDLE), &works);
    works.begins(world.add()).await;
    world.server.kill();
    works.open();
    running.log.hears("settle_failed").await;
    let since = Instant::now();
    running.end().await;
    assert!(since.elapsed() < 10 * IDLE, "{:?}", since.elapsed());
}

/// Its handlers are dropped with it, and its messages go idle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_is_dropped_drops_its_handlers_and_keeps_nothing() {
    let world = World::start().await;
    let works = Works::gated();
    let running = start(world.builder().read_ahead(1), &works);
    let id = world.add();
    works.begins(id).await;
    let waits = world.add();
    eventually("it is read ahead", || world.row(waits).is_some()).await;
    running.drop_it().await;
    eventually("its handler is dropped", || works.running() == 0).await;
    eventually("nothing is renewed", || {
        world.pending().iter().all(|row| row.idle > IDLE) && world.pending().len() == 2
    })
    .await;
    let free = Works::free();
    let other = start(world.builder(), &free);
    for id in [id, waits] {
        free.begins(id).await;
    }
    other.end().await;
}

/// The handler was told to end for another reason, and takes its time: a drop ends it all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drop_while_a_handler_unwinds_is_not_swallowed() {
    let world = World::start().await;
    let works = Works::gated();
    let (log, handles) = (Log::default(), works.clone());
    let builder = world.builder().retry_on_idle(60 * IDLE).renew_every(IDLE / 4);
    let consumer = builder.cancel_on_lease_lost(false).observer(log.observer()).handler(
        move |message: Message<Fields>| {
            let works = handles.clone();
            async move {
                let _running = works.begin(std::slice::from_ref(&message));
                // Unwinds by itself when it hears of the loss, and never comes to an end.
                while !message.is_lost() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                std::future::pending::<Result<(), String>>().await
            }
        },
    );
    let running = Running::start(consumer, log);
    let id = world.add();
    works.begins(id).await;
    world.steal(id);
    running.log.hears("lease_lost").await;
    running.drop_it().await;
    eventually("its handler is dropped", || works.running() == 0).await;
}

/// The same of a shutdown: it waits for the grace period and no longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_while_a_handler_unwinds_is_not_swallowed() {
    let world = World::start().await;
    let works = Works::gated();
    let builder = world.builder().retry_on_idle(60 * IDLE).renew_every(IDLE / 4).grace(IDLE);
    let running = start(builder.cancel_on_lease_lost(false), &works);
    let id = world.add();
    works.begins(id).await;
    world.steal(id);
    let log = running.log.clone();
    log.hears("lease_lost").await;
    running.end().await;
    assert_eq!((works.running(), log.count("cancelled")), (0, 1));
}

/// A thread goes on when its consumer is dropped, and its message is kept until it returns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_handler_keeps_its_message_when_its_consumer_is_dropped() {
    let world = World::start().await;
    let (works, log) = (Works::free(), Log::default());
    let handles = works.clone();
    let (go, goes) = std::sync::mpsc::channel::<()>();
    let goes = std::sync::Mutex::new(goes);
    let consumer = world.builder().observer(log.observer()).blocking_handler(
        move |message: Message<Fields>| {
            let _running = handles.begin(std::slice::from_ref(&message));
            let _ = goes.lock().unwrap().recv();
            Ok::<_, String>(())
        },
    );
    let running = Running::start(consumer, log);
    let id = world.add();
    works.begins(id).await;
    let consumer = running.consumer.clone();
    running.drop_it().await;
    tokio::time::sleep(3 * IDLE).await;
    assert!(world.row(id).unwrap().idle < IDLE);
    drop(go);
    eventually("it is let go", || consumer.stats().in_hand == 0).await;
    eventually("it goes idle", || world.row(id).unwrap().idle > IDLE).await;
    assert_eq!(world.row(id).unwrap().deliveries, 1);
}

/// What a blocking handler did in spite of a shutdown is done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_handler_is_waited_for_past_the_grace_period() {
    let world = World::start().await;
    let log = Log::default();
    let builder = world.builder().grace(IDLE / 10).observer(log.observer());
    let consumer = builder.blocking_handler(|message: Message<Fields>| {
        while !message.token().is_cancelled() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(2 * IDLE);
        Ok::<_, String>(())
    });
    let running = Running::start(consumer, log);
    let id = world.add();
    eventually("it is in hand", || world.row(id).is_some()).await;
    let log = running.log.clone();
    running.end().await;
    assert_eq!((log.of("done")[0].ids.clone(), world.is_done()), (vec![id], true));
}
