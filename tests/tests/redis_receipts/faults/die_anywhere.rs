//! A process dies, or hears nothing for longer than its lease, at each command in turn of a dispatch, an
//! attach, a spawn (which is both), a reclaim and a cancel; what it sent may be carried out long afterwards. Whoever asks again has
//! a result in the end, of the one run that stands.

use std::time::Duration;

use futures_util::future::maybe_done;
use idem_runtime::{Error, RunStatus};
use idem_tests::{Aim, Fault, Trap};
use tokio::time::{sleep, timeout};

use super::settled::Settling;
use super::{PATIENCE, Rig, dispatch, everywhere};
use crate::kit::Queue;
use crate::processes::Process;

/// Short, since most of what follows a death is waiting for its end. What a slow machine makes of it is
/// one more fault.
pub(super) const LEASE: Duration = Duration::from_millis(400);
/// The lease of what a step finds, which nothing goes wrong with.
const PREPARED: Duration = Duration::from_millis(1_500);
pub(super) const HOLD: Duration = Duration::from_millis(400);
pub(super) const QUEUE_TIMEOUT: Duration = Duration::from_secs(2);
/// Given up before a lease is over, and repeated meanwhile.
const REPLY: Duration = Duration::from_millis(150);
const QUESTION: Duration = Duration::from_millis(600);

/// What is done under attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Dispatch,
    Spawn,
    Attach,
    ReclaimFailed,
    ReclaimWaited,
    ReclaimLapsed,
    Cancel,
}

/// What happens to the process at its n-th command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attack {
    /// It dies, and its command with it.
    DieBefore,
    /// It dies, and its command was carried out.
    DieAfter,
    /// It dies, and its command is carried out when all is over.
    DieAndComeLate,
    /// Its command takes longer than its lease.
    LateRequest,
    /// The reply does.
    LateReply,
}

impl Attack {
    fn set(self, rig: &Rig, nth: usize) -> Trap {
        let aim = Aim::all().nth(nth);
        match self {
            Self::DieBefore => rig.proxy.on_request(aim, Fault::Swallow),
            Self::DieAfter => rig.proxy.on_reply(aim, Fault::Swallow),
            Self::DieAndComeLate => rig.proxy.on_request(aim, Fault::Hold),
            Self::LateRequest => rig.proxy.on_request(aim, Fault::Delay(LEASE * 2)),
            Self::LateReply => rig.proxy.on_reply(aim, Fault::Delay(LEASE * 2)),
        }
    }

    const fn kills(self) -> bool {
        matches!(self, Self::DieBefore | Self::DieAfter | Self::DieAndComeLate)
    }
}

impl Step {
    /// Brings about what the step finds.
    async fn prepare(self, process: &Process, queue: &Queue) {
        if matches!(self, Self::Dispatch | Self::Spawn) {
            return;
        }
        let timeout = match self {
            Self::ReclaimWaited => Duration::from_millis(1),
            _ => QUEUE_TIMEOUT,
        };
        let receipt = queue.take(dispatch(&process.idem, HOLD, timeout)).await.unwrap();
        let attach = process.idem.attach(receipt.id());
        match self {
            Self::ReclaimFailed => {
                drop(attach.run(async { Err::<u64, _>("no paper") }).await.unwrap());
            }
            Self::ReclaimWaited => sleep(Duration::from_millis(5)).await,
            Self::ReclaimLapsed => {
                let body = std::future::pending::<Result<u64, Error>>();
                let vanished = tokio::spawn(attach.run(body));
                while matches!(receipt.status().await.unwrap(), RunStatus::Queued) {
                    sleep(Duration::from_millis(5)).await;
                }
                vanished.abort();
                // And a renewal that was under way.
                sleep(PREPARED + HOLD + LEASE).await;
            }
            Self::Dispatch | Self::Spawn | Self::Attach | Self::Cancel => {}
        }
    }

    /// Takes it. Whatever the answer is, it has to be true in the end as well.
    async fn take(self, process: &Process, queue: &Queue) {
        let run = queue.runs().first().copied();
        match (self, run) {
            (Self::Cancel, Some(run)) => {
                let of = process.idem.run(run);
                if of.cancel().await.is_ok_and(|status| status == RunStatus::Cancelled) {
                    queue.is_cancelled(run);
                }
            }
            (Self::Attach, Some(run)) => {
                let _ = process.idem.attach(run).run(async { Ok::<_, Error>(1_u64) }).await;
            }
            (Self::Spawn, _) => {
                let spawn = dispatch(&process.idem, HOLD, QUEUE_TIMEOUT);
                if let Ok(receipt) = spawn.spawn(async { Ok::<_, Error>(1_u64) }).await {
                    while receipt.status().await.is_ok_and(|status| !status.has_ended()) {
                        sleep(Duration::from_millis(5)).await;
                    }
                }
            }
            _ => drop(queue.take(dispatch(&process.idem, HOLD, QUEUE_TIMEOUT)).await),
        }
    }
}

/// Attacks at the n-th command; says whether there was one.
async fn ends_well(step: Step, attack: Attack, nth: usize) -> bool {
    let (rig, queue) = (Rig::start(), Queue::default());
    step.prepare(&rig.straight(PREPARED).await, &queue).await;
    let other = rig.straight(LEASE).await;
    let attacked = rig.process(LEASE, REPLY, QUESTION).await;
    let trap = attack.set(&rig, nth);
    let settling = Settling {
        what: format!("{step:?}, {attack:?} at {nth}"),
        server: &rig.server,
        process: &other,
        queue: &queue,
    };
    let struck = {
        let taken = timeout(PATIENCE, step.take(&attacked, &queue));
        let mut taken = std::pin::pin!(maybe_done(taken));
        let struck = tokio::select! {
            () = trap.strikes() => true,
            () = &mut taken => trap.struck() > 0,
        };
        if struck && attack.kills() {
            // It does nothing more, and what its keeper says from now on is not heard.
            rig.proxy.refuse(true);
            rig.proxy.on_request(Aim::all(), Fault::Swallow);
            settling.settle().await;
        } else {
            // The others do not wait for it.
            tokio::join!(taken.as_mut(), settling.settle());
            taken.take_output().unwrap().unwrap();
        }
        struck
    };
    let standing = settling.check().await;
    if attack == Attack::DieAndComeLate && struck {
        let passed = rig.proxy.passed(&Aim::all());
        trap.lift();
        idem_tests::eventually("it comes", || rig.proxy.answered(&Aim::all()) > passed).await;
    }
    assert_eq!(settling.check().await, standing, "{}", settling.what);
    struck
}

/// Each step under one attack.
macro_rules! attacks {
    ($($name:ident: $step:ident, at least $places:literal;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            for attack in [
                Attack::DieBefore,
                Attack::DieAfter,
                Attack::DieAndComeLate,
                Attack::LateRequest,
                Attack::LateReply,
            ] {
                let places = everywhere(move |nth| ends_well(Step::$step, attack, nth)).await;
                // Fewer would mean that something is not asked any more.
                assert!(places >= $places, "{attack:?}: {places}");
            }
        }
    )*};
}

attacks! {
    in_a_dispatch: Dispatch, at least 4;
    in_a_spawn: Spawn, at least 9;
    in_an_attach: Attach, at least 5;
    in_a_reclaim_of_a_run_that_failed: ReclaimFailed, at least 8;
    in_a_reclaim_of_a_run_that_was_not_picked_up: ReclaimWaited, at least 9;
    in_a_reclaim_of_a_run_whose_worker_vanished: ReclaimLapsed, at least 9;
    in_a_cancel: Cancel, at least 2;
}
