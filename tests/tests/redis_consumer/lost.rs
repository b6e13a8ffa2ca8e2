//! Messages that are another's by now, or nobody's, while their handler runs.

use idem_redis::RedisBackend;
use idem_redis::consumer::{ConsumerBuilder, Fields, Message};
use idem_tests::{Aim, Fault, Proxy, eventually};

use redis::Value;

use crate::kit::{
    ACKNOWLEDGE, GROUP, IDLE, Log, RENEW, Running, STREAM, Works, World, behind, builder, start,
    start_batches,
};

/// A consumer that notices a loss at once, and takes over nothing while the test lasts.
fn attentive(world: &World) -> ConsumerBuilder {
    world.builder().retry_on_idle(60 * IDLE).renew_every(IDLE / 4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_whose_message_is_lost_is_cancelled_and_only_that() {
    let world = World::start().await;
    let works = Works::gated();
    let running = start(attentive(&world).concurrency(2), &works);
    let (lost, kept) = (world.add(), world.add());
    works.begins(lost).await;
    works.begins(kept).await;
    world.steal(lost);
    let told = running.log.hears("lease_lost").await;
    assert_eq!((told.ids, told.text), (vec![lost], format!("[{lost}]")));
    eventually("its handler is dropped", || works.running() == 1).await;
    works.open();
    eventually("the other one is done", || world.row(kept).is_none()).await;
    // Nothing of it was acknowledged.
    assert_eq!(world.row(lost).unwrap().consumer, "thief");
    assert_eq!(works.ended(), [kept]);
    assert_eq!(running.consumer.stats().lost, 1);
    running.shut_down();
    running.ends().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_is_not_cancelled_finishes_and_nothing_is_acknowledged() {
    let world = World::start().await;
    let works = Works::gated();
    let running = start(attentive(&world).cancel_on_lease_lost(false), &works);
    let lost = world.add();
    works.begins(lost).await;
    world.steal(lost);
    running.log.hears("lease_lost").await;
    assert_eq!(works.running(), 1);
    works.open();
    eventually("it finishes", || works.ended() == [lost]).await;
    running.end().await;
    assert_eq!(world.row(lost).unwrap().consumer, "thief");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_lost_before_its_handler_started_never_runs() {
    for cancels in [true, false] {
        let world = World::start().await;
        let works = Works::gated();
        let builder = attentive(&world).read_ahead(1).cancel_on_lease_lost(cancels);
        let running = start(builder, &works);
        works.begins(world.add()).await;
        let waits = world.add();
        eventually("it is read ahead", || world.row(waits).is_some()).await;
        world.steal(waits);
        let told = running.log.hears("lease_lost").await;
        assert_eq!(told.ids, [waits]);
        works.open();
        let next = world.add();
        works.begins(next).await;
        running.end().await;
        assert_eq!(works.began(waits), 0);
        assert_eq!(world.row(waits).unwrap().consumer, "thief");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_of_which_one_is_lost_is_cancelled_whole() {
    let world = World::start().await;
    let works = Works::gated();
    // Added before anybody reads, so that they are one batch.
    let ids = [(); 3].map(|()| world.add());
    let running = start_batches(world.builder().batch(10), &works);
    works.begins(ids[0]).await;
    assert_eq!(works.running(), 3);
    world.steal(ids[1]);
    let told = running.log.hears("lease_lost").await;
    assert_eq!((told.ids, told.text), (vec![ids[1]], format!("{ids:?}")));
    eventually("its handler is dropped", || works.running() == 0).await;
    // The others are not acknowledged, and delivered again.
    works.open();
    eventually("they are done", || world.is_done()).await;
    let again: Vec<_> =
        works.all_begun().into_iter().skip(3).filter(|(id, _)| *id != ids[1]).collect();
    assert_eq!(again, [(ids[0], 2), (ids[2], 2)]);
    assert_eq!(works.ended().iter().filter(|id| **id == ids[0]).count(), 1);
    running.end().await;
}

/// Given to another without being counted, as by `XCLAIM … JUSTID`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_another_was_given_uncounted_is_lost() {
    for notices in [true, false] {
        let world = World::start().await;
        let works = Works::gated();
        let builder = world.builder().retry_on_idle(60 * IDLE);
        let builder = if notices { builder.renew_every(IDLE / 4) } else { builder };
        let running = start(builder, &works);
        let id = world.add();
        works.begins(id).await;
        let take = ["XCLAIM", STREAM, GROUP, "thief", "0", &id.to_string(), "JUSTID"];
        let _: Value = world.server.ask(&take);
        if !notices {
            works.open();
        }
        running.log.hears("lease_lost").await;
        running.shut_down();
        running.ends().await.unwrap();
        let row = world.row(id).unwrap();
        assert_eq!((&*row.consumer, row.deliveries), ("thief", 1));
    }
}

/// The loss is found as the batch is to be acknowledged: none of it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_batch_that_finished_with_one_lost_none_is_acknowledged() {
    let world = World::start().await;
    let works = Works::gated();
    let ids = [(); 3].map(|()| world.add());
    let builder = world.builder().retry_on_idle(60 * IDLE).batch(10);
    let running = start_batches(builder, &works);
    works.begins(ids[0]).await;
    world.steal(ids[1]);
    works.open();
    let told = running.log.hears("lease_lost").await;
    assert_eq!((told.ids, told.text), (vec![ids[1]], format!("{ids:?}")));
    running.end().await;
    let consumers: Vec<_> =
        world.pending().into_iter().map(|row| row.consumer == "thief").collect();
    assert_eq!(consumers, [false, true, false]);
    assert_eq!(works.ended(), ids);
}

/// A consumer that does not know that its message was lost cannot acknowledge it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acknowledgement_of_a_message_of_anothers_changes_nothing() {
    let world = World::start().await;
    let works = Works::gated();
    let running = start(world.builder().retry_on_idle(60 * IDLE), &works);
    let id = world.add();
    works.begins(id).await;
    world.steal(id);
    works.open();
    running.log.hears("lease_lost").await;
    assert_eq!(running.consumer.stats().done, 0);
    running.end().await;
    let row = world.row(id).unwrap();
    assert_eq!((&*row.consumer, row.deliveries), ("thief", 2));
}

/// Even where the other has the same name: a later delivery is another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_delivery_to_the_same_name_is_a_loss() {
    let world = World::start().await;
    let works = Works::gated();
    let running = start(attentive(&world).consumer("fixed"), &works);
    let id = world.add();
    works.begins(id).await;
    let _: Value = world.server.ask(&["XCLAIM", STREAM, GROUP, "fixed", "0", &id.to_string()]);
    running.log.hears("lease_lost").await;
    eventually("its handler is dropped", || works.running() == 0).await;
    running.shut_down();
    running.ends().await.unwrap();
    assert_eq!(world.row(id).unwrap().deliveries, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_deleted_in_hand_is_finished_and_not_renewed_any_more() {
    let world = World::start().await;
    let works = Works::gated();
    let running = start(world.builder(), &works);
    let id = world.add();
    works.begins(id).await;
    let _: u64 = world.server.ask(&["XDEL", STREAM, &id.to_string()]);
    assert_eq!(running.log.hears("trimmed").await.ids, [id]);
    let renewed = running.consumer.stats().renewed;
    tokio::time::sleep(IDLE).await;
    assert_eq!(running.consumer.stats().renewed, renewed);
    assert_eq!((works.running(), running.log.count("trimmed")), (1, 1));
    works.open();
    assert_eq!(running.log.hears("done").await.ids, [id]);
    assert_eq!(running.log.count("lease_lost"), 0);
    running.end().await;
}

/// Those of one page that were deleted, and those that were not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_are_deleted_among_others_are_told_apart() {
    let world = World::start().await;
    let works = Works::gated();
    let ids = [(); 4].map(|()| world.add());
    let running = start_batches(world.builder().batch(10), &works);
    works.begins(ids[3]).await;
    for id in [ids[0], ids[2]] {
        let _: u64 = world.server.ask(&["XDEL", STREAM, &id.to_string()]);
    }
    eventually("both are told", || running.log.count("trimmed") == 2).await;
    let told: Vec<_> = running.log.of("trimmed").into_iter().flat_map(|told| told.ids).collect();
    assert_eq!(told, [ids[0], ids[2]]);
    tokio::time::sleep(2 * IDLE).await;
    let rows = world.pending();
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [ids[1], ids[3]]);
    assert!(rows.iter().all(|row| row.idle < IDLE));
    works.open();
    assert_eq!(running.log.hears("done").await.ids, ids);
    assert_eq!(running.log.count("lease_lost"), 0);
    running.end().await;
}

/// Nobody else can be given it, however long it waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_deleted_while_it_waits_for_a_run_is_run() {
    let world = World::start().await;
    let works = Works::gated();
    let running = start(world.builder().read_ahead(1), &works);
    works.begins(world.add()).await;
    let waits = world.add();
    eventually("it is read ahead", || world.row(waits).is_some()).await;
    let _: u64 = world.server.ask(&["XDEL", STREAM, &waits.to_string()]);
    running.log.hears("trimmed").await;
    tokio::time::sleep(2 * IDLE).await;
    works.open();
    eventually("both are done", || running.consumer.stats().done == 2).await;
    assert_eq!((works.began(waits), running.log.count("lease_lost")), (1, 0));
    running.end().await;
}

/// Cut off, nothing is started any more once it may be another's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_is_cut_off_starts_nothing_that_may_be_anothers() {
    let world = World::start().await;
    let proxy = Proxy::start(&world.server);
    let backend = behind(&proxy, IDLE / 2).await;
    let works = Works::gated();
    let cut_off = start(builder(&backend).read_ahead(1), &works);
    let first = world.add();
    works.begins(first).await;
    let waits = world.add();
    eventually("it is read ahead", || world.row(waits).is_some()).await;
    proxy.refuse(true);
    proxy.cut();
    let free = Works::free();
    let other = start(world.builder().concurrency(2), &free);
    free.begins(waits).await;
    // Its turn comes, and it does not know that it was lost.
    works.open();
    eventually("the first ends", || works.running() == 0).await;
    tokio::time::sleep(2 * IDLE).await;
    assert_eq!((works.began(waits), cut_off.log.count("lease_lost")), (0, 0));
    proxy.heal();
    eventually("it hears of it", || cut_off.log.has("lease_lost")).await;
    cut_off.end().await;
    other.end().await;
    assert_eq!(works.began(waits), 0);
}

/// Its lease is renewed late and still stands: it is asked about, and started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_in_doubt_and_still_ours_is_started() {
    let world = World::start().await;
    let proxy = Proxy::start(&world.server);
    let backend = RedisBackend::connect(&proxy.url()).await.unwrap();
    let works = Works::gated();
    let running = start(builder(&backend).read_ahead(1), &works);
    works.begins(world.add()).await;
    let waits = world.add();
    eventually("it is read ahead", || world.row(waits).is_some()).await;
    let trap = proxy.on_request(Aim::script(RENEW), Fault::Cut(0));
    eventually("it looks idle", || world.row(waits).unwrap().idle > IDLE).await;
    works.open();
    trap.lift();
    works.begins(waits).await;
    running.end().await;
}

/// The reply to an acknowledgement got lost: that it is not pending any more is no loss, whether a
/// renewal finds it so first or the repeated acknowledgement.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acknowledgement_without_reply_is_repeated_and_no_loss() {
    for retry_on_idle in [IDLE, 60 * IDLE] {
        let world = World::start().await;
        let proxy = Proxy::start(&world.server);
        let backend = behind(&proxy, IDLE / 2).await;
        let works = Works::free();
        let running = start(builder(&backend).retry_on_idle(retry_on_idle), &works);
        world.add();
        // The server knows the script from now on.
        running.log.hears("done").await;
        let trap = proxy.on_reply(Aim::script(ACKNOWLEDGE).nth(1), Fault::Hold);
        let id = world.add();
        trap.strikes().await;
        assert!(world.is_done(), "it was carried out");
        eventually("it is told", || running.log.count("done") == 2).await;
        assert_eq!(running.log.of("done")[1].ids, [id]);
        assert_eq!(running.log.hears("settle_failed").await.ids, [id]);
        proxy.heal();
        let log = running.log.clone();
        running.end().await;
        assert_eq!((works.began(id), log.count("lease_lost")), (1, 0));
    }
}

/// What is done is not delivered again for want of a connection: it is kept until it is acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_acknowledged_is_kept_until_it_can() {
    let world = World::start().await;
    let proxy = Proxy::start(&world.server);
    let backend = behind(&proxy, IDLE / 2).await;
    let works = Works::free();
    let trap = proxy.on_request(Aim::script(ACKNOWLEDGE), Fault::Cut(0));
    let running = start(builder(&backend), &works);
    let other = start(world.builder(), &works);
    // Either may get a message: it is to be the one behind the proxy.
    let mut id = world.add();
    while trap.struck() == 0 {
        tokio::time::sleep(IDLE / 20).await;
        if world.is_done() {
            id = world.add();
        }
    }
    tokio::time::sleep(2 * IDLE).await;
    assert_eq!(works.began(id), 1);
    trap.lift();
    eventually("it is done", || world.is_done()).await;
    running.end().await;
    other.end().await;
    assert_eq!(works.began(id), 1);
}

/// A group that was created again delivers what this consumer still works on: the new run waits for the
/// old one's end, so that a message never runs twice at once in a process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_delivered_again_waits_for_its_earlier_run() {
    let world = World::start().await;
    let works = Works::gated();
    let builder = world.builder().concurrency(2).cancel_on_lease_lost(false);
    let running = start(builder, &works);
    let id = world.add();
    works.begins(id).await;
    let _: u64 = world.server.ask(&["XGROUP", "DESTROY", STREAM, GROUP]);
    running.log.hears("lease_lost").await;
    eventually("it is delivered again", || world.row(id).is_some()).await;
    tokio::time::sleep(IDLE).await;
    assert_eq!(works.began(id), 1);
    works.open();
    eventually("it runs again", || works.began(id) == 2).await;
    eventually("it is done", || world.is_done()).await;
    assert_eq!(works.most_at_once(), 1);
    running.end().await;
}

/// It is lost while it waits for that: then it never runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_lost_while_it_waits_for_its_earlier_run_never_runs_again() {
    let world = World::start().await;
    let works = Works::gated();
    let builder = attentive(&world).concurrency(2).cancel_on_lease_lost(false);
    let running = start(builder, &works);
    let id = world.add();
    works.begins(id).await;
    // The server delivers it once more to the same consumer, as new.
    let _: Value = world.server.ask(&["XACK", STREAM, GROUP, &id.to_string()]);
    running.log.hears("lease_lost").await;
    let _: Value = world.server.ask(&["XGROUP", "SETID", STREAM, GROUP, "0"]);
    eventually("it is delivered again", || world.row(id).is_some()).await;
    world.steal(id);
    eventually("it is lost again", || running.log.count("lease_lost") == 2).await;
    works.open();
    eventually("the first run ends", || works.running() == 0).await;
    running.end().await;
    assert_eq!(works.began(id), 1);
    assert_eq!(world.row(id).unwrap().consumer, "thief");
}

/// Judged by what was decided, and not by what the handler does with its token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_cancels_itself_has_failed_and_lost_nothing() {
    let world = World::start().await;
    let log = Log::default();
    let consumer = world.builder().observer(log.observer()).handler(
        async |message: Message<Fields>| -> Result<(), &str> {
            if message.deliveries() > 1 {
                return Ok(());
            }
            let token = message.token();
            token.cancel();
            token.cancelled().await;
            Err("cancelled by itself")
        },
    );
    let running = Running::start(consumer, log);
    let id = world.add();
    let failed = running.log.hears("failed").await;
    assert_eq!((failed.ids, &*failed.text), (vec![id], "cancelled by itself"));
    eventually("it is done", || running.log.has("done")).await;
    for name in ["lease_lost", "cancelled", "too_long"] {
        assert!(!running.log.has(name), "{name}");
    }
    running.end().await;
}
