//! A caller: a process of its own that makes calls as a test tells it to. The program is the binary
//! `caller` of this package.

mod messages;
mod settings;

use std::process::Command;
use std::time::SystemTime;

use crate::Program;

pub use messages::{Answer, Ask, Call, Done, Ends, OPERATION, Refused, Told};
pub use settings::{OnCrash, OnDrop, OnDuplicate, OnLost, OnOutage, Runtime, Settings};

/// A running caller, as a test sees it. Dropping it ends it.
#[derive(Debug)]
pub struct Caller(Program<Told>);

impl Caller {
    /// Starts the program `command`, which is `caller` or something that becomes it, and waits until
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

    /// Has it call, and waits until the calls are under way.
    pub fn call(&mut self, call: Call) {
        let key = call.key.clone();
        self.0.ask(&Ask::Call(call));
        self.called(&key);
    }

    /// Has it call, and waits for the answer.
    pub fn answer_to(&mut self, call: Call) -> Answer {
        let key = call.key.clone();
        self.call(call);
        self.answer(&key)
    }

    /// Has it call, and waits until the action runs: the attempt, and the caller's wall clock.
    pub fn begin(&mut self, call: Call) -> (u32, SystemTime) {
        let Call { key, ends, .. } = call.clone();
        self.0.ask(&Ask::Call(call));
        let begun = self.begun(&key);
        // An action that holds its thread keeps its call from being told of.
        if ends != Ends::WhenToldBlocking {
            self.called(&key);
        }
        begun
    }

    /// Lets the actions of this key end.
    pub fn finish(&mut self, key: &str) {
        self.0.ask(&Ask::Finish(key.to_owned()));
    }

    fn called(&mut self, of: &str) {
        self.0.hear("the calls are under way", |told| match told {
            Told::Called { key } if key == of => Some(()),
            _ => None,
        });
    }

    /// Waits until an action of this key runs.
    pub fn begun(&mut self, of: &str) -> (u32, SystemTime) {
        self.0.hear("an action runs", |told| match told {
            Told::Begun { key, attempt, at } if key == of => Some((*attempt, *at)),
            _ => None,
        })
    }

    /// Waits for the next answer to a call of this key.
    pub fn answer(&mut self, of: &str) -> Answer {
        self.0.hear("a call is answered", |told| match told {
            Told::Answered { key, answer } if key == of => Some(answer.clone()),
            _ => None,
        })
    }

    /// Whether a call of this key has been answered and nobody has looked at it yet.
    pub fn is_answered(&mut self, of: &str) -> bool {
        self.0.has_told(|told| matches!(told, Told::Answered { key, .. } if key == of))
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
