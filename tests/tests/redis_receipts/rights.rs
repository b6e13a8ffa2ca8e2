//! The rights that `docs/redis.md` asks for are enough for receipts: the records of runs stand under the
//! same prefix.

use std::time::Duration;

use idem_runtime::{Error, OnDuplicate, Ran, RunStatus, lease};
use idem_tests::{LEASE, RedisServer, eventually, rights_asked_for};
use tokio::time::sleep;

use crate::kit::{Queue, dispatch, work};
use crate::processes::{connect_to, process_with};

#[tokio::test]
async fn the_rights_that_are_asked_for_are_enough() {
    let server = RedisServer::start();
    let user = [&["ACL", "SETUSER", "idem", "reset", "on", ">secret"], &rights_asked_for()[..]];
    let _: String = server.ask(&user.concat());
    let backend = connect_to(&server.url_of("idem", "secret")).await;
    let process = process_with(backend.clone(), |builder| builder);
    let waiter = process_with(backend, |builder| builder);
    let (idem, queue) = (&process.idem, Queue::default());

    // Two dispatches at once: one waits, and hears of the receipt.
    let slow = dispatch(idem, "a").enqueue(async |_| {
        eventually("a waiter subscribes", || server.calls("ssubscribe") > 0).await;
        Ok::<_, Error>(())
    });
    let (receipt, other) = tokio::join!(slow, async {
        eventually("the other has begun", || server.calls("set") > 0).await;
        let waits = dispatch(&waiter.idem, "a").on_duplicate(OnDuplicate::WaitFor(LEASE * 10));
        queue.take(waits).await
    });
    let (receipt, other) = (receipt.unwrap(), other.unwrap());
    assert_eq!((other.id(), other.is_replay()), (receipt.id(), true));

    // Renewed, with a fence, for longer than a lease.
    let body = async {
        sleep(LEASE * 3 / 2).await;
        lease().unwrap().fence().await
    };
    let ran = waiter.idem.attach(receipt.id()).run(body).await.unwrap();
    assert!(matches!(ran, Ran::Ended(Ok(1..))), "{ran:?}");
    assert!(receipt.result::<u64>().await.unwrap() > 0);

    // Cancelled, and another run in its place; given up, and another one.
    let short = |key| dispatch(idem, key).queue_timeout(Duration::from_millis(1));
    let first = queue.take(short("b")).await.unwrap();
    assert_eq!(first.cancel().await.unwrap(), RunStatus::Cancelled);
    assert!(!queue.take(short("b")).await.unwrap().is_replay());
    sleep(Duration::from_millis(5)).await;
    let third = queue.take(dispatch(idem, "b")).await.unwrap();
    assert!(!third.is_replay());
    assert!(matches!(work(idem, third.id(), 3).await, Ok(Ran::Ended(Ok(3)))));

    // Given back, and released where the queue refuses.
    let fourth = queue.take(dispatch(idem, "c")).await.unwrap();
    let busy = async { Err::<u64, _>("the printer is busy") };
    let ran = idem.attach(fourth.id()).run_or_give_back(busy, |_| true).await.unwrap();
    assert!(matches!(ran, Ran::GivenBack(_)), "{ran:?}");
    let refused = dispatch(idem, "d").enqueue(async |_| {
        Err(Error::of_kind(idem_runtime::ErrorKind::Backend, "the queue is full"))
    });
    assert_eq!(refused.await.unwrap_err().operation(), "the queue is full");

    let denied: Vec<redis::Value> = server.ask(&["ACL", "LOG"]);
    assert!(denied.is_empty(), "{denied:?}");
    let outside: Vec<String> = server.ask(&["KEYS", "*"]);
    assert!(outside.iter().all(|key| key.starts_with("shop:")), "{outside:?}");
}
