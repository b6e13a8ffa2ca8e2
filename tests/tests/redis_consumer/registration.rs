//! What a registration creates, and takes back when it fails.

use idem_redis::RedisBackend;
use idem_redis::consumer::{Consumer, ConsumerError, Fields, Message};
use idem_tests::{Aim, Fault, Proxy, eventually};
use redis::Value;

use crate::kit::{CREATE, GROUP, IDLE, STREAM, Works, World, builder, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stream_and_group_are_created_where_they_are_missing() {
    let world = World::start().await;
    let works = Works::free();
    let running = start(world.builder(), &works);
    assert_eq!(running.log.hears("created").await.text, "true false");
    let id = world.add();
    works.begins(id).await;
    let other = start(world.builder(), &works);
    eventually("both are in the group", || world.consumers().len() == 2).await;
    assert!(!other.log.has("created"));
    running.end().await;
    other.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_group_reads_what_is_there_unless_only_new_messages_are_asked_for() {
    for only_new in [false, true] {
        let world = World::start().await;
        let there = world.add();
        let works = Works::free();
        let builder = world.builder();
        let running = start(builder.only_new(only_new), &works);
        assert_eq!(running.log.hears("created").await.text, "false false");
        let new = world.add();
        works.begins(new).await;
        assert_eq!(works.began(there), usize::from(!only_new));
        running.end().await;
    }
}

fn hash(script: &str) -> String {
    redis::Script::new(script).get_hash().to_owned()
}

/// A registration that fails once the group is created: its last step finds no connection.
async fn fails_late(world: &World) -> ConsumerError {
    let proxy = Proxy::start(&world.server);
    let backend = RedisBackend::connect(&proxy.url()).await.unwrap();
    // To the first call the server answers that it does not know the script.
    let is_known = world.server.ask::<Vec<bool>>(&["SCRIPT", "EXISTS", &hash(CREATE)])[0];
    let trap = proxy.on_reply(Aim::script(CREATE).nth(2 - usize::from(is_known)), Fault::Hold);
    let consumer: Consumer =
        builder(&backend).consumer("late").handler(async |_: Message<Fields>| Ok::<_, String>(()));
    let (failed, ()) = tokio::join!(consumer.run(std::future::pending()), async {
        trap.strikes().await;
        proxy.refuse(true);
        trap.lift();
    });
    failed.unwrap_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registration_that_fails_takes_back_what_it_made() {
    let world = World::start().await;
    let error = fails_late(&world).await;
    assert!(matches!(error, ConsumerError::Backend { .. }), "{error:?}");
    let keys: Vec<String> = world.server.ask(&["KEYS", "*"]);
    assert_eq!(keys, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registration_that_fails_takes_back_nothing_else() {
    // The stream was there.
    let world = World::start().await;
    world.add();
    fails_late(&world).await;
    let groups: Vec<Value> = world.server.ask(&["XINFO", "GROUPS", STREAM]);
    assert_eq!((groups.len(), world.length()), (0, 1));
    // The group was there as well, with a consumer of another.
    let _: Value = world.server.ask(&["XGROUP", "CREATE", STREAM, GROUP, "0"]);
    let _: Value = world.server.ask(&["XGROUP", "CREATECONSUMER", STREAM, GROUP, "other"]);
    fails_late(&world).await;
    assert_eq!(world.consumers(), ["other"]);
    // The consumer was.
    let _: Value = world.server.ask(&["XGROUP", "CREATECONSUMER", STREAM, GROUP, "late"]);
    fails_late(&world).await;
    assert_eq!(world.consumers(), ["late", "other"]);
    // A group that nobody is in.
    for consumer in ["late", "other"] {
        let _: Value = world.server.ask(&["XGROUP", "DELCONSUMER", STREAM, GROUP, consumer]);
    }
    fails_late(&world).await;
    assert_eq!(world.consumers(), Vec::<String>::new());
    // An empty stream that was there stays, whether it ever held a message or not.
    let _: Value = world.server.ask(&["XTRIM", STREAM, "MAXLEN", "0"]);
    let _: Value = world.server.ask(&["XGROUP", "DESTROY", STREAM, GROUP]);
    fails_late(&world).await;
    assert_eq!(world.server.ask::<u64>(&["EXISTS", STREAM]), 1);
    let _: u64 = world.server.ask(&["DEL", STREAM]);
    let _: Value = world.server.ask(&["XGROUP", "CREATE", STREAM, "brief", "0", "MKSTREAM"]);
    let _: Value = world.server.ask(&["XGROUP", "DESTROY", STREAM, "brief"]);
    fails_late(&world).await;
    assert_eq!(world.server.ask::<u64>(&["EXISTS", STREAM]), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_there_fails_the_registration() {
    let mut world = World::start().await;
    world.server.kill();
    let consumer = world.builder().handler(async |_: Message<Fields>| Ok::<_, String>(()));
    let error = consumer.run(std::future::pending()).await.unwrap_err();
    assert!(error.to_string().starts_with("the stream `orders` cannot be consumed: "), "{error}");
}

/// Each start of a process has a name of its own, and leaves the group with nothing pending.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_unique_and_leave_the_group_at_the_end() {
    let world = World::start().await;
    let works = Works::free();
    let running = [(); 2].map(|()| start(world.builder(), &works));
    let names = [0, 1].map(|nth| running[nth].consumer.name().to_owned());
    assert_ne!(names[0], names[1]);
    assert!(names.iter().all(|name| name.starts_with("idem-")), "{names:?}");
    eventually("both are there", || world.consumers_or_none().len() == 2).await;
    for running in running {
        running.end().await;
    }
    assert_eq!(world.consumers(), Vec::<String>::new());
}

/// What a consumer that leaves still has pending would be lost with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_with_pending_messages_stays_in_the_group() {
    let world = World::start().await;
    let log = crate::kit::Log::default();
    let consumer = world
        .builder()
        .retry_on_idle(60 * IDLE)
        .observer(log.observer())
        .handler(async |_: Message<Fields>| Err::<(), _>("no"));
    let running = crate::kit::Running::start(consumer, log);
    let id = world.add();
    running.log.hears("failed").await;
    let name = running.consumer.name().to_owned();
    running.end().await;
    assert_eq!(world.consumers(), [name]);
    assert_eq!(world.row(id).unwrap().deliveries, 1);
}
