//! Shutdowns, and consumers that are dropped.

use std::time::{Duration, Instant};

use idem_redis::consumer::{Backoff, ConsumerError, Fields, Message};
use idem_tests::{Aim, Fault, Proxy, eventually};
use redis::Value;

use crate::kit::{
    GIVE_BACK, GROUP, IDLE, LONG, Log, Running, STREAM, Works, World, behind, builder, start,
};

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

/// Whatever the backoff is, and whether they are delivered for the first time or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_taken_and_not_started_is_given_back_at_once_and_uncounted() {
    let world = World::start().await;
    let works = Works::gated();
    let builder = || {
        let backoff = Backoff::fixed(120 * IDLE);
        world.builder().retry_on_idle(60 * IDLE).renew_every(IDLE / 10).backoff(backoff)
    };
    // The first has been delivered before, to somebody who is gone.
    let again = world.add();
    let _: Value = world.server.ask(&["XGROUP", "CREATE", STREAM, GROUP, "0"]);
    let _: Value =
        world.server.ask(&["XREADGROUP", "GROUP", GROUP, "gone", "STREAMS", STREAM, ">"]);
    let idle = (200 * IDLE).as_millis().to_string();
    let age = ["XCLAIM", STREAM, GROUP, "gone", "0", &again.to_string(), "IDLE", &idle, "JUSTID"];
    let _: Value = world.server.ask(&age);
    let running = start(builder().read_ahead(2), &works);
    let others = [world.add(), world.add()];
    eventually("all are in hand", || running.consumer.stats().in_hand == 3).await;
    eventually("one runs", || works.running() == 1).await;
    let (runs, _) = works.all_begun()[0];
    running.shut_down();
    let given = running.log.hears("given_back").await.ids;
    assert_eq!((given.len(), given.contains(&runs)), (2, false));
    let free = Works::free();
    let since = Instant::now();
    let other = start(builder().concurrency(2), &free);
    for id in &given {
        free.begins(*id).await;
    }
    assert!(since.elapsed() < 5 * IDLE, "{:?}", since.elapsed());
    for (id, deliveries) in free.all_begun() {
        assert_eq!(deliveries, if id == again { 2 } else { 1 }, "{others:?}");
    }
    assert!(given.iter().all(|id| works.began(*id) == 0));
    let stats = running.consumer.stats();
    assert_eq!((stats.given_back, stats.lost), (2, 0));
    works.open();
    running.ends().await.unwrap();
    other.end().await;
}

/// A renewal while they are given back finds them counted anew, which is no loss.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_given_back_is_not_told_to_be_lost() {
    let world = World::start().await;
    let proxy = Proxy::start(&world.server);
    let backend = behind(&proxy, LONG).await;
    let works = Works::gated();
    let running = start(builder(&backend).read_ahead(2), &works);
    works.begins(world.add()).await;
    world.add_many(2);
    eventually("both are read ahead", || running.consumer.stats().in_hand == 3).await;
    // So that the first reply is that of the script.
    let _: Value = world.server.ask(&["SCRIPT", "LOAD", GIVE_BACK]);
    let trap = proxy.on_reply(Aim::script(GIVE_BACK), Fault::Hold);
    running.shut_down();
    trap.strikes().await;
    let renewed = running.log.count("renewed");
    eventually("renewals go on", || running.log.count("renewed") > renewed + 1).await;
    trap.lift();
    running.log.hears("given_back").await;
    works.open();
    let log = running.log.clone();
    running.ends().await.unwrap();
    assert_eq!(log.count("lease_lost"), 0);
}

/// Each thing that is still to be asked of it would take its time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_ends_in_time_though_the_server_is_silent() {
    let world = World::start().await;
    let proxy = Proxy::start(&world.server);
    let backend = behind(&proxy, IDLE / 2).await;
    let works = Works::gated();
    let (log, handles) = (Log::default(), works.clone());
    let builder = builder(&backend).retry_on_idle(60 * IDLE).grace(IDLE);
    let builder = builder.concurrency(40).read_ahead(1_000).max_deliveries(1).dead_letter("dead");
    let consumer = builder.observer(log.observer()).handler(move |message: Message<Fields>| {
        let works = handles.clone();
        async move {
            works.work(std::slice::from_ref(&message)).await;
            Err::<(), _>("no")
        }
    });
    let running = Running::start(consumer, log);
    world.add_many(1_040);
    eventually("all are in hand", || running.consumer.stats().in_hand == 1_040).await;
    eventually("many run", || works.running() == 40).await;
    let _silent = proxy.on_reply(Aim::all(), Fault::Swallow);
    works.open();
    running.log.hears("settle_failed").await;
    let since = Instant::now();
    running.end().await;
    // Grace, two seconds, and what was under way.
    assert!(since.elapsed() < 10 * IDLE, "{:?}", since.elapsed());
}

/// A long list of what is to be moved to the dead letters holds up neither reading nor a shutdown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_backlog_holds_up_neither_reading_nor_a_shutdown() {
    for (is_dead, backoff) in [(true, Backoff::default()), (false, Backoff::fixed(3600 * IDLE))] {
        let world = World::start().await;
        world.add_many(50_000);
        let _: Value = world.server.ask(&["XGROUP", "CREATE", STREAM, GROUP, "0"]);
        let all = ["COUNT", "50000", "STREAMS", STREAM, ">"];
        let read = [&["XREADGROUP", "GROUP", GROUP, "gone"][..], &all].concat();
        let _: Value = world.server.ask(&read);
        tokio::time::sleep(IDLE).await;
        let works = Works::free();
        let most = if is_dead { 1 } else { 9 };
        let builder = world.builder().max_deliveries(most).dead_letter("dead").backoff(backoff);
        let running = start(builder, &works);
        let since = Instant::now();
        let new = world.add();
        works.begins(new).await;
        assert!(since.elapsed() < 3 * IDLE, "{:?}", since.elapsed());
        let since = Instant::now();
        running.end().await;
        assert!(since.elapsed() < 3 * IDLE, "{:?}", since.elapsed());
    }
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

/// What is in hand is one run's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_runs_once_at_a_time() {
    let world = World::start().await;
    let running = start(world.builder(), &Works::free());
    running.log.hears("created").await;
    let again = running.consumer.clone().run(std::future::pending()).await.unwrap_err();
    assert!(matches!(again, ConsumerError::Running(_)), "{again}");
    let consumer = running.consumer.clone();
    running.end().await;
    consumer.run(std::future::ready(())).await.unwrap();
}
