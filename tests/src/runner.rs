//! A runner: a process of its own that dispatches runs and works them off as a test tells it to. The
//! program is the binary `runner` of this package.

mod messages;

use std::process::Command;

use idem_runtime::RunId;

use crate::Program;
use crate::caller::{Refused, Settings};

pub use messages::{Ask, Body, Dispatch, Given, OPERATION, Ran, Told, Way};

/// A running runner, as a test sees it. Dropping it ends it.
#[derive(Debug)]
pub struct Runner(Program<Told>);

impl Runner {
    /// Starts the program `command`, which is `runner` or something that becomes it, and waits until
    /// it is connected.
    ///
    /// # Panics
    /// If that does not come about.
    #[must_use]
    pub fn start(mut command: Command, settings: &Settings) -> Self {
        let settings = serde_json::to_string(settings).expect("settings can be written");
        let mut program = Program::start(command.arg(settings));
        program.hear("it is ready", |told| matches!(told, Told::Ready).then_some(()));
        Self(program)
    }

    /// Has it dispatch.
    pub fn dispatch(&mut self, dispatch: Dispatch) {
        self.0.ask(&Ask::Dispatch(dispatch));
    }

    /// Waits until a run of this key's dispatch was handed to the queue.
    pub fn queued(&mut self, of: &str) -> RunId {
        self.0.hear("a run is queued", |told| match told {
            Told::Queued { key, run } if key == of => Some(*run),
            _ => None,
        })
    }

    /// Whether a run of this key's dispatch was handed to the queue, save those waited for.
    pub fn has_queued(&mut self, of: &str) -> bool {
        self.0.has_told(|told| matches!(told, Told::Queued { key, .. } if key == of))
    }

    /// Waits for the end of a dispatch of this key.
    pub fn given(&mut self, of: &str) -> Result<Given, Refused> {
        self.0.hear("a dispatch has ended", |told| match told {
            Told::Dispatched { key, given } if key == of => Some(given.clone()),
            _ => None,
        })
    }

    /// Has it dispatch, and waits for the receipt.
    ///
    /// # Panics
    /// If there is none.
    pub fn receipt(&mut self, dispatch: Dispatch) -> Given {
        let key = dispatch.key.clone();
        self.dispatch(dispatch);
        self.given(&key).unwrap_or_else(|refused| panic!("no receipt: {refused:?}"))
    }

    /// Has it dispatch to the queue, and waits for the new run.
    ///
    /// # Panics
    /// If there was a run before.
    pub fn new_run(&mut self, dispatch: Dispatch) -> RunId {
        let key = dispatch.key.clone();
        let given = self.receipt(dispatch);
        assert!(!given.replay, "{given:?}");
        assert_eq!(self.queued(&key), given.run);
        given.run
    }

    /// Has it work off a run.
    pub fn attach(&mut self, run: RunId, body: Body) {
        self.0.ask(&Ask::Attach(run, body));
    }

    /// Waits until the body of a run runs: the attempt.
    pub fn began(&mut self, of: RunId) -> u32 {
        self.0.hear("a body runs", |told| match told {
            Told::Began { run, attempt } if *run == of => Some(*attempt),
            _ => None,
        })
    }

    /// Has it work off a run, and waits until the body runs, which ends when it is told to.
    pub fn begin(&mut self, run: RunId, value: u64) {
        self.attach(run, Body::held(value));
        assert_eq!(self.began(run), 1);
    }

    /// Waits until a body knows that its lease is lost.
    pub fn lost(&mut self, of: RunId) {
        self.0.hear("a lease is lost", |told| match told {
            Told::Lost { run } if *run == of => Some(()),
            _ => None,
        });
    }

    /// Waits until it is done with a run.
    pub fn worked(&mut self, of: RunId) -> Result<Ran, Refused> {
        self.0.hear("a run was worked off", |told| match told {
            Told::Worked { run, ran } if *run == of => Some(ran.clone()),
            _ => None,
        })
    }

    /// Whether it is done with a run, and nobody has looked at that yet.
    pub fn has_worked(&mut self, of: RunId) -> bool {
        self.0.has_told(|told| matches!(told, Told::Worked { run, .. } if *run == of))
    }

    /// Has it work off a run, and waits until it is done with it.
    ///
    /// # Panics
    /// If it is refused.
    pub fn work(&mut self, run: RunId, value: u64) -> Ran {
        self.attach(run, Body::of(value));
        self.worked(run).unwrap_or_else(|refused| panic!("not worked off: {refused:?}"))
    }

    /// Has it cancel a run: how that stands then.
    ///
    /// # Panics
    /// If it is refused.
    pub fn cancel(&mut self, of: RunId) -> String {
        self.0.ask(&Ask::Cancel(of));
        let status = self.0.hear("a cancel has ended", |told| match told {
            Told::Cancelled { run, status } if *run == of => Some(status.clone()),
            _ => None,
        });
        status.unwrap_or_else(|refused| panic!("not cancelled: {refused:?}"))
    }

    /// How a run stands, and its result.
    ///
    /// # Panics
    /// If it is refused.
    pub fn look(&mut self, of: RunId) -> (String, Option<u64>) {
        self.0.ask(&Ask::Look(of));
        let (status, result) = self.0.hear("a run was looked at", |told| match told {
            Told::Looked { run, status, result } if *run == of => Some((status.clone(), *result)),
            _ => None,
        });
        (status.unwrap_or_else(|refused| panic!("not looked at: {refused:?}")), result)
    }

    /// Lets what is held under this name end.
    pub fn finish(&mut self, name: &impl ToString) {
        self.0.ask(&Ask::Finish(name.to_string()));
    }

    /// Waits until an event of this name happens that was not waited for before.
    pub fn event(&mut self, name: &str) {
        self.0.hear(name, |told| matches!(told, Told::Event(event) if event == name).then_some(()));
    }

    /// Whether an event of this name has happened, save those waited for.
    pub fn has_event(&mut self, name: &str) -> bool {
        self.0.has_told(|told| matches!(told, Told::Event(event) if event == name))
    }

    /// Stops it where it is.
    pub fn pause(&mut self) {
        self.0.pause();
    }

    /// Lets it go on.
    pub fn resume(&mut self) {
        self.0.resume();
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.0.kill();
    }
}
