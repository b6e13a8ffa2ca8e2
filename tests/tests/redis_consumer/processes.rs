//! Processes that are killed and stopped.

use std::process::Command;
use std::time::{Duration, Instant};

use idem_redis::consumer::MessageId;
use idem_tests::consuming::{Consuming, Settings};
use idem_tests::eventually;

use crate::kit::{IDLE, STREAM, Works, World, start};

/// How long a look for idle messages may be away: a quarter of the idle time, and a busy machine.
const SCAN: Duration = Duration::from_millis(3_250);

impl World {
    fn process(&self, name: Option<&str>) -> Consuming {
        self.process_with(name, IDLE)
    }

    fn process_with(&self, name: Option<&str>, retry_on_idle: Duration) -> Consuming {
        let settings = Settings {
            url: self.server.url(),
            stream: STREAM.to_owned(),
            name: name.map(str::to_owned),
            retry_on_idle,
            max_deliveries: 3,
        };
        Consuming::start(Command::new(env!("CARGO_BIN_EXE_consumer")), &settings)
    }

    fn order(&self, act: &str) -> MessageId {
        self.add_with(&["act", act])
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_is_killed_is_taken_over_within_the_idle_time_and_one_look() {
    let world = World::start().await;
    let mut dies = world.process(None);
    let id = world.order("stay");
    assert_eq!(dies.begins(&id.to_string()), 1);
    let works = Works::free();
    let other = start(world.builder(), &works);
    // It is kept as long as its consumer lives.
    tokio::time::sleep(2 * IDLE).await;
    assert_eq!(works.began(id), 0);
    dies.kill();
    let since = Instant::now();
    works.begins(id).await;
    assert!(since.elapsed() < IDLE + SCAN, "{:?}", since.elapsed());
    assert_eq!(works.all_begun(), [(id, 2)]);
    eventually("it is done", || world.is_done()).await;
    other.end().await;
}

/// It stands still for longer than the idle time with its work done but for the acknowledgement: another
/// has the message by then, and what the first one does about it changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_stood_still_acknowledges_nothing_of_anothers() {
    let world = World::start().await;
    let mut stopped = world.process(None);
    let id = world.order("finish_when_paused");
    stopped.begins(&id.to_string());
    stopped.pause();
    let works = Works::gated();
    let other = start(world.builder(), &works);
    works.begins(id).await;
    let row = world.row(id).unwrap();
    stopped.resume();
    stopped.hears("lease_lost");
    tokio::time::sleep(2 * IDLE).await;
    let after = world.row(id).unwrap();
    assert_eq!((&after.consumer, after.deliveries), (&row.consumer, 2));
    assert_eq!(after.consumer, other.consumer.name());
    assert!(!stopped.has_heard("done") && !other.log.has("lease_lost"));
    works.open();
    eventually("it is done", || world.is_done()).await;
    other.end().await;
}

/// Even where the other has its name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_stood_still_knows_that_another_one_of_its_name_took_over() {
    let world = World::start().await;
    let mut stopped = world.process(Some("fixed"));
    let id = world.order("stay");
    stopped.begins(&id.to_string());
    stopped.pause();
    let works = Works::gated();
    let other = start(world.builder().consumer("fixed"), &works);
    works.begins(id).await;
    stopped.resume();
    stopped.hears("lease_lost");
    tokio::time::sleep(2 * IDLE).await;
    assert_eq!(works.all_begun(), [(id, 2)]);
    assert!(!other.log.has("lease_lost"));
    works.open();
    eventually("it is done", || world.is_done()).await;
    other.end().await;
}

/// A message that kills whoever runs it is among the dead after so many of them, and the others go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_kills_its_consumers_is_among_the_dead_in_the_end() {
    let world = World::start().await;
    let poison = world.order("abort");
    for delivery in 1..=3 {
        let mut dies = world.process(None);
        assert_eq!(dies.begins(&poison.to_string()), delivery);
    }
    let mut lives = world.process(None);
    lives.hears("dead");
    let dead = world.entries("orders.dead");
    assert_eq!(dead.len(), 1);
    assert!(dead[0].1.contains(&poison.to_string()), "{dead:?}");
    let id = world.order("finish");
    lives.begins(&id.to_string());
    lives.hears("done");
    assert!(lives.has_ended(&id.to_string()));
}

/// Consumers that are killed one after the other in the middle of their work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_killed_consumers_had_is_done_by_others() {
    let world = World::start().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        let mut dies = world.process(None);
        ids.extend([(); 10].map(|()| world.order("finish")));
        dies.hears("done");
        dies.kill();
    }
    let works = Works::free();
    let other = start(world.builder().concurrency(8), &works);
    let last = world.order("finish");
    works.begins(last).await;
    eventually("all are done", || world.is_done()).await;
    let groups: Vec<std::collections::HashMap<String, redis::Value>> =
        world.server.ask(&["XINFO", "GROUPS", STREAM]);
    assert_eq!(redis::from_redis_value::<u64>(groups[0]["lag"].clone()).unwrap(), 0);
    assert_eq!((world.length(), world.entries("orders.dead").len()), (ids.len() + 1, 0));
    other.end().await;
}
