//! What a consumer asks of its server, and in which words.

use std::time::Instant;

use idem_redis::RedisBackend;
use idem_tests::{Aim, Proxy, eventually};
use redis::Value;

use crate::kit::{
    ACKNOWLEDGE, FLOOR, GROUP, IDLE, STREAM, Works, World, behind, builder, start, start_batches,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_costs_a_read_and_a_script() {
    let world = World::start().await;
    let proxy = Proxy::start(&world.server);
    let backend = behind(&proxy, 60 * IDLE).await;
    let works = Works::free();
    let running = start_batches(builder(&backend).retry_on_idle(600 * IDLE).batch(500), &works);
    world.add();
    running.log.hears("done").await;
    let acknowledgements = proxy.answered(&Aim::script(ACKNOWLEDGE));
    world.add_many(500);
    eventually("all are done", || running.consumer.stats().done == 501).await;
    assert_eq!(running.log.of("read").iter().filter(|read| read.text == "500").count(), 1);
    assert_eq!(proxy.answered(&Aim::script(ACKNOWLEDGE)), acknowledgements + 1);
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_consumer_costs_two_reads_a_second_and_two_looks_each_quarter_of_the_idle_time() {
    let world = World::start().await;
    let proxy = Proxy::start(&world.server);
    let backend = RedisBackend::connect(&proxy.url()).await.unwrap();
    let running = start(builder(&backend).retry_on_idle(4 * IDLE), &Works::free());
    running.log.hears("created").await;
    let count = || ["XREADGROUP", "XPENDING"].map(|name| proxy.answered(&Aim::command(name)));
    let floors = || proxy.answered(&Aim::script(FLOOR));
    let (since, before, floors_before) = (Instant::now(), count(), floors());
    tokio::time::sleep(4 * IDLE).await;
    let (after, floors_after) = (count(), floors());
    let seconds = since.elapsed().as_secs_f64();
    let [reads, looks] = [0, 1].map(|nth| (after[nth] - before[nth]) as f64);
    // No more than that; on a slow machine less. A look ends a read early.
    assert!(reads > 0.0 && reads <= 3.0 * seconds + 2.0, "{reads} in {seconds}");
    assert!(looks > 0.0 && looks <= seconds + 2.0, "{looks} in {seconds}");
    assert!((floors_after - floors_before) as f64 <= seconds + 2.0);
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_speaks_resp3_as_well() {
    let world = World::start().await;
    let backend =
        RedisBackend::connect(&format!("{}?protocol=resp3", world.server.url())).await.unwrap();
    let works = Works::gated();
    let builder = builder(&backend).dead_letter("dead").max_deliveries(3);
    let running = start(builder, &works);
    let id = world.add_with(&["a", "1", "b", "2"]);
    works.begins(id).await;
    running.log.hears("renewed").await;
    world.steal(id);
    running.log.hears("lease_lost").await;
    works.open();
    // The thief goes idle.
    eventually("it is done", || world.is_done()).await;
    assert_eq!(works.all_begun(), [(id, 1), (id, 3)]);
    running.end().await;
}

/// What died with nothing pending leaves the group; what has something pending, and what has a name that
/// somebody gave it, stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consumers_that_died_with_nothing_pending_are_taken_out() {
    let world = World::start().await;
    world.add();
    let _: Value = world.server.ask(&["XGROUP", "CREATE", STREAM, GROUP, "0"]);
    for consumer in ["idem-dead", "named"] {
        let _: Value = world.server.ask(&["XGROUP", "CREATECONSUMER", STREAM, GROUP, consumer]);
    }
    let read = ["XREADGROUP", "GROUP", GROUP, "idem-busy", "STREAMS", STREAM, ">"];
    let _: Value = world.server.ask(&read);
    tokio::time::sleep(IDLE).await;
    let script = include_str!("../../../idem-redis/scripts/consumer/leave.lua");
    let away = (IDLE / 2).as_millis().to_string();
    let leave = ["EVAL", script, "1", STREAM, GROUP, "", "idem-", &away];
    assert_eq!(world.server.ask::<u64>(&leave), 1);
    assert_eq!(world.consumers(), ["idem-busy", "named"]);
    // Whoever has just come is not gone.
    let _: Value = world.server.ask(&["XGROUP", "CREATECONSUMER", STREAM, GROUP, "idem-new"]);
    assert_eq!(world.server.ask::<u64>(&leave), 0);
}
