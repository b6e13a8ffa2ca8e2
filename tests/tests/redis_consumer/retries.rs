//! What happens to messages whose handler failed, took too long, or died.

use std::time::{Duration, Instant};

use idem_redis::RedisBackend;
use idem_redis::consumer::{Backoff, ConsumerBuilder, Failure, Fields, Message};
use idem_tests::{Aim, Fault, Proxy, eventually};
use redis::Value;

use crate::kit::{
    BURY, CLAIM, GROUP, IDLE, Log, Running, STREAM, Works, World, behind, builder, start,
};

/// A consumer whose handler fails before this delivery of each message.
fn fail_until(builder: ConsumerBuilder, works: &Works, deliveries: u64) -> Running {
    let (log, works) = (Log::default(), works.clone());
    let consumer = builder.observer(log.observer()).handler(move |message: Message<Fields>| {
        let works = works.clone();
        async move {
            let _running = works.begin(std::slice::from_ref(&message));
            if message.deliveries() < deliveries {
                return Err(format!("no at delivery {}", message.deliveries()));
            }
            works.end(message.id());
            Ok(())
        }
    });
    Running::start(consumer, log)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_whose_handler_failed_is_not_renewed_and_tried_again_when_it_was_idle() {
    let world = World::start().await;
    let works = Works::free();
    let running = fail_until(world.builder(), &works, 2);
    let id = world.add();
    let failed = running.log.hears("failed").await;
    assert_eq!((failed.ids, &*failed.text), (vec![id], "no at delivery 1"));
    let since = Instant::now();
    assert_eq!(running.consumer.stats().in_hand, 0);
    works.begins(id).await;
    eventually("it is tried again", || works.began(id) == 2).await;
    assert!(since.elapsed() > IDLE * 9 / 10, "{:?}", since.elapsed());
    assert!(since.elapsed() < 3 * IDLE, "{:?}", since.elapsed());
    running.log.hears("done").await;
    let stats = running.consumer.stats();
    assert_eq!((stats.failed, stats.reclaimed, stats.done), (1, 1, 1));
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_is_a_failure() {
    let world = World::start().await;
    let log = Log::default();
    let consumer = world.builder().observer(log.observer()).handler(
        async |message: Message<Fields>| -> Result<(), String> {
            assert!(message.deliveries() > 1, "a bug in the handler");
            Ok(())
        },
    );
    let running = Running::start(consumer, log);
    world.add();
    let failed = running.log.hears("failed").await;
    assert_eq!(failed.text, "its handler panicked: a bug in the handler");
    eventually("it is done", || running.log.has("done")).await;
    running.end().await;
}

/// It rests for its backoff where that is longer, and holds no run meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_failed_rests_for_its_backoff_without_a_run_of_its_own() {
    let world = World::start().await;
    let works = Works::free();
    let backoff = Backoff::exponential(3 * IDLE, 60 * IDLE);
    let running = fail_until(world.builder().backoff(backoff), &works, 2);
    let failing = world.add_with(&["n", "fails"]);
    running.log.hears("failed").await;
    let since = Instant::now();
    // The only run is free for others, also if they fail.
    let next = world.add();
    works.begins(next).await;
    assert!(since.elapsed() < IDLE);
    eventually("it is tried again", || works.began(failing) == 2).await;
    let rested = since.elapsed();
    assert!(rested > 3 * IDLE * 9 / 10 && rested < 5 * IDLE, "{rested:?}");
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_its_last_delivery_a_message_is_among_the_dead() {
    let world = World::start().await;
    let works = Works::free();
    let builder = world.builder().max_deliveries(2).dead_letter("orders.dead");
    let running = fail_until(builder, &works, u64::MAX);
    let id = world.add_with(&["n", "17", "note", "x"]);
    let told = running.log.hears("dead").await;
    assert_eq!((told.ids, &*told.text), (vec![id], "no at delivery 2"));
    assert_eq!(works.all_begun(), [(id, 1), (id, 2)]);
    let dead = world.entries("orders.dead");
    assert_eq!(dead.len(), 1);
    let id = id.to_string();
    let fields = [
        "idem.stream",
        STREAM,
        "idem.id",
        &id,
        "idem.group",
        GROUP,
        "idem.deliveries",
        "2",
        "idem.error",
        "no at delivery 2",
        "n",
        "17",
        "note",
        "x",
    ];
    assert_eq!(dead[0].1, fields);
    assert_eq!((world.is_done(), world.length()), (true, 0));
    assert_eq!(running.consumer.stats().dead, 1);
    running.end().await;
}

/// The server counts: also a delivery that nobody came back from.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_was_delivered_too_often_to_others_is_among_the_dead_unread() {
    let world = World::start().await;
    let id = world.add();
    let _: Value = world.server.ask(&["XGROUP", "CREATE", STREAM, GROUP, "0"]);
    let _: Value =
        world.server.ask(&["XREADGROUP", "GROUP", GROUP, "dies", "STREAMS", STREAM, ">"]);
    let _: Value = world.server.ask(&["XCLAIM", STREAM, GROUP, "dies too", "0", &id.to_string()]);
    let works = Works::free();
    let builder = world.builder().max_deliveries(2).dead_letter("orders.dead");
    let running = start(builder, &works);
    running.log.hears("dead").await;
    assert_eq!(works.began(id), 0);
    let dead = world.entries("orders.dead");
    assert!(dead[0].1.contains(&"2".to_owned()), "{dead:?}");
    assert_eq!((dead.len(), world.length()), (1, 0));
    running.end().await;
}

/// Another group may not have read it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_message_stays_in_the_stream_for_other_groups() {
    let world = World::start().await;
    let id = world.add();
    let _: Value = world.server.ask(&["XGROUP", "CREATE", STREAM, "shipping", "0"]);
    let builder = world.builder().max_deliveries(1).dead_letter("orders.dead");
    let running = fail_until(builder, &Works::free(), u64::MAX);
    assert_eq!(running.log.hears("dead").await.ids, [id]);
    assert_eq!((world.is_done(), world.length()), (true, 1));
    running.end().await;
}

/// The reply to the move got lost: it is moved once all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_never_twice_among_the_dead() {
    for retry_on_idle in [IDLE, 60 * IDLE] {
        let world = World::start().await;
        let proxy = Proxy::start(&world.server);
        let backend = behind(&proxy, IDLE / 2).await;
        let builder = builder(&backend).retry_on_idle(retry_on_idle).max_deliveries(1);
        let running = fail_until(builder.dead_letter("orders.dead"), &Works::free(), u64::MAX);
        world.add();
        running.log.hears("dead").await;
        let trap = proxy.on_reply(Aim::script(BURY).nth(1), Fault::Hold);
        let second = world.add();
        trap.strikes().await;
        assert_eq!(world.entries("orders.dead").len(), 2, "it was carried out");
        eventually("it is told", || running.log.count("dead") == 2).await;
        assert_eq!(running.log.of("dead")[1].ids, [second]);
        proxy.heal();
        let log = running.log.clone();
        running.end().await;
        assert_eq!((world.entries("orders.dead").len(), log.count("lease_lost")), (2, 0));
    }
}

/// Somebody else has it by now: it is not moved, and theirs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_anothers_is_not_moved_to_the_dead() {
    let world = World::start().await;
    let works = Works::gated();
    let (log, handles) = (Log::default(), works.clone());
    let builder = world.builder().retry_on_idle(60 * IDLE).max_deliveries(1).concurrency(2);
    let consumer = builder.dead_letter("orders.dead").observer(log.observer()).handler(
        move |message: Message<Fields>| {
            let works = handles.clone();
            async move {
                works.work(std::slice::from_ref(&message)).await;
                Err::<(), _>("no")
            }
        },
    );
    let running = Running::start(consumer, log);
    let (id, uncounted) = (world.add(), world.add());
    works.begins(id).await;
    works.begins(uncounted).await;
    world.steal(id);
    let take = ["XCLAIM", STREAM, GROUP, "thief", "0", &uncounted.to_string(), "JUSTID"];
    let _: Value = world.server.ask(&take);
    works.open();
    eventually("both are lost", || running.log.count("lease_lost") == 2).await;
    running.end().await;
    assert_eq!(world.entries("orders.dead"), []);
    assert!(world.pending().iter().all(|row| row.consumer == "thief"));
}

/// Claims are refused by the server for what was renewed a moment before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_renewed_before_it_is_claimed_is_not_taken_over() {
    let world = World::start().await;
    let id = world.add();
    let _: Value = world.server.ask(&["XGROUP", "CREATE", STREAM, GROUP, "0"]);
    let _: Value =
        world.server.ask(&["XREADGROUP", "GROUP", GROUP, "alive", "STREAMS", STREAM, ">"]);
    let proxy = Proxy::start(&world.server);
    let backend = behind(&proxy, 60 * IDLE).await;
    let trap = proxy.on_request(Aim::script(CLAIM), Fault::Hold);
    let works = Works::gated();
    let running = start(builder(&backend), &works);
    trap.strikes().await;
    let renew = ["XCLAIM", STREAM, GROUP, "alive", "0", &id.to_string(), "JUSTID"];
    let _: Value = world.server.ask(&renew);
    trap.lift();
    let claims = Aim::script(CLAIM);
    eventually("the claim is answered", || proxy.answered(&claims) > 0).await;
    assert_eq!(world.row(id).unwrap().consumer, "alive");
    // Without a renewal it is.
    works.begins(id).await;
    assert_eq!(world.row(id).unwrap().consumer, running.consumer.name());
    works.open();
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_messages_of_a_consumer_that_died_page_through() {
    const ALL: usize = 10_000;
    let world = World::start().await;
    world.add_many(ALL);
    let _: Value = world.server.ask(&["XGROUP", "CREATE", STREAM, GROUP, "0"]);
    let all = ALL.to_string();
    let read = ["XREADGROUP", "GROUP", GROUP, "dies", "COUNT", &all, "STREAMS", STREAM, ">"];
    let _: Value = world.server.ask(&read);
    let works = Works::free();
    let since = Instant::now();
    let running = start(world.builder().concurrency(100), &works);
    eventually("all are done", || running.consumer.stats().done == ALL as u64).await;
    let stats = running.consumer.stats();
    assert_eq!((stats.reclaimed, stats.done, stats.read), (ALL as u64, ALL as u64, 0));
    // Not so many as there is room for at each look.
    assert!(since.elapsed() < 20 * IDLE, "{:?}", since.elapsed());
    assert!(works.all_begun().iter().all(|(_, deliveries)| *deliveries == 2));
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_messages_are_taken_while_idle_ones_are() {
    let world = World::start().await;
    world.add_many(1_000);
    let _: Value = world.server.ask(&["XGROUP", "CREATE", STREAM, GROUP, "0"]);
    let read = ["XREADGROUP", "GROUP", GROUP, "dies", "COUNT", "1000", "STREAMS", STREAM, ">"];
    let _: Value = world.server.ask(&read);
    tokio::time::sleep(IDLE).await;
    world.add_many(1_000);
    let works = Works::free();
    let running = start(world.builder(), &works);
    eventually("all are done", || running.consumer.stats().done == 2_000).await;
    let begun = works.all_begun();
    let half: Vec<_> = begun[..1_000].iter().filter(|(_, deliveries)| *deliveries == 1).collect();
    assert!((300..=700).contains(&half.len()), "{}", half.len());
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_async_handler_that_takes_too_long_is_dropped_and_the_delivery_counts() {
    let world = World::start().await;
    let works = Works::gated();
    let running = start(world.builder().max_processing(IDLE / 2), &works);
    let id = world.add();
    let told = running.log.hears("too_long").await;
    assert_eq!((told.ids, works.running()), (vec![id], 0));
    assert_eq!(running.consumer.stats().failed, 1);
    eventually("it is tried again", || works.began(id) == 2).await;
    works.open();
    eventually("it is done", || world.is_done()).await;
    assert_eq!(works.all_begun(), [(id, 1), (id, 2)]);
    assert_eq!(works.ended(), [id]);
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_takes_too_long_at_its_last_delivery_is_among_the_dead() {
    let world = World::start().await;
    let works = Works::gated();
    let builder = world.builder().max_processing(IDLE / 2).max_deliveries(1);
    let running = start(builder.dead_letter("orders.dead"), &works);
    let id = world.add();
    let told = running.log.hears("dead").await;
    assert_eq!((told.ids, &*told.text), (vec![id], "its handler ran past max_processing"));
    running.end().await;
}

/// Nobody can stop a thread: its message is kept until it returns, and then its result is dropped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_handler_that_takes_too_long_keeps_its_message_until_it_returns() {
    let world = World::start().await;
    let (works, log) = (Works::free(), Log::default());
    let handles = works.clone();
    let builder = world.builder().max_processing(IDLE / 2).observer(log.observer());
    let consumer = builder.blocking_handler(move |message: Message<Fields>| {
        let _running = handles.begin(std::slice::from_ref(&message));
        if message.deliveries() == 1 {
            let since = Instant::now();
            while !message.token().is_cancelled() {
                assert!(since.elapsed() < 60 * IDLE, "nobody tells it");
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(3 * IDLE);
        }
        handles.end(message.id());
        Ok::<_, String>(())
    });
    let running = Running::start(consumer, log);
    let id = world.add();
    works.begins(id).await;
    let other = start(world.builder(), &works);
    tokio::time::sleep(2 * IDLE).await;
    assert!(world.row(id).unwrap().idle < IDLE);
    assert!(!running.log.has("too_long"));
    running.log.hears("too_long").await;
    assert_eq!((works.ended(), running.consumer.stats().done), (vec![id], 0));
    eventually("it is tried again", || works.began(id) == 2).await;
    eventually("it is done", || world.is_done()).await;
    assert_eq!(works.most_at_once(), 1);
    running.end().await;
    other.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_done_is_deleted_where_that_is_asked_for() {
    for deletes in [true, false] {
        let world = World::start().await;
        let running = start(world.builder().delete_on_ack(deletes), &Works::free());
        world.add();
        running.log.hears("done").await;
        assert_eq!(world.length(), usize::from(!deletes));
        running.end().await;
    }
}

/// A reply that is too large for its time is lost, and each message of it has a delivery less. Less is
/// asked for then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_are_too_many_for_one_reply_are_asked_for_in_smaller_ones() {
    let world = World::start().await;
    world.add_many(100);
    let proxy = Proxy::start(&world.server);
    let backend = RedisBackend::connect(&proxy.url()).await.unwrap();
    let works = Works::free();
    let reads = |count: &str| Aim::command("XREADGROUP").about(count);
    let too_many = ["50", "25"].map(|count| proxy.on_reply(reads(count), Fault::Cut(10)));
    let running = start(builder(&backend).concurrency(50), &works);
    running.log.hears("read").await;
    assert!(too_many.iter().all(|trap| trap.struck() == 1));
    assert!(proxy.answered(&reads("12")) > 0);
    eventually("all are done", || running.consumer.stats().done == 100).await;
    running.end().await;
}

/// A handler knows that it is of no use to try again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_that_is_final_goes_to_the_dead_at_once() {
    let world = World::start().await;
    let log = Log::default();
    let builder = world.builder().dead_letter("orders.dead").observer(log.observer());
    let consumer = builder.handler(async |message: Message<Fields>| {
        let number = message.text("n").unwrap_or_default();
        let number: u8 = number.parse().map_err(Failure::dead)?;
        if number == 0 && message.deliveries() == 1 {
            Err("not now")?;
        }
        Ok::<_, Failure>(())
    });
    let running = Running::start(consumer, log);
    let (final_, passing) = (world.add_with(&["n", "x"]), world.add_with(&["n", "0"]));
    let told = running.log.hears("dead").await;
    assert_eq!((told.ids, &*told.text), (vec![final_], "invalid digit found in string"));
    assert_eq!(running.log.hears("done").await.ids, [passing]);
    assert_eq!(running.log.count("dead"), 1);
    running.end().await;
}

/// What cannot be read is no reason to take ever more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_to_be_settled_bounds_what_is_taken() {
    #[derive(Debug, serde::Deserialize)]
    struct Other {
        #[allow(dead_code)]
        other: String,
    }
    let world = World::start().await;
    world.add_many(5_000);
    let proxy = Proxy::start(&world.server);
    let backend = behind(&proxy, 60 * IDLE).await;
    let log = Log::default();
    let builder = builder(&backend).concurrency(8).dead_letter("dead").observer(log.observer());
    let consumer = builder.handler(async |_: Message<Other>| Ok::<_, String>(()));
    let trap = proxy.on_reply(Aim::script(BURY), Fault::Hold);
    let running = Running::start(consumer, log);
    trap.strikes().await;
    tokio::time::sleep(IDLE).await;
    // A page that is under way, a page that waits, and as much as runs.
    let in_hand = running.consumer.stats().in_hand;
    assert!(in_hand <= 100 + 8 + 8, "{in_hand}");
    trap.lift();
    eventually("all are dead", || running.consumer.stats().dead == 5_000).await;
    running.end().await;
}

/// With one thread for such, which another message has.
fn one_thread() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).max_blocking_threads(1).enable_all().build().unwrap()
}

#[test]
fn a_blocking_handler_whose_message_was_lost_before_it_had_a_thread_never_runs() {
    for cancels in [true, false] {
        one_thread().block_on(lost_before_it_has_a_thread(cancels));
    }
}

async fn lost_before_it_has_a_thread(cancels: bool) {
    let world = World::start().await;
    let (works, log) = (Works::free(), Log::default());
    let handles = works.clone();
    let builder = world.builder().retry_on_idle(60 * IDLE).renew_every(IDLE / 4);
    let builder = builder.cancel_on_lease_lost(cancels);
    let (go, goes) = std::sync::mpsc::channel::<()>();
    let goes = std::sync::Mutex::new(goes);
    let consumer = builder.concurrency(2).observer(log.observer()).blocking_handler(
        move |message: Message<Fields>| {
            let _running = handles.begin(std::slice::from_ref(&message));
            let _ = goes.lock().unwrap().recv();
            Ok::<_, String>(())
        },
    );
    let running = Running::start(consumer, log);
    let ids = [world.add(), world.add()];
    eventually("both are in hand", || running.consumer.stats().in_hand == 2).await;
    eventually("one runs", || works.running() == 1).await;
    let waits = ids.into_iter().find(|id| works.began(*id) == 0).unwrap();
    world.steal(waits);
    running.log.hears("lease_lost").await;
    drop(go);
    running.log.hears("done").await;
    running.end().await;
    assert_eq!(works.began(waits), 0);
}

/// The time for it counts from when it has a thread.
#[test]
fn a_blocking_handler_that_waits_for_a_thread_does_not_take_too_long() {
    one_thread().block_on(async {
        let world = World::start().await;
        let log = Log::default();
        let builder = world.builder().max_processing(IDLE).concurrency(4).observer(log.observer());
        let consumer = builder.blocking_handler(|_: Message<Fields>| {
            std::thread::sleep(IDLE / 2);
            Ok::<_, String>(())
        });
        let running = Running::start(consumer, log);
        world.add_many(4);
        eventually("all are done", || running.consumer.stats().done == 4).await;
        assert!(!running.log.has("too_long"));
        running.end().await;
    });
}

/// All of a batch, at its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_takes_too_long_is_dropped_whole() {
    let world = World::start().await;
    let works = Works::gated();
    let ids = [world.add(), world.add()];
    let builder = world.builder().batch(2).max_processing(IDLE / 2);
    let running = crate::kit::start_batches(builder, &works);
    assert_eq!(running.log.hears("too_long").await.ids, ids);
    works.open();
    eventually("they are done", || running.consumer.stats().done == 2).await;
    assert_eq!(works.all_begun()[2..], [(ids[0], 2), (ids[1], 2)]);
    running.end().await;
}

/// Full, the server refuses to take dead letters: they are moved when it takes them again, and
/// everything else goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_wait_for_a_server_that_is_full() {
    let world = World::start().await;
    let works = Works::free();
    let builder = world.builder().concurrency(2).max_deliveries(1).dead_letter("orders.dead");
    let (log, handles) = (Log::default(), works.clone());
    let consumer = builder.observer(log.observer()).handler(move |message: Message<Fields>| {
        let works = handles.clone();
        async move {
            let _running = works.begin(std::slice::from_ref(&message));
            if message.text("n") == Some("1") { Ok(()) } else { Err("no") }
        }
    });
    let (good, bad) = (world.add(), world.add_with(&["n", "2"]));
    let set = |limit: &str| {
        let _: String = world.server.ask(&["CONFIG", "SET", "maxmemory", limit]);
    };
    set("1");
    let running = Running::start(consumer, log);
    assert_eq!(running.log.hears("done").await.ids, [good]);
    let refused = running.log.hears("settle_failed").await;
    assert!(refused.ids == [bad] && refused.text.contains("OOM"), "{refused:?}");
    set("0");
    assert_eq!(running.log.hears("dead").await.ids, [bad]);
    assert_eq!(world.entries("orders.dead").len(), 1);
    running.end().await;
}

/// Found deleted when it is to be claimed, and when it is to be moved.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_were_deleted_while_nobody_had_them_are_let_go() {
    for is_last in [false, true] {
        let world = World::start().await;
        let id = world.add();
        let _: Value = world.server.ask(&["XGROUP", "CREATE", STREAM, GROUP, "0"]);
        let _: Value =
            world.server.ask(&["XREADGROUP", "GROUP", GROUP, "gone", "STREAMS", STREAM, ">"]);
        let _: u64 = world.server.ask(&["XDEL", STREAM, &id.to_string()]);
        let most = if is_last { 1 } else { 5 };
        let works = Works::free();
        let builder = world.builder().max_deliveries(most).dead_letter("orders.dead");
        let running = start(builder, &works);
        assert_eq!(running.log.hears("trimmed").await.ids, [id]);
        assert!(world.is_done() && world.entries("orders.dead").is_empty());
        assert_eq!((works.began(id), running.consumer.stats().trimmed), (0, 1));
        running.end().await;
    }
}
