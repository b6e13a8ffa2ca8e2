//! The handle, what surrounds a call, and the lease inside the body.

use std::time::Duration;

use idem_runtime::testing::Operation;
use idem_runtime::{Error, ErrorKind, Idem, MemoryBackend, Source, idempotent, lease, observe};
use idem_tests::{LEASE, World, eventually};
use tokio::time::{Instant, sleep, timeout};

#[idempotent(name = "echo", key = key)]
async fn echo(key: &str) -> Result<String, Error> {
    Ok(key.to_owned())
}

#[idempotent(name = "outer", key = key)]
async fn outer(key: &str) -> Result<bool, Error> {
    echo(key).await?;
    let inner = observe(echo(key)).await;
    Ok(inner.facts.is_some_and(|facts| facts.source == Source::Replayed))
}

/// A call uses the `Idem` in scope; the scope ends with its future.
#[tokio::test(start_paused = true)]
async fn scope_sets_the_idem_of_calls_inside() {
    let (one, two) = (World::new().process(), World::new().process());
    assert_eq!(echo("k").await.unwrap_err().kind(), ErrorKind::NotInstalled);
    let source = |idem: &Idem| {
        let call = idem.scope(observe(echo("k")));
        async move { call.await.facts.unwrap().source }
    };
    assert_eq!(source(&one.idem).await, Source::Fresh);
    assert_eq!(source(&one.idem).await, Source::Replayed);
    assert_eq!(source(&two.idem).await, Source::Fresh);
    let nested = one.idem.scope(async { two.idem.scope(echo("n")).await });
    assert_eq!(nested.await.unwrap(), "n");
    assert_eq!(one.faults.sent(Operation::Begin), 2);
    assert_eq!(echo("k").await.unwrap_err().kind(), ErrorKind::NotInstalled);
}

/// `observe` is filled in by the first call that begins inside, and not by calls of its body.
#[tokio::test(start_paused = true)]
async fn observe_sees_the_first_call_only() {
    let process = World::new().process();
    let observed = process.idem.scope(observe(async {
        let inner = outer("k").await?;
        echo("another").await?;
        Ok::<_, Error>(inner)
    }));
    let observed = observed.await;
    assert!(observed.result.unwrap(), "a body can observe calls of its own");
    let facts = observed.facts.unwrap();
    assert_eq!((facts.source, facts.attempt, facts.stored), (Source::Fresh, 1, true));
    assert!(!facts.lapsed && facts.protected);
    let nothing = process.idem.scope(observe(async {})).await;
    assert!(nothing.facts.is_none());
}

/// What runs in the scope of a lease counts as the body's own.
#[tokio::test(start_paused = true)]
async fn observe_sees_no_call_in_the_scope_of_a_lease() {
    let process = World::new().process();
    let call = process.idem.call("op").key("k").run(|lease| async move {
        Ok::<_, Error>(observe(lease.scope(echo("k"))).await.facts.is_none())
    });
    assert!(process.idem.scope(call).await.unwrap().value);
}

/// The lease inside a body: which key, which attempt, how long, and a number that grows.
#[tokio::test(start_paused = true)]
async fn lease_inside_the_body() {
    let process = World::new().process();
    let mut last = 0;
    for round in 0..3 {
        let call = process.idem.call("op").key(&("tenant", round)).run(|handle| async move {
            let lease = lease().unwrap();
            assert_eq!(lease.key(), handle.key());
            let shown = format!("{lease:?}");
            assert!(shown.contains("attempt: 1") && !shown.contains("tenant"), "{shown}");
            let first = lease.time_left();
            sleep(LEASE / 10).await;
            assert_eq!(first - lease.time_left(), LEASE / 10);
            // In a task of its own there is none, unless it is handed there.
            let spawned = tokio::spawn(async { idem_runtime::lease().is_some() });
            let handed = tokio::spawn(handle.scope(async { idem_runtime::lease().is_some() }));
            let found = (spawned.await.unwrap(), handed.await.unwrap());
            let (fence, again) = (lease.fence().await?, handle.fence().await?);
            assert_eq!(fence, again);
            Ok::<_, Error>((lease.key().to_owned(), fence, found))
        });
        let (key, fence, found) = call.await.unwrap().value;
        assert_eq!(key, format!("tenant:{round}"));
        assert_eq!(found, (false, true));
        assert!(fence > last);
        last = fence;
    }
    assert!(lease().is_none());
}

/// The fence of an owner that lost its key is refused.
#[tokio::test(start_paused = true)]
async fn fence_is_refused_after_the_loss() {
    let world = World::new();
    let (a, b) = (world.process(), world.process());
    let faults = a.faults.clone();
    let stale = a.idem.call("op").key("k").run(|lease| async move {
        faults.away(true);
        sleep(LEASE * 2).await;
        let other = b.idem.call("op").key("k").run(|_| async { Ok::<_, Error>(2_u64) }).await?;
        assert_eq!(other.source, Source::Fresh);
        faults.away(false);
        let refused = lease.fence().await.unwrap_err().kind();
        assert_eq!(refused, ErrorKind::LeaseLost);
        Ok::<_, Error>(1_u64)
    });
    assert_eq!(stale.await.unwrap_err().kind(), ErrorKind::LeaseLost);
}

/// The token is cancelled when the lease is at risk, before anybody else can have the key.
#[tokio::test(start_paused = true)]
async fn the_token_is_cancelled_at_risk() {
    let process = World::new().process();
    let faults = process.faults.clone();
    let call = process.idem.call("op").key("k").run(|lease| async move {
        let token = lease.token();
        sleep(LEASE * 3).await;
        assert!(!token.is_cancelled(), "a lease that is renewed is not at risk");
        faults.away(true);
        let start = Instant::now();
        timeout(LEASE * 2, token.cancelled()).await.expect("it is cancelled");
        faults.away(false);
        Ok::<_, Error>(u64::try_from(start.elapsed().as_millis()).unwrap())
    });
    let after = Duration::from_millis(call.await.unwrap().value);
    assert!(after >= LEASE / 2 && after <= LEASE - LEASE / 10, "{after:?}");
}

/// Shutdown takes no new calls, waits for those in flight and for what is deferred.
#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_calls_and_for_the_keeper() {
    let world = World::new();
    let process = world.process();
    process.faults.fail_before(Operation::Complete, 20);
    let idem = process.idem.clone();
    let call = tokio::spawn(async move {
        idem.call("op")
            .key("k")
            .run(|_| async {
                sleep(LEASE * 3).await;
                Ok::<_, Error>(1_u64)
            })
            .await
    });
    eventually("it runs", || process.faults.sent(Operation::Begin) == 1).await;
    let idem = process.idem.clone();
    let shutdown = tokio::spawn(async move { idem.shutdown(LEASE * 60).await });
    tokio::task::yield_now().await;
    let refused = process.idem.scope(echo("other")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ShuttingDown);
    let report = shutdown.await.unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert!(call.await.unwrap().is_ok());
    assert!(process.events.has("deferred_stored"), "what was deferred is stored before the end");
}

/// Past its grace, shutdown reports what is left, and the leases lapse.
#[tokio::test(start_paused = true)]
async fn shutdown_reports_what_is_left() {
    let world = World::new();
    let process = world.process();
    process.faults.fail_before(Operation::Release, 10_000);
    let idem = process.idem.clone();
    let hung = tokio::spawn(async move {
        let forever = std::future::pending::<Result<u64, Error>>;
        idem.call("op").key("k").run(|_| forever()).await
    });
    let failed = process
        .idem
        .call("op")
        .key("f")
        .run(|_| async { Err::<u64, _>(echo("k").await.unwrap_err()) });
    assert!(failed.await.is_err());
    let report = process.idem.shutdown(LEASE / 2).await;
    assert_eq!((report.running >= 1, report.unsettled), (true, 1), "{report:?}");
    let next =
        world.process().idem.call("op").key("k").run(|_| async { Ok::<_, Error>(2_u64) }).await;
    assert_eq!(next.unwrap().value, 2);
    hung.abort();
}

/// A keeper thread beside a paused runtime would live in another time: it is refused.
#[tokio::test(start_paused = true)]
async fn a_keeper_thread_beside_a_paused_clock_is_refused() {
    let refused = Idem::builder().backend(MemoryBackend::new()).build().unwrap_err();
    assert_eq!(refused, idem_runtime::BuildError::PausedClock);
}

/// The same for an `Idem` that was built elsewhere and is used in a paused runtime.
#[test]
fn a_keeper_thread_is_refused_by_calls_on_a_paused_clock() {
    let process = World::new().real_process(|builder| builder);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    let refused = runtime.block_on(process.idem.scope(echo("k"))).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidSetting);
    assert!(refused.to_string().contains("keeper_as_task"), "{refused}");
}

/// What is claimed ends with the action's own deadline: from then on the keeper frees the key, whether
/// the body has noticed or not.
#[tokio::test(start_paused = true)]
async fn time_left_ends_at_the_deadline() {
    let process = World::new().process();
    let call = process.idem.call("op").key("k").deadline(LEASE * 2);
    let left = call.run(|lease| async move {
        tokio::time::sleep(LEASE * 2 - LEASE / 10).await;
        // Renewed three times since, so the lease has more than half of its time.
        Ok::<_, Error>(u64::try_from(lease.time_left().as_millis()).unwrap())
    });
    assert_eq!(left.await.unwrap().value, 100);
}
