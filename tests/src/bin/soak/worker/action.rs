//! What runs: an action that writes down when it does, and what its owner claims.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use idem_runtime::{Error, Lease};
use idem_tests::soak::history::{CallId, Disturbance, Effect, End, Micros, What, micros, now};
use serde::{Deserialize, Serialize};

use super::World;
use super::plan::{Action, Ask};

/// How often an action looks how long its owner still claims the key.
const LOOK: Duration = Duration::from_millis(20);
/// A renewal moves the end of a claim by more than this.
const MOVED: Micros = 5_000;
/// What an action's own panic says.
const OWN_PANIC: &str = "the action's own panic";

/// How a call fails.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Failure {
    /// By an error of its action.
    Own(u64),
    /// By idem: the name of the kind.
    Refused(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(format!("{:?}", error.kind()))
    }
}

/// The panics of actions are planned, and say nothing to people.
pub(super) fn silence_own_panics() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref() != Some(&OWN_PANIC) {
            tell(info);
        }
    }));
}

pub(super) async fn until_all_have_ended(world: &World) {
    while world.running.load(Ordering::SeqCst) > 0 {
        tokio::time::sleep(LOOK).await;
    }
}

/// The call that something is done for.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) world: Arc<World>,
    pub(super) call: CallId,
    /// The effects of its key and arguments, beside the history, where a reconcile can find them.
    pub(super) effects: PathBuf,
}

/// Runs for a call: gives the call's own number, as a value or as an error.
pub(super) async fn act(site: Site, lease: Lease, plan: Action) -> Result<u64, Failure> {
    let (world, call) = (&site.world, site.call);
    let mut run = Running::begin(&site, lease);
    let (start, since) = (Instant::now(), now());
    let mut fence = plan.fence;
    loop {
        run.look();
        if start.elapsed() >= plan.effect_after {
            run.effect();
        }
        if std::mem::take(&mut fence)
            && let Ok(number) = run.lease.fence().await
        {
            world.writer.write(What::Fence { call, number });
        }
        let left = plan.lasts.saturating_sub(start.elapsed());
        if left.is_zero() {
            break;
        }
        if plan.blocks {
            std::thread::sleep(left.min(LOOK));
        } else {
            tokio::time::sleep(left.min(LOOK)).await;
        }
    }
    if plan.end == End::Returned {
        run.effect();
    }
    run.end(plan.end);
    if plan.blocks {
        world.writer.write(What::Disturbed { by: Disturbance::Blocked(call.process()), since });
    }
    match plan.end {
        End::Failed => Err(Failure::Own(call.0)),
        End::Panicked => std::panic::panic_any(OWN_PANIC),
        End::Returned | End::Dropped => Ok(call.0),
    }
}

/// An action that has begun and not ended.
struct Running<'a> {
    site: &'a Site,
    lease: Lease,
    /// What it last wrote down: until when the owner claimed its key, if it did.
    claim: Option<Option<Micros>>,
    has_effect: bool,
    ended: bool,
}

impl<'a> Running<'a> {
    fn begin(site: &'a Site, lease: Lease) -> Self {
        site.world.running.fetch_add(1, Ordering::SeqCst);
        let (call, attempt, protected) = (site.call, lease.attempt(), lease.is_protected());
        site.world.writer.write(What::Began { call, attempt, protected });
        Self { site, lease, claim: None, has_effect: false, ended: false }
    }

    /// Writes down until when the owner claims its key, if that has changed.
    fn look(&mut self) {
        // First the clock: read later, it would move the end of the claim.
        let at = now();
        let left = micros(self.lease.time_left());
        let claim = (left > 0).then_some(at + left);
        let known = match (self.claim, claim) {
            (Some(Some(known)), Some(claim)) => known.abs_diff(claim) < MOVED,
            (known, claim) => known == Some(claim),
        };
        if !known {
            self.claim = Some(claim);
            let until = claim.unwrap_or(at);
            self.site.world.writer.write_at(at, What::Holds { call: self.site.call, until });
        }
    }

    /// Has the effect, once: in the history first, so that nobody finds one that is not there.
    fn effect(&mut self) {
        if !std::mem::replace(&mut self.has_effect, true) {
            self.site.world.writer.write(What::Effect { call: self.site.call });
            let noted = note_effect(&self.site.effects, self.site.call);
            noted.unwrap_or_else(|error| panic!("no effect: {error}"));
        }
    }

    fn end(&mut self, end: End) {
        if !std::mem::replace(&mut self.ended, true) {
            self.site.world.writer.write(What::Ended { call: self.site.call, end });
            self.site.world.running.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.end(End::Dropped);
    }
}

fn note_effect(effects: &Path, call: CallId) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(effects)?;
    file.write_all(format!("{} {}\n", now(), call.0).as_bytes())
}

/// Finds out whether an effect happened that a crash may have left behind.
pub(super) async fn ask(
    Site { world, call, effects }: Site,
    since: Duration,
    plan: Ask,
) -> Result<Option<u64>, &'static str> {
    tokio::time::sleep(plan.lasts).await;
    if plan.fails {
        world.writer.write(What::Asked { call, answer: None });
        return Err("cannot say");
    }
    let since = now().saturating_sub(micros(since));
    let effect = last_effect(&effects).filter(|(at, _)| *at >= since);
    let value = effect.map(|(_, value)| value);
    let answer = value.map_or(Effect::Not, |value| Effect::Happened(CallId(value)));
    world.writer.write(What::Asked { call, answer: Some(answer) });
    Ok(value)
}

fn last_effect(effects: &Path) -> Option<(Micros, u64)> {
    let all = fs::read_to_string(effects).ok()?;
    let (at, value) = all.lines().next_back()?.split_once(' ')?;
    Some((at.parse().ok()?, value.parse().ok()?))
}
