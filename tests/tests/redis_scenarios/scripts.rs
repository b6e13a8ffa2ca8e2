//! Scripts that the server has forgotten, when the next thing it hears of a call is one.

use futures_util::future::join_all;
use idem_runtime::Source;
use idem_tests::{LEASE, Process, RedisServer, eventually};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::kit::{World, call, call_until};

/// How the scripts were lost.
#[derive(Clone, Copy, Debug)]
enum Lost {
    Flushed,
    /// The server was killed and started again, with the records it had.
    Restarted,
}

const BOTH: [Lost; 2] = [Lost::Flushed, Lost::Restarted];

impl Lost {
    fn lose(self, server: &mut RedisServer) {
        match self {
            Self::Flushed => {
                let _: String = server.ask(&["SCRIPT", "FLUSH", "SYNC"]);
                let _: String = server.ask(&["CONFIG", "RESETSTAT"]);
            }
            Self::Restarted => server.restart(),
        }
    }
}

/// A server that keeps its records on the disk, in a folder that stays.
fn world() -> (World, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["--appendonly", "yes", "--appendfsync", "always", "--dir"];
    let path = folder.path().to_str().unwrap();
    (World::on(RedisServer::start_with(&[&settings[..], &[path]].concat())), folder)
}

/// Renewals every 2 s; a restart and all else that happens between two has most of a lease.
async fn process(world: &World) -> Process {
    world.process_with(|builder| builder.lease(LEASE * 8)).await
}

/// A script was asked for that the server did not know.
fn was_cold(server: &RedisServer) -> bool {
    server.ask::<String>(&["INFO", "errorstats"]).contains("errorstat_NOSCRIPT")
}

#[tokio::test]
async fn cold_scripts_and_a_renewal() {
    for lost in BOTH {
        let (mut world, _folder) = world();
        let process = process(&world).await;
        let outcome = call_until(&process.idem, "a", 1, async {
            lost.lose(&mut world.server);
            eventually("it is renewed", || process.events.has("renewed")).await;
            assert!(was_cold(&world.server), "{lost:?}");
        });
        let outcome = outcome.await.unwrap();
        assert!(outcome.stored && !outcome.lapsed, "{lost:?}");
        assert!(!process.events.has("lease_gone"), "{lost:?}");
        assert_eq!(call(&process.idem, "a", 2).await.unwrap().source, Source::Replayed);
    }
}

#[tokio::test]
async fn cold_scripts_and_a_completion() {
    for lost in BOTH {
        let (mut world, _folder) = world();
        let process = process(&world).await;
        let outcome =
            call_until(&process.idem, "a", 1, async { lost.lose(&mut world.server) }).await;
        let outcome = outcome.unwrap();
        assert!(outcome.stored && !outcome.lapsed, "{lost:?}");
        assert!(was_cold(&world.server), "{lost:?}");
        assert!(!process.events.has("renewed") && !process.events.has("completion_deferred"));
        assert_eq!(call(&process.idem, "a", 2).await.unwrap().source, Source::Replayed);
    }
}

/// Twenty leases, renewed together.
#[tokio::test]
async fn cold_scripts_and_a_batch() {
    const LEASES: u64 = 20;
    for lost in BOTH {
        let (mut world, _folder) = world();
        let process = process(&world).await;
        let (end, ended) = watch::channel(false);
        let calls =
            (0..LEASES).map(|nth| {
                let (process, mut ended) = (&process, ended.clone());
                let until = async move { drop(ended.wait_for(|ended| *ended).await) };
                async move {
                    call_until(&process.idem, &format!("key {nth}"), nth, until).await.unwrap()
                }
            });
        let conduct = async {
            eventually("all have begun", || world.server.calls("set") == LEASES).await;
            lost.lose(&mut world.server);
            let renewed = || process.events.count("renewed") >= usize::try_from(LEASES).unwrap();
            eventually("all are renewed", renewed).await;
            end.send(true).unwrap();
        };
        let (outcomes, ()) = tokio::join!(join_all(calls), conduct);
        assert!(was_cold(&world.server), "{lost:?}");
        assert!(outcomes.iter().all(|outcome| outcome.stored && !outcome.lapsed), "{lost:?}");
        assert!(!process.events.has("lease_gone"), "{lost:?}");
        assert_eq!(call(&process.idem, "key 0", 99).await.unwrap().source, Source::Replayed);
    }
}
