//! A connection is cut at an operation: before its request, in the midst of it, between request and
//! reply, in the midst of the reply. The operation is sent again and recognises itself.

use std::time::Duration;

use futures_util::future::join_all;
use idem_runtime::protocol::transition::{FenceReply, RenewReply, ReplaceReply};
use idem_runtime::record::Owner;
use idem_runtime::testing::Runs;
use idem_runtime::{Backend, Error, ErrorKind, Source};
use idem_tests::{Aim, Fault, Trap, eventually};

use super::{COMPLETE, FENCE, LONG_LEASE, PEEK, RELEASE, RENEW, REPLACE, Rig, begin_of, script_on};
use crate::kit::{LONG, Process, process_with, record_key, renewal, reservation, reserved};

/// Where a connection is cut.
#[derive(Clone, Copy, Debug)]
enum Cut {
    Request(usize),
    Reply(usize),
}

/// No shorter reply than four bytes is given: `:1` and its end.
const CUTS: [Cut; 6] = [
    Cut::Request(0),
    Cut::Request(1),
    Cut::Request(30),
    Cut::Request(usize::MAX),
    Cut::Reply(0),
    Cut::Reply(3),
];

impl Cut {
    fn key(self) -> String {
        match self {
            Self::Request(bytes) => format!("request {bytes}"),
            Self::Reply(bytes) => format!("reply {bytes}"),
        }
    }

    /// Cuts at the next of these commands.
    fn next(self, rig: &Rig, aim: Aim) -> Trap {
        match self {
            Self::Request(bytes) => rig.proxy.on_request(aim.nth(1), Fault::Cut(bytes)),
            Self::Reply(bytes) => rig.proxy.on_reply(aim.nth(1), Fault::Cut(bytes)),
        }
    }
}

/// A process behind a proxy, with one key for each place to cut at.
struct Bench {
    process: Process,
    rig: Rig,
    runs: Runs,
}

impl Bench {
    async fn new() -> Self {
        let rig = Rig::start();
        let process = rig.process().await;
        // Its keeper has its connection.
        process.call("warm", 0).await.unwrap();
        Self { process, rig, runs: Runs::new() }
    }

    async fn call(&self, key: &str) -> Result<idem_runtime::Outcome<u64>, Error> {
        let action = |_| async {
            let _run = self.runs.start(key);
            Ok::<_, Error>(1)
        };
        self.process.idem.call("charge").key(key).run(action).await
    }

    fn exists(&self, key: &str) -> bool {
        self.rig.server.ask(&["EXISTS", &super::record_name(key)])
    }
}

#[tokio::test]
async fn begin() {
    let bench = Bench::new().await;
    for cut in CUTS {
        let key = cut.key();
        let trap = cut.next(&bench.rig, begin_of(&key));
        let outcome = bench.call(&key).await.unwrap();
        assert_eq!((outcome.source, outcome.attempt), (Source::Fresh, 1), "{key}");
        assert!(outcome.stored && !outcome.lapsed, "{key}");
        assert_eq!((trap.struck(), bench.rig.proxy.came(&begin_of(&key))), (1, 2), "{key}");
        assert_eq!(bench.call(&key).await.unwrap().source, Source::Replayed);
        assert_eq!(bench.runs.total(&key), 1, "{key}");
    }
}

#[tokio::test]
async fn complete() {
    let bench = Bench::new().await;
    for cut in CUTS {
        let key = cut.key();
        let trap = cut.next(&bench.rig, script_on(COMPLETE, &key));
        let outcome = bench.call(&key).await.unwrap();
        assert!(outcome.stored && !outcome.lapsed, "{key}");
        assert_eq!(trap.struck(), 1, "{key}");
        assert_eq!(bench.rig.proxy.came(&script_on(COMPLETE, &key)), 2, "{key}");
        assert_eq!(bench.call(&key).await.unwrap().source, Source::Replayed);
        assert_eq!(bench.runs.total(&key), 1, "{key}");
    }
    assert!(!bench.process.events.has("completion_deferred"));
}

#[tokio::test]
async fn release() {
    let bench = Bench::new().await;
    for cut in CUTS {
        let key = cut.key();
        let trap = cut.next(&bench.rig, script_on(RELEASE, &key));
        let failed = call_that_fails(&bench, &key).await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::NotKept, "the action's own error");
        assert_eq!(trap.struck(), 1, "{key}");
        assert_eq!(bench.rig.proxy.came(&script_on(RELEASE, &key)), 2, "{key}");
        assert!(!bench.exists(&key), "{key}");
        assert_eq!(bench.call(&key).await.unwrap().source, Source::Fresh);
    }
}

/// A call whose action fails with an error that idem itself never gives here.
async fn call_that_fails(bench: &Bench, key: &str) -> Result<idem_runtime::Outcome<u64>, Error> {
    let fails = |_| async { Err(Error::of_kind(ErrorKind::NotKept, "charge")) };
    bench.process.idem.call("charge").key(key).run(fails).await
}

/// A renewal that is cut is not repeated: the next one comes in time, on a new connection. All places
/// at once, since each takes two intervals.
#[tokio::test]
async fn renew() {
    let rig = Rig::start();
    let rig = &rig;
    join_all(CUTS.map(async |cut| {
        let key = cut.key();
        let process = rig.process().await;
        let trap = cut.next(rig, script_on(RENEW, &key));
        // The second renewal is due at half the lease, its deadline is at nine tenths: 3.2 s later.
        let outcome = process.call_until(&key, 1, async {
            eventually("a renewal fails", || process.events.has("renewal_failed")).await;
            eventually("a renewal is answered", || process.events.has("renewed")).await;
        });
        let outcome = outcome.await.unwrap();
        assert!(outcome.stored && !outcome.lapsed, "{key}");
        assert_eq!(trap.struck(), 1, "{key}");
        assert!(!process.events.has("lease_gone") && !process.events.has("lease_at_risk"));
        assert_eq!(process.call(&key, 2).await.unwrap().source, Source::Replayed);
    }))
    .await;
}

/// The keeper's begin after *gone*, cut: it is sent again, and the outcome is stored.
#[tokio::test]
async fn the_keepers_begin_again() {
    let rig = Rig::start();
    let rig = &rig;
    join_all(CUTS.map(async |cut| {
        let key = cut.key();
        let process = rig.process().await;
        let outcome = process.call_until(&key, 1, async {
            let trap = cut.next(rig, begin_of(&key));
            let _: u64 = rig.server.ask(&["DEL", &super::record_name(&key)]);
            eventually("the keeper finds nothing", || process.events.has("lease_gone")).await;
            let again = || rig.proxy.answered(&begin_of(&key)) == 2;
            eventually("it has reserved again", again).await;
            assert_eq!((trap.struck(), rig.proxy.came(&begin_of(&key))), (1, 3), "{key}");
            let there: bool = rig.server.ask(&["EXISTS", &super::record_name(&key)]);
            assert!(there, "{key}");
        });
        let outcome = outcome.await.unwrap();
        assert!(outcome.stored && outcome.lapsed, "{key}");
        assert!(!process.events.has("lease_lost"), "{key}");
        assert_eq!(process.call(&key, 2).await.unwrap().source, Source::Replayed);
    }))
    .await;
}

/// A takeover that is cut is one takeover: it knows its own reservation, and asks once.
#[tokio::test]
async fn takeover() {
    let bench = Bench::new().await;
    let backend = bench.rig.connect().await;
    for cut in CUTS {
        let key = cut.key();
        // An owner that vanished, and is remembered.
        let lease = Duration::from_millis(1);
        let crashed = reservation(Owner::fresh()).remembered_for(LONG);
        backend.begin(&record_key(&key), &crashed, lease).await.unwrap();
        let trap = cut.next(&bench.rig, script_on(REPLACE, &key));
        let asked = Runs::new();
        let ask = async {
            let _asked = asked.start("reconcile");
            Ok::<_, Error>(None)
        };
        let action = |_| async {
            let _run = bench.runs.start(key.as_str());
            Ok::<_, Error>(1_u64)
        };
        let call = bench.process.idem.call("charge").key(&key);
        let outcome = call.run_reconciling(ask, action).await.unwrap();
        assert_eq!((outcome.source, outcome.attempt), (Source::Fresh, 2), "{key}");
        assert!(outcome.stored && !outcome.lapsed, "{key}");
        assert_eq!(trap.struck(), 1, "{key}");
        assert_eq!(bench.rig.proxy.came(&script_on(REPLACE, &key)), 2, "{key}");
        assert_eq!((asked.total("reconcile"), bench.runs.total(&key)), (1, 1), "{key}");
    }
    assert_eq!(bench.process.events.count("taken_over"), CUTS.len());
}

/// A fence whose reply was lost is given again.
#[tokio::test]
async fn fence() {
    let bench = Bench::new().await;
    for cut in CUTS {
        let key = cut.key();
        let trap = cut.next(&bench.rig, script_on(FENCE, &key));
        let action = |lease: idem_runtime::Lease| async move {
            Ok::<_, Error>((lease.fence().await.unwrap(), lease.fence().await.unwrap()))
        };
        let outcome = bench.process.idem.call("charge").key(&key).run(action).await.unwrap();
        assert_eq!(outcome.value.0, outcome.value.1, "{key}");
        assert_eq!(trap.struck(), 1, "{key}");
    }
}

/// The backend itself repeats nothing: each operation that is cut is unanswered, not refused, and the
/// next one is answered on a new connection.
#[tokio::test]
async fn each_operation_of_the_backend() {
    let rig = Rig::start();
    let backend = rig.connect().await;
    let key = record_key("a");
    for cut in CUTS {
        let owner = reserved(&backend, &key).await;
        macro_rules! is_cut {
            ($aim:expr, $operation:expr) => {{
                let trap = cut.next(&rig, $aim);
                let error = $operation.unwrap_err();
                assert!(!error.is_answer(), "{cut:?}: {error}");
                assert_eq!(trap.struck(), 1, "{cut:?}");
            }};
        }
        is_cut!(script_on(RENEW, "a"), backend.renew(&[renewal(&key, owner)]).await.remove(0));
        is_cut!(script_on(PEEK, "a"), backend.peek(&key).await);
        is_cut!(script_on(FENCE, "a"), backend.fence(&key, owner).await);
        is_cut!(begin_of("a"), backend.begin(&key, &reservation(owner), LONG).await);
        let renewed = backend.renew(&[renewal(&key, owner)]).await.remove(0);
        assert_eq!(renewed.unwrap(), RenewReply::Renewed, "{cut:?}");
        assert!(matches!(backend.fence(&key, owner).await.unwrap(), FenceReply::Fence(1..)));
        let new = reservation(Owner::fresh());
        let seen = reservation(owner).head();
        is_cut!(script_on(REPLACE, "a"), backend.replace(&key, seen, &new, LONG, None).await);
        let replaced = backend.replace(&key, seen, &new, LONG, None).await.unwrap();
        assert_eq!(replaced, ReplaceReply::Replaced, "{cut:?}");
        is_cut!(script_on(RELEASE, "a"), backend.release(&key, new.owner).await);
        backend.release(&key, new.owner).await.unwrap();
    }
}

/// Every connection is cut while nothing is sent, and new ones are refused for a while: the call waits
/// for the server as long as it may, and then says so.
#[tokio::test]
async fn connections_are_cut_and_refused() {
    let rig = Rig::start();
    let process = process_with(rig.connect().await, |builder| {
        builder.lease(LONG_LEASE).store_timeout(Duration::from_secs(2))
    });
    process.call("known", 1).await.unwrap();
    rig.proxy.refuse(true);
    rig.proxy.cut();
    let error = process.call("new", 2).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Backend);
    assert!(error.is_retryable() && !error.may_have_run(), "{error}");
    rig.proxy.heal();
    assert_eq!(process.call("known", 3).await.unwrap().value, 1);
    assert_eq!(process.call("new", 4).await.unwrap().source, Source::Fresh);
}
