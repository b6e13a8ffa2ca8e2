//! Options that contradict each other, and users and streams that will not do: refused before anything
//! is created.

use std::time::Duration;

use idem_redis::RedisBackend;
use idem_redis::consumer::{
    Backoff, Batch, Consumer, ConsumerBuilder, ConsumerError, Fields, Message,
};
use idem_tests::RedisServer;

use crate::kit::{GROUP, IDLE, STREAM, World, builder};

async fn refusal(consumer: Consumer) -> String {
    consumer.run(std::future::pending()).await.unwrap_err().to_string()
}

async fn of_single(builder: ConsumerBuilder) -> String {
    refusal(builder.handler(async |_: Message<Fields>| Ok::<_, String>(()))).await
}

async fn of_batches(builder: ConsumerBuilder) -> String {
    refusal(builder.handler(async |_: Batch<Fields>| Ok::<_, String>(()))).await
}

#[tokio::test]
async fn options_that_contradict_each_other_are_refused_before_anything_is_created() {
    let world = World::start().await;
    let new = || builder(&world.backend);
    let second = Duration::from_secs(1);
    for (builder, fault) in [
        (new().retry_on_idle(Duration::from_millis(99)), "retry_on_idle is at least 100 ms"),
        (new().retry_on_idle(25 * 3600 * second), "at most 24 h"),
        (
            new().renew_every(IDLE),
            "renew_every (1s) is at least 1 ms and shorter than retry_on_idle (1s)",
        ),
        (new().renew_every(Duration::ZERO), "renew_every (0ns) is at least 1 ms"),
        (new().renew_every(IDLE / 2).renewal(false), "renew_every contradicts renewal(false)"),
        (new().renewal(false).cancel_on_lease_lost(false), "cancel_on_lease_lost contradicts"),
        (
            new().renewal(false).max_processing(IDLE),
            "max_processing (1s) is shorter than retry_on_idle",
        ),
        (new().max_processing(Duration::ZERO), "max_processing is more than zero"),
        (new().concurrency(0), "concurrency is at least 1"),
        (new().concurrency(100_001), "at most 100000"),
        (new().read_ahead(100_001), "read_ahead is at most 100000"),
        (new().batch(10), "batch is for a handler that takes a `Batch`"),
        (new().max_deliveries(3), "max_deliveries needs dead_letter"),
        (new().max_deliveries(0).dead_letter("dead"), "max_deliveries is at least 1"),
        (new().dead_letter(STREAM), "another stream than the one that is read"),
        (new().dead_letter(""), "the name of the dead-letter stream is empty"),
        (new().consumer(""), "the name of the consumer is empty"),
        (new().consumer("idem-1"), "begin with `idem-`"),
        (new().backoff(Backoff::exponential(2 * second, second)), "more than its most"),
        (new().backoff(Backoff::fixed(25 * 3600 * second)), "a backoff is at most 24 h"),
        (
            new().backoff(Backoff::exponential(IDLE / 10, IDLE)),
            "a backoff of 1s at most does nothing",
        ),
        (
            Consumer::builder(&world.backend, "", ""),
            "the name of the stream is empty; the name of the group is empty",
        ),
    ] {
        let told = of_single(builder).await;
        assert!(told.contains(fault), "{told}");
        assert!(told.starts_with("the consumer's options are not usable: "), "{told}");
    }
    for (builder, fault) in [
        (new(), "say with batch(…) how many messages"),
        (new().batch(0), "a batch holds at least one message"),
        (new().batch(1_001), "a batch holds at most 1000 messages"),
        (new().batch(10).read_ahead(1), "read_ahead contradicts batch"),
    ] {
        let told = of_batches(builder).await;
        assert!(told.contains(fault), "{told}");
    }
    let keys: Vec<String> = world.server.ask(&["KEYS", "*"]);
    assert_eq!(keys, Vec::<String>::new());
}

/// All that is wrong is told at once.
#[tokio::test]
async fn all_contradictions_are_told_together() {
    let world = World::start().await;
    let told = of_single(builder(&world.backend).concurrency(0).max_deliveries(3)).await;
    assert!(told.contains("concurrency") && told.contains("dead_letter"), "{told}");
}

#[tokio::test]
async fn a_key_that_is_no_stream_is_refused_and_left_alone() {
    let world = World::start().await;
    let _: String = world.server.ask(&["SET", STREAM, "text"]);
    let told = of_single(builder(&world.backend)).await;
    assert_eq!(
        told,
        "the stream `orders` cannot be consumed: the key `orders` holds a string, which is no stream"
    );
    let _: u64 = world.server.ask(&["DEL", STREAM]);
    let _: u64 = world.server.ask(&["SADD", "dead", "x"]);
    let told = of_single(builder(&world.backend).dead_letter("dead")).await;
    assert!(told.ends_with("the key `dead` holds a set, which is no stream"), "{told}");
    let keys: Vec<String> = world.server.ask(&["KEYS", "*"]);
    assert_eq!(keys, ["dead"]);
}

/// A user with these rights, and none on keys but of streams.
async fn user(server: &RedisServer, rights: &[&str]) -> RedisBackend {
    let base = ["ACL", "SETUSER", "worker", "reset", "on", ">secret", "~orders*", "~shop:*"];
    let _: String = server.ask(&[&base[..], rights].concat());
    RedisBackend::connect(&server.url_of("worker", "secret")).await.unwrap()
}

#[tokio::test]
async fn rights_that_are_missing_are_named_before_anything_is_created() {
    let world = World::start().await;
    let all = ["+@all", "-xclaim", "-xack"];
    let backend = user(&world.server, &all).await;
    let told = of_single(builder(&backend)).await;
    assert_eq!(
        told,
        "the stream `orders` cannot be consumed: the user has no right to XCLAIM, XACK: grant it"
    );
    let backend = user(&world.server, &["+@all", "-xadd", "-xgroup|create"]).await;
    let told = of_single(builder(&backend).dead_letter("orders.dead")).await;
    assert!(told.contains("has no right to XGROUP CREATE, XADD"), "{told}");
    // A key that the user has no right to at all.
    let told = of_single(builder(&backend).dead_letter("elsewhere")).await;
    assert!(told.contains("NOPERM"), "{told}");
    let keys: Vec<String> = world.server.ask(&["KEYS", "*"]);
    assert_eq!(keys, Vec::<String>::new());
}

/// The rights that `docs/consumer.md` asks for are enough.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rights_that_are_asked_for_will_do() {
    let page = include_str!("../../../docs/consumer.md");
    let (_, rights) = page.split_once("ACL SETUSER worker on >… ").expect("the command");
    let (rights, _) = rights.split_once("```").expect("its end");
    let rights: Vec<_> = rights.split_whitespace().collect();
    let world = World::start().await;
    let _: String = world
        .server
        .ask(&[&["ACL", "SETUSER", "worker", "reset", "on", ">secret"][..], &rights].concat());
    let backend = RedisBackend::connect(&world.server.url_of("worker", "secret")).await.unwrap();
    let works = crate::kit::Works::free();
    let builder =
        builder(&backend).dead_letter("orders.dead").max_deliveries(2).delete_on_ack(true);
    let running = crate::kit::start(builder, &works);
    world.add();
    running.log.hears("done").await;
    running.end().await;
    assert_eq!(world.consumers(), Vec::<String>::new());
    let log: Vec<redis::Value> = world.server.ask(&["ACL", "LOG"]);
    assert!(log.is_empty(), "{log:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_runs_with_other_lease_options_is_refused() {
    let world = World::start().await;
    let works = crate::kit::Works::free();
    let first = crate::kit::start(builder(&world.backend).consumer("one"), &works);
    let id = world.add();
    works.begins(id).await;
    let other = || builder(&world.backend).consumer("one");
    // Another connection to the same server makes no other consumer of it.
    let backend = RedisBackend::connect(&world.server.url()).await.unwrap();
    for other in [
        other().retry_on_idle(2 * IDLE),
        other().renew_every(IDLE / 2),
        other().renewal(false),
        other().cancel_on_lease_lost(false),
        builder(&backend).consumer("one").retry_on_idle(2 * IDLE),
    ] {
        let consumer = other.handler(async |_: Message<Fields>| Ok::<_, String>(()));
        let error = consumer.run(std::future::pending()).await.unwrap_err();
        assert!(matches!(error, ConsumerError::Conflict { .. }), "{error}");
        assert!(error.to_string().contains("the consumer `one` of the group `billing`"), "{error}");
    }
    // With the same it may, and so may another name, another group, another database.
    let again = crate::kit::start(other().concurrency(2), &works);
    let elsewhere = RedisBackend::connect(&format!("{}/1", world.server.url())).await.unwrap();
    let others = [
        other().consumer("two").retry_on_idle(2 * IDLE),
        Consumer::builder(&world.backend, STREAM, "shipping").consumer("one"),
        builder(&elsewhere).consumer("one").retry_on_idle(2 * IDLE),
    ];
    let others = others.map(|other| crate::kit::start(other, &works));
    tokio::time::sleep(IDLE / 2).await;
    assert!(!again.has_ended() && others.iter().all(|other| !other.has_ended()));
    for other in others {
        other.end().await;
    }
    again.end().await;
    first.end().await;
    // Nobody is left to contradict.
    let changed = crate::kit::start(other().retry_on_idle(2 * IDLE), &works);
    tokio::time::sleep(IDLE / 2).await;
    changed.end().await;
    assert_eq!(world.consumers().len(), 2, "named ones stay: {GROUP}");
}
