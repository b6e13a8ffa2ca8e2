//! Makes things go wrong as the schedule says, and writes down what did and for how long.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use idem_tests::soak::history::{Disturbance, What, Writer, now};
use idem_tests::{Aim, Fault, Proxy, RedisServer};

use crate::guard::Guarded;
use crate::schedule::{Outage, Planned, Trouble};
use crate::worker::Settings;

/// What those who make things go wrong share.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) start: Instant,
    pub(crate) writer: Arc<Writer>,
    /// Somebody wants the soak to end.
    pub(crate) stops: Arc<AtomicBool>,
}

impl Stage {
    /// Waits until it is time; `false`: the soak is to end.
    fn wait_until(&self, at: Duration) -> bool {
        while !self.stops.load(Ordering::Relaxed) {
            let left = at.saturating_sub(self.start.elapsed());
            if left.is_zero() {
                return true;
            }
            sleep(left.min(Duration::from_millis(50)));
        }
        false
    }

    /// Does something that goes wrong, and writes it down with the time that it took.
    fn disturb<T>(&self, by: Disturbance, act: impl FnOnce() -> T) -> T {
        let since = now();
        let done = act();
        self.writer.write(What::Disturbed { by, since });
        done
    }
}

/// A process and its way to the server.
#[derive(Debug)]
pub(crate) struct Victim {
    program: PathBuf,
    settings: Settings,
    proxy: Proxy,
    process: Option<Guarded>,
}

impl Victim {
    pub(crate) fn start(program: PathBuf, settings: Settings, proxy: Proxy) -> io::Result<Self> {
        let process = Some(start(&program, &settings)?);
        Ok(Self { program, settings, proxy, process })
    }

    /// Everything that is planned, one after the other. An error: it has ended by itself.
    pub(crate) fn suffer(&mut self, stage: &Stage, plan: &[Planned<Trouble>]) -> io::Result<()> {
        for Planned { at, what } in plan {
            if !stage.wait_until(*at) {
                break;
            }
            self.meet(stage, *what)?;
            self.proxy.forget();
        }
        Ok(())
    }

    fn meet(&mut self, stage: &Stage, trouble: Trouble) -> io::Result<()> {
        let id = self.settings.process;
        match trouble {
            Trouble::Kill(pause) => return self.kill(stage, pause),
            Trouble::Pause(lasts) => {
                let Some(process) = &self.process else { return Ok(()) };
                return stage.disturb(Disturbance::Paused(id), || {
                    process.pause()?;
                    sleep(lasts);
                    process.resume()
                });
            }
            Trouble::Cut => stage.disturb(Disturbance::Way(id), || self.proxy.cut()),
            Trouble::Refuse(lasts) => stage.disturb(Disturbance::Way(id), || {
                self.proxy.refuse(true);
                self.proxy.cut();
                sleep(lasts);
                self.proxy.heal();
            }),
            Trouble::Slow { replies, by, lasts } => {
                self.fault(stage, replies, &Fault::Delay(by), lasts);
            }
            Trouble::Hold { replies, lasts } => self.fault(stage, replies, &Fault::Hold, lasts),
            Trouble::Swallow { replies, lasts } => {
                self.fault(stage, replies, &Fault::Swallow, lasts);
            }
        }
        Ok(())
    }

    fn fault(&self, stage: &Stage, replies: bool, fault: &Fault, lasts: Duration) {
        stage.disturb(Disturbance::Way(self.settings.process), || {
            if replies {
                self.proxy.on_reply(Aim::all(), fault.clone());
            } else {
                self.proxy.on_request(Aim::all(), fault.clone());
            }
            sleep(lasts);
            self.proxy.heal();
            // What was slow when this ended is as slow as it was.
            if let Fault::Delay(by) = *fault {
                sleep(by);
            }
        });
    }

    fn kill(&mut self, stage: &Stage, pause: Duration) -> io::Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        if let Some(status) = process.has_ended()? {
            return Err(io::Error::other(format!("a process ended by itself: {status}")));
        }
        let Settings { process: id, life, .. } = self.settings;
        stage.disturb(Disturbance::Killed { process: id, life }, || process.kill())?;
        sleep(pause);
        self.settings.life += 1;
        self.process = Some(start(&self.program, &self.settings)?);
        Ok(())
    }

    /// Waits until it ends by itself.
    pub(crate) fn end(mut self, patience: Duration) -> io::Result<()> {
        let Some(process) = self.process.take() else { return Ok(()) };
        ended(process, patience)
    }
}

/// Starts a process of the soak.
pub(crate) fn start(program: &PathBuf, settings: &Settings) -> io::Result<Guarded> {
    let settings = serde_json::to_string(settings)?;
    Guarded::start(Command::new(program).arg("--worker").arg(settings))
}

/// Waits until a process ends by itself, and well.
pub(crate) fn ended(process: Guarded, patience: Duration) -> io::Result<()> {
    match process.wait(patience)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(io::Error::other(format!("a process ended with {status}"))),
        None => Err(io::Error::other(format!("a process did not end within {patience:?}"))),
    }
}

/// Everything that is planned for the server, one after the other.
pub(crate) fn break_server(server: &mut RedisServer, stage: &Stage, plan: &[Planned<Outage>]) {
    for Planned { at, what } in plan {
        if !stage.wait_until(*at) {
            return;
        }
        match *what {
            Outage::Restart(pause) => stage.disturb(Disturbance::ServerRestarted, || {
                restart(server, pause);
            }),
            Outage::Empty(pause) => stage.disturb(Disturbance::ServerEmptied, || {
                let _: String = server.ask(&["FLUSHALL", "SYNC"]);
                restart(server, pause);
            }),
            Outage::Pause(lasts) => stage.disturb(Disturbance::ServerPaused, || {
                server.pause();
                sleep(lasts);
                server.resume();
            }),
            Outage::ForgetScripts => stage.disturb(Disturbance::ServerForgot, || {
                let _: String = server.ask(&["SCRIPT", "FLUSH", "SYNC"]);
            }),
            Outage::KillClients => stage.disturb(Disturbance::ServerForgot, || {
                for kind in ["normal", "pubsub"] {
                    let _: u64 = server.ask(&["CLIENT", "KILL", "TYPE", kind]);
                }
            }),
        }
    }
}

fn restart(server: &mut RedisServer, pause: Duration) {
    server.kill();
    sleep(pause);
    server.restart();
}
