//! Renewal: what it keeps, and the fault without it.

use std::time::{Duration, Instant};

use idem_redis::RedisBackend;
use idem_redis::consumer::{Fields, Message};

use idem_tests::{Aim, Fault, Proxy, eventually};

use crate::kit::{GROUP, IDLE, Log, RENEW, Running, STREAM, Works, World, behind, builder, start};

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
    let running = [1, 2].map(|_| start(world.builder().renewal(false), &works));
    world.add();
    eventually("it runs twice at once", || works.most_at_once() == 2).await;
    works.open();
    eventually("it is done", || world.is_done()).await;
    for running in running {
        running.end().await;
    }
}

/// The executor has one thread, and the handler holds it.
#[test]
fn renewal_survives_an_executor_that_is_blocked() {
    let runtime = |threads: usize| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(threads).enable_all().build().unwrap()
    };
    let (steady, blocked) = (runtime(2), runtime(1));
    let world = steady.block_on(World::start());
    let (works, log) = (Works::free(), Log::default());
    let handles = works.clone();
    let builder = world.builder().observer(log.observer());
    let consumer = builder.handler(move |message: Message<Fields>| {
        let works = handles.clone();
        async move {
            let _running = works.begin(std::slice::from_ref(&message));
            std::thread::sleep(3 * IDLE);
            works.end(message.id());
            Ok::<_, String>(())
        }
    });
    let blocking = blocked.block_on(async { Running::start(consumer, log) });
    let id = world.add();
    steady.block_on(async {
        works.begins(id).await;
        let other = start(world.builder(), &works);
        eventually("it is done", || world.is_done()).await;
        assert_eq!((works.began(id), works.most_at_once()), (1, 1));
        assert_eq!(other.consumer.stats().reclaimed, 0);
        other.end().await;
    });
    assert!(blocking.log.has("renewed"));
    blocked.block_on(blocking.end());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_leaves_owner_and_count_alone() {
    let world = World::start().await;
    let works = Works::gated();
    let running = start(world.builder(), &works);
    let id = world.add();
    works.begins(id).await;
    let before = world.row(id).unwrap();
    running.log.hears("renewed").await;
    let after = world.row(id).unwrap();
    assert_eq!((before.consumer, before.deliveries), (after.consumer, after.deliveries));
    works.open();
    running.end().await;
}

/// At a fixed rate: the times between renewals do not add up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_renewed_at_a_quarter_of_the_idle_time_unless_set() {
    for (every, interval) in [(None, IDLE), (Some(IDLE / 2), IDLE / 2)] {
        let world = World::start().await;
        let proxy = Proxy::start(&world.server);
        let backend = RedisBackend::connect(&proxy.url()).await.unwrap();
        // Each takes a good part of its interval, which a pause after it would make longer.
        let _slow = proxy.on_request(Aim::script(RENEW), Fault::Delay(interval / 4));
        let works = Works::gated();
        let builder = builder(&backend).retry_on_idle(4 * IDLE);
        let builder = match every {
            Some(every) => builder.renew_every(every),
            None => builder,
        };
        let running = start(builder, &works);
        works.begins(world.add()).await;
        running.log.hears("renewed").await;
        let (since, before) = (Instant::now(), running.log.count("renewed"));
        eventually("it is renewed", || running.log.count("renewed") == before + 6).await;
        let took = since.elapsed();
        assert!(took > interval * 11 / 2 && took < interval * 13 / 2 + IDLE / 4, "{took:?}");
        works.open();
        running.end().await;
    }
}

/// Renewals of which the next ones get lost, so many: how often the message ran, when all is over.
async fn runs_with_lost_renewals(lost: usize) -> usize {
    let world = World::start().await;
    let proxy = Proxy::start(&world.server);
    let backend = behind(&proxy, IDLE / 2).await;
    let works = Works::gated();
    let shaky = start(builder(&backend), &works);
    let id = world.add();
    works.begins(id).await;
    shaky.log.hears("renewed").await;
    let steady = start(world.builder(), &works);
    let traps: Vec<_> = (1..=lost)
        .map(|nth| proxy.on_request(Aim::script(RENEW).nth(nth), Fault::Cut(0)))
        .collect();
    eventually("they are lost", || {
        traps.iter().all(|trap| trap.struck() == 1) || works.began(id) > 1
    })
    .await;
    tokio::time::sleep(2 * IDLE).await;
    works.open();
    eventually("it is done", || world.is_done()).await;
    shaky.end().await;
    steady.end().await;
    works.began(id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_renewals_may_fail_in_a_row() {
    assert_eq!(runs_with_lost_renewals(2).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_renewals_for_the_idle_time_it_is_taken_over() {
    assert_eq!(runs_with_lost_renewals(50).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_messages_in_hand_are_renewed_a_hundred_a_script() {
    const ALL: usize = 10_000;
    let world = World::start().await;
    world.add_many(ALL);
    let proxy = Proxy::start(&world.server);
    let backend = RedisBackend::connect(&proxy.url()).await.unwrap();
    let works = Works::gated();
    // Read ahead, a thousand at a time, while the first one runs.
    let idle = 5 * IDLE;
    let running = start(builder(&backend).retry_on_idle(idle).read_ahead(ALL - 1), &works);
    eventually("all are in hand", || running.consumer.stats().in_hand == ALL as u64).await;
    let before = proxy.answered(&Aim::script(RENEW));
    let renewed = running.consumer.stats().renewed;
    eventually("all are renewed", || running.consumer.stats().renewed >= renewed + 2 * ALL as u64)
        .await;
    let scripts = proxy.answered(&Aim::script(RENEW)) - before;
    assert!((200..=400).contains(&scripts), "{scripts}");
    tokio::time::sleep(idle).await;
    let rows = world.pending();
    assert_eq!(rows.len(), ALL);
    assert!(rows.iter().all(|row| row.idle < idle && row.deliveries == 1));
    assert_eq!(running.log.count("lease_lost"), 0);
    works.open();
    eventually("all are done", || world.is_done()).await;
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_read_ahead_are_renewed_while_they_wait() {
    let world = World::start().await;
    let works = Works::gated();
    let busy = start(world.builder().read_ahead(1), &works);
    let first = world.add();
    works.begins(first).await;
    let waits = world.add();
    eventually("it is read ahead", || world.row(waits).is_some()).await;
    let other = start(world.builder(), &Works::free());
    assert!(idlest(&world, waits, 3 * IDLE).await < IDLE);
    assert_eq!(works.began(waits), 0);
    works.open();
    eventually("both are done", || world.is_done()).await;
    assert_eq!(other.consumer.stats().done, 0);
    busy.end().await;
    other.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_consumer_takes_no_more_than_it_runs() {
    let world = World::start().await;
    let works = Works::gated();
    let busy = start(world.builder(), &works);
    works.begins(world.add()).await;
    let next = world.add();
    // Nobody has it while the only consumer is busy; an idle one takes it at once.
    tokio::time::sleep(IDLE).await;
    assert_eq!(world.row(next), None);
    let idle = start(world.builder(), &works);
    works.begins(next).await;
    assert_eq!(world.row(next).unwrap().consumer, idle.consumer.name());
    works.open();
    busy.end().await;
    idle.end().await;
}

/// Under a name that was set, what an earlier process of that name had is not kept alive.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_earlier_process_of_the_name_left_goes_idle_and_is_taken_over() {
    let world = World::start().await;
    let left = world.add();
    let _: redis::Value = world.server.ask(&["XGROUP", "CREATE", STREAM, GROUP, "0"]);
    let _: redis::Value =
        world.server.ask(&["XREADGROUP", "GROUP", GROUP, "fixed", "STREAMS", STREAM, ">"]);
    let works = Works::gated();
    let again = start(world.builder().consumer("fixed").concurrency(2), &works);
    let own = world.add();
    works.begins(own).await;
    again.log.hears("renewed").await;
    let row = world.row(left);
    if works.began(left) == 0 {
        assert!(row.unwrap().idle > world.row(own).unwrap().idle);
    }
    works.begins(left).await;
    assert_eq!(works.all_begun(), [(own, 1), (left, 2)]);
    let entry = again.log.of("reclaimed").swap_remove(0);
    assert_eq!((entry.ids, &*entry.text), (vec![left], "2 fixed"));
    works.open();
    again.end().await;
}
