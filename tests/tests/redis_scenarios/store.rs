//! A store that is away, and replies that get lost.

use idem_redis::RedisBackend;
use idem_runtime::testing::Operation;
use idem_runtime::{Error, ErrorKind, Source};
use idem_tests::caller::OPERATION;
use idem_tests::{LEASE, eventually};
use tokio::time::sleep;

use crate::kit::{LONG, World, call, call_until, process_on};

/// The server stands still for two leases while A runs and nobody calls: A reserves again and
/// completes.
#[tokio::test]
async fn store_away_for_a_lease() {
    let world = World::start();
    let process = world.process().await;
    let (world, events) = (&world, &process.events);
    let outcome = process.idem.call(OPERATION).key("a").run(|lease| async move {
        world.server.pause();
        sleep(LEASE * 2).await;
        assert!(lease.token().is_cancelled(), "the body can know that its lease is at risk");
        world.server.resume();
        eventually("the keeper finds nothing", || events.has("lease_gone")).await;
        eventually("it reserves again", || world.expires_at("a").is_some()).await;
        Ok::<_, Error>(1_u64)
    });
    let outcome = outcome.await.unwrap();
    assert!(outcome.stored && outcome.lapsed);
    assert!(events.has("lease_at_risk") && events.has("renewal_failed"));
    assert_eq!(call(&process.idem, "a", 2).await.unwrap().source, Source::Replayed);
}

/// The same with B calling meanwhile: its begin is what the server finds first when it goes on. B
/// runs, and A is told.
#[tokio::test]
async fn store_away_for_a_lease_with_another_caller() {
    let world = World::start();
    let a = world.process().await;
    // B's begin stays where it is until the server goes on: a connection that is given up and opened
    // again might come after A's.
    let backend = RedisBackend::builder(world.server.url()).command_timeout(LONG).connect().await;
    let b = process_on(backend.unwrap(), |builder| builder.lease(LONG).store_timeout(LONG));
    call(&b.idem, "its connection is open", 0).await.unwrap();
    let first = call_until(&a.idem, "a", 1, async {
        world.server.pause();
        let resume = async {
            sleep(LEASE * 2).await;
            world.server.resume();
        };
        let (second, ()) = tokio::join!(call(&b.idem, "a", 2), resume);
        let second = second.unwrap();
        assert_eq!((second.value, second.source, second.stored), (2, Source::Fresh, true));
    });
    assert_eq!(first.await.unwrap_err().kind(), ErrorKind::LeaseLost);
    assert!(a.events.has("lease_at_risk"));
    assert_eq!(call(&a.idem, "a", 3).await.unwrap().value, 2);
}

/// The reply of the first begin is cut off: the retry knows its own reservation, and runs once.
#[tokio::test]
async fn begin_reply_lost() {
    let world = World::start();
    let process = world.process().await;
    process.faults.fail_after(Operation::Begin, 1);
    let outcome = process.idem.call(OPERATION).key("a").run(|_| async {
        let _run = world.runs.start("action");
        Ok::<_, Error>(1_u64)
    });
    let outcome = outcome.await.unwrap();
    assert_eq!((outcome.source, outcome.attempt, outcome.stored), (Source::Fresh, 1, true));
    assert_eq!(process.faults.sent(Operation::Begin), 2);
    assert_eq!(world.runs.total("action"), 1);
}

/// The reply of a completion is cut off: the outcome is stored once, the caller gets its value.
#[tokio::test]
async fn complete_reply_lost() {
    let world = World::start();
    let process = world.process_with(|builder| builder.lease(LEASE * 30)).await;
    process.faults.fail_after(Operation::Complete, 1);
    let stands = std::cell::OnceCell::new();
    let mut gate = process.faults.hold_before(Operation::Complete);
    let first = call(&process.idem, "a", 1);
    let between = async {
        gate.arrived().await;
        stands.set(world.stands("a")).unwrap();
        gate.open();
    };
    let (first, ()) = tokio::join!(first, between);
    let first = first.unwrap();
    assert!(first.stored && !first.lapsed);
    assert_eq!(process.faults.sent(Operation::Complete), 2);
    assert_eq!(Some(&world.stands("a")), stands.get(), "the repetition stored nothing anew");
    let second = call(&process.idem, "a", 2).await.unwrap();
    assert_eq!((second.value, second.source), (1, Source::Replayed));
}
