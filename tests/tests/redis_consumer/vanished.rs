//! Groups, streams and servers that vanish: created again, and reading resumes.

use idem_redis::RedisBackend;
use idem_tests::{Aim, Fault, Proxy, RedisServer, eventually};
use redis::Value;

use crate::kit::{GROUP, IDLE, RENEW, STREAM, Works, World, behind, builder, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_that_vanished_delivers_again_what_was_pending_and_nothing_before_it() {
    let world = World::start().await;
    let (works, slow) = (Works::free(), Works::gated());
    let running = start(world.builder(), &works);
    let done = world.add();
    works.begins(done).await;
    eventually("it is done", || world.is_done()).await;
    running.end().await;
    let running = start(world.builder(), &slow);
    let pending = world.add();
    slow.begins(pending).await;
    // A look at the group after that.
    tokio::time::sleep(IDLE / 2).await;
    let _: u64 = world.server.ask(&["XGROUP", "DESTROY", STREAM, GROUP]);
    assert_eq!(running.log.hears("created").await.text, "false true");
    running.log.hears("lease_lost").await;
    slow.open();
    let new = world.add();
    slow.begins(new).await;
    eventually("all is done", || world.is_done()).await;
    assert_eq!((slow.began(done), slow.began(pending), slow.most_at_once()), (0, 2, 1));
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_vanished_is_created_again_and_read_from_its_beginning() {
    let world = World::start().await;
    let works = Works::free();
    let running = start(world.builder(), &works);
    let first = world.add();
    works.begins(first).await;
    // The new one's ids are smaller than those that were read.
    let small: String = world.server.ask(&["EVAL", ANEW, "1", STREAM]);
    let small = small.parse().unwrap();
    works.begins(small).await;
    eventually("it is done", || world.is_done()).await;
    let _: Value = world.server.ask(&["FLUSHALL"]);
    eventually("it is created", || running.log.of("created").last().unwrap().text == "true true")
        .await;
    eventually("it is there", || !world.consumers_or_none().is_empty()).await;
    let id = world.add();
    works.begins(id).await;
    running.end().await;
}

/// In one step, so that the consumer does not see the stream missing.
const ANEW: &str = "redis.call('DEL', KEYS[1]) return redis.call('XADD', KEYS[1], '7-7', 'n', '1')";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_comes_back_empty_is_read_on() {
    let mut world = World::start().await;
    let works = Works::free();
    let running = start(world.builder(), &works);
    works.begins(world.add()).await;
    world.server.restart();
    eventually("it is created", || running.log.count("created") == 2).await;
    let id = world.add();
    works.begins(id).await;
    eventually("it is done", || world.is_done()).await;
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_comes_back_with_its_file_is_read_on_and_nothing_is_run_twice() {
    let mut world = World::on(RedisServer::start_kept()).await;
    let works = Works::gated();
    let running = start(world.builder().retry_on_idle(5 * IDLE).concurrency(2), &works);
    let held = world.add();
    works.begins(held).await;
    world.server.restart();
    let id = world.add();
    works.begins(id).await;
    works.open();
    eventually("all is done", || world.is_done()).await;
    assert_eq!((works.began(held), running.log.count("created")), (1, 1));
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_opened_again() {
    let world = World::start().await;
    let proxy = Proxy::start(&world.server);
    let backend = RedisBackend::connect(&proxy.url()).await.unwrap();
    let works = Works::gated();
    let running = start(builder(&backend).concurrency(3), &works);
    let held = world.add();
    works.begins(held).await;
    for _ in 0..2 {
        proxy.cut();
        let id = world.add();
        works.begins(id).await;
    }
    proxy.refuse(true);
    proxy.cut();
    running.log.hears("read_failed").await;
    running.log.hears("renewal_failed").await;
    proxy.heal();
    works.open();
    eventually("all is done", || world.is_done()).await;
    assert_eq!(works.most_at_once(), 1);
    running.end().await;
}

/// A connection that has died without a word.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_connection_is_given_up() {
    let world = World::start().await;
    let proxy = Proxy::start(&world.server);
    let backend = behind(&proxy, IDLE / 2).await;
    let works = Works::free();
    let running = start(builder(&backend), &works);
    works.begins(world.add()).await;
    let trap = proxy.on_reply(Aim::command("XREADGROUP").nth(1), Fault::Swallow);
    trap.strikes().await;
    let id = world.add();
    works.begins(id).await;
    running.end().await;
}

/// A read that was answered into the void: the message goes idle and is taken again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_got_lost_on_its_way_is_taken_again() {
    let world = World::start().await;
    let proxy = Proxy::start(&world.server);
    let backend = RedisBackend::connect(&proxy.url()).await.unwrap();
    let works = Works::free();
    let running = start(builder(&backend), &works);
    works.begins(world.add()).await;
    let trap = proxy.on_reply(Aim::command("XREADGROUP"), Fault::Cut(0));
    let id = world.add();
    trap.strikes().await;
    trap.lift();
    works.begins(id).await;
    assert_eq!(works.all_begun().last(), Some(&(id, 2)));
    running.end().await;
}

/// Renewals that fail are told with all that names them, are tried again, and hold up no reading.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewals_that_fail_do_not_reach_the_read_loop() {
    for fault in [Fault::Cut(0), Fault::Hold] {
        let world = World::start().await;
        let proxy = Proxy::start(&world.server);
        // More patience than a renewal has.
        let backend = behind(&proxy, 60 * IDLE).await;
        let works = Works::gated();
        let running = start(builder(&backend).concurrency(2), &works);
        let held = world.add();
        works.begins(held).await;
        running.log.hears("renewed").await;
        let is_silent = fault == Fault::Hold;
        let trap = proxy.on_request(Aim::script(RENEW), fault);
        let failed = running.log.hears("renewal_failed").await;
        assert_eq!((failed.ids, failed.text.contains("half an interval")), (vec![held], is_silent));
        let next = world.add();
        works.begins(next).await;
        assert!(!running.log.has("read_failed"));
        trap.lift();
        let renewed = running.log.count("renewed");
        eventually("it is renewed again", || running.log.count("renewed") > renewed).await;
        assert_eq!(works.most_at_once(), 1);
        works.open();
        running.end().await;
    }
}

/// Its message looks idle to everybody, and it is the only one to look: it runs once all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_cannot_renew_takes_nothing_over_that_it_has_in_hand() {
    let world = World::start().await;
    let proxy = Proxy::start(&world.server);
    let backend = RedisBackend::connect(&proxy.url()).await.unwrap();
    let works = Works::gated();
    let running = start(builder(&backend).concurrency(2), &works);
    let held = world.add();
    works.begins(held).await;
    let trap = proxy.on_request(Aim::script(RENEW), Fault::Cut(0));
    eventually("it looks idle", || world.row(held).unwrap().idle > 3 * IDLE).await;
    assert_eq!((works.began(held), running.consumer.stats().reclaimed), (1, 0));
    trap.lift();
    works.open();
    running.log.hears("done").await;
    running.end().await;
}
