//! Consumers on sentinels and on a cluster.

use idem_redis::RedisBackend;
use idem_redis::consumer::{Consumer, ConsumerBuilder, Fields, Message, MessageId};
use idem_tests::{RedisCluster, RedisSentinels, RedisServer, eventually};

use crate::kit::{GROUP, IDLE, Works, start};

/// A stream of a cluster, and its dead letters in the same slot.
const STREAM: &str = "{orders}";
const DEAD: &str = "{orders}.dead";

fn builder(backend: &RedisBackend) -> ConsumerBuilder {
    Consumer::builder(backend, STREAM, GROUP).retry_on_idle(3 * IDLE)
}

fn add(server: &RedisServer) -> MessageId {
    let id: String = server.ask(&["XADD", STREAM, "*", "n", "1"]);
    id.parse().unwrap()
}

fn is_done(server: &RedisServer) -> bool {
    let pending: (u64, redis::Value, redis::Value, redis::Value) =
        server.ask(&["XPENDING", STREAM, GROUP]);
    pending.0 == 0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_cluster_stream_and_dead_letters_share_a_slot_or_are_refused() {
    let cluster = RedisCluster::start();
    let backend = RedisBackend::connect(&cluster.url()).await.unwrap();
    let handler = async |_: Message<Fields>| Err::<(), _>("no");
    let refused = builder(&backend).dead_letter("orders.dead").handler(handler);
    let told = refused.run(std::future::pending()).await.unwrap_err().to_string();
    assert!(told.contains("`{orders}` and `orders.dead` share a part in braces"), "{told}");
    let master = &cluster.nodes()[cluster.master_of(STREAM)];
    assert_eq!(master.ask::<u64>(&["EXISTS", STREAM]), 0);
    let log = crate::kit::Log::default();
    let consumer = builder(&backend)
        .dead_letter(DEAD)
        .max_deliveries(1)
        .observer(log.observer())
        .handler(handler);
    let running = crate::kit::Running::start(consumer, log);
    running.log.hears("created").await;
    let id = add(master);
    assert_eq!(running.log.hears("dead").await.ids, [id]);
    assert_eq!(master.ask::<u64>(&["XLEN", DEAD]), 1);
    running.end().await;
}

/// Read and renewed where it is, before and after.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_moves_takes_the_consumer_along() {
    let cluster = RedisCluster::start();
    let backend = RedisBackend::connect(&cluster.url()).await.unwrap();
    let works = Works::gated();
    let running = start(builder(&backend).concurrency(3), &works);
    running.log.hears("created").await;
    let from = cluster.master_of(STREAM);
    let held = add(&cluster.nodes()[from]);
    works.begins(held).await;
    let slot: u16 = cluster.nodes()[from].ask(&["CLUSTER", "KEYSLOT", STREAM]);
    let to = (from + 1) % 3;
    cluster.begin_to_move(slot, to);
    cluster.move_records(slot, to);
    // Neither here nor there in the eyes of some.
    tokio::time::sleep(IDLE / 2).await;
    cluster.end_to_move(slot, to);
    let next = add(&cluster.nodes()[to]);
    works.begins(next).await;
    tokio::time::sleep(4 * IDLE).await;
    assert!(!running.log.has("lease_lost") && works.most_at_once() == 1);
    works.open();
    eventually("all is done", || is_done(&cluster.nodes()[to])).await;
    assert_eq!((works.began(held), works.began(next)), (1, 1));
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_of_a_cluster_that_is_lost_is_followed_by_its_replica() {
    let mut cluster = RedisCluster::start();
    let backend = RedisBackend::connect(&cluster.url()).await.unwrap();
    let works = Works::free();
    let running = start(builder(&backend), &works);
    running.log.hears("created").await;
    let master = cluster.master_of(STREAM);
    works.begins(add(&cluster.nodes()[master])).await;
    eventually("it is done", || is_done(&cluster.nodes()[master])).await;
    cluster.wait_for_replicas();
    cluster.kill(master);
    cluster.wait_for_failover(master);
    let id = add(&cluster.nodes()[cluster.master_of(STREAM)]);
    works.begins(id).await;
    eventually("it is done", || is_done(&cluster.nodes()[cluster.master_of(STREAM)])).await;
    running.end().await;
}

/// A message that is in hand over a failover is kept, if the replica has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_of_sentinels_is_followed_and_what_is_in_hand_is_kept() {
    let mut sentinels = RedisSentinels::start();
    let backend = RedisBackend::connect(&sentinels.url()).await.unwrap();
    let works = Works::gated();
    let long = 60 * IDLE;
    let running =
        start(builder(&backend).retry_on_idle(long).renew_every(IDLE / 2).concurrency(2), &works);
    running.log.hears("created").await;
    let held = add(sentinels.master());
    works.begins(held).await;
    running.log.hears("renewed").await;
    sentinels.wait_for_replicas();
    sentinels.kill_master();
    sentinels.wait_for_another_master();
    let renewed = running.consumer.stats().renewed;
    let next = add(sentinels.master());
    works.begins(next).await;
    eventually("it is renewed there", || running.consumer.stats().renewed > renewed + 2).await;
    assert!(!running.log.has("lease_lost"));
    works.open();
    eventually("all is done", || is_done(sentinels.master())).await;
    assert_eq!((works.began(held), works.most_at_once()), (1, 1));
    running.end().await;
}
