//! One `Idem` on several runtimes: each has a connection of its own, and none needs another's.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idem_runtime::{Error, Idem, Source, idempotent, observe};
use idem_tests::{RedisServer, eventually};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::OnceCell;

use crate::kit::{connect, process, process_with};

static SERVER: std::sync::LazyLock<RedisServer> = std::sync::LazyLock::new(RedisServer::start);
static RUNS: AtomicU64 = AtomicU64::new(0);

/// Installs an `Idem` once, from whichever runtime comes first: that one may end before the others.
async fn install() {
    static ONCE: OnceCell<()> = OnceCell::const_new();
    ONCE.get_or_init(|| async {
        let idem = Idem::builder().backend(connect(&SERVER).await).lease(Duration::from_secs(1));
        idem.build().unwrap().install().unwrap();
    })
    .await;
}

#[idempotent(name = "installed", key = nth)]
async fn count(nth: u64) -> Result<u64, Error> {
    // Longer than a lease: the keeper has its own connection.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    RUNS.fetch_add(1, Ordering::Relaxed);
    Ok(nth)
}

async fn counts(nth: u64) {
    install().await;
    let observed = observe(count(nth)).await;
    assert_eq!(observed.result.unwrap(), nth);
    let facts = observed.facts.unwrap();
    assert!(facts.stored && !facts.lapsed && facts.source == Source::Fresh);
    assert_eq!(observe(count(nth)).await.facts.unwrap().source, Source::Replayed);
}

#[tokio::test]
async fn an_installed_idem_serves_the_first_test() {
    counts(1).await;
}

#[tokio::test]
async fn an_installed_idem_serves_the_second_test() {
    counts(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installed_idem_serves_the_third_test() {
    counts(3).await;
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn a_runtime_that_has_ended_takes_its_connection_with_it_only() {
    let server = RedisServer::start();
    let first = runtime();
    let backend = first.block_on(connect(&server));
    let process = process_with(backend.clone(), |builder| builder);
    first.block_on(process.call("a", 1)).unwrap();
    let second = runtime();
    assert_eq!(second.block_on(process.call("a", 2)).unwrap().source, Source::Replayed);
    assert!(format!("{backend:?}").contains("runtimes: 2"), "{backend:?}");
    drop(first);
    assert_eq!(second.block_on(process.call("b", 3)).unwrap().source, Source::Fresh);
    drop(second);
    for nth in 0..5 {
        let key = format!("runtime {nth}");
        assert_eq!(runtime().block_on(process.call(&key, nth)).unwrap().source, Source::Fresh);
    }
    assert!(!process.events.has("failed") && !process.events.has("completion_deferred"));
    // Ids of runtimes are used again: what belongs to one that has ended is forgotten.
    assert!(format!("{backend:?}").contains("runtimes: 0"), "{backend:?}");
    // Its connection is closed: what is left is the asking one.
    let last = runtime();
    last.block_on(eventually("their connections are gone", || {
        let clients: String = server.ask(&["CLIENT", "LIST", "TYPE", "normal"]);
        clients.lines().count() == 1
    }));
}

/// While one runtime stands still, calls on another and the keeper go on.
#[test]
fn a_runtime_that_stands_still_holds_up_no_other() {
    let server = RedisServer::start();
    let (still, moving) = (runtime(), runtime());
    let process = still.block_on(process(&server));
    // Its connection is open, and nobody drives it any more.
    still.block_on(process.call("a", 1)).unwrap();
    assert_eq!(moving.block_on(process.call("a", 2)).unwrap().source, Source::Replayed);

    let blocked = still.block_on(process.call_until("b", 3, async {
        // Two leases, on the thread of the runtime.
        std::thread::sleep(Duration::from_secs(2));
        let elsewhere = std::thread::scope(|scope| {
            scope.spawn(|| moving.block_on(process.call("c", 4))).join().unwrap()
        });
        assert_eq!(elsewhere.unwrap().source, Source::Fresh);
    }));
    let blocked = blocked.unwrap();
    assert!(blocked.stored && !blocked.lapsed);
}

/// A connection that nobody uses any more ends with the backend, also while its runtime lives.
#[tokio::test]
async fn a_backend_that_is_dropped_closes_its_connections() {
    let server = RedisServer::start();
    let process = process(&server).await;
    process.call("a", 1).await.unwrap();
    drop(process);
    eventually("all connections are closed", || {
        let clients: String = server.ask(&["CLIENT", "LIST"]);
        clients.lines().count() == 1
    })
    .await;
}
