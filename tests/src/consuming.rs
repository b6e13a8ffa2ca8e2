//! A consumer of a stream in a process of its own, that can be killed and stopped. The program is the
//! binary `consumer` of this package.

use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Program;

/// Whom it consumes, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The server.
    pub url: String,
    /// The stream; its group is `billing`, its dead letters have `.dead` after their name.
    pub stream: String,
    /// The consumer's name, if it is to have one.
    pub name: Option<String>,
    /// See `ConsumerBuilder::retry_on_idle`.
    pub retry_on_idle: Duration,
    /// See `ConsumerBuilder::max_deliveries`.
    pub max_deliveries: u64,
}

/// What the handler does with a message, by its field `act`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// It is done at once.
    Finish,
    /// It takes for ever.
    Stay,
    /// It ends when the process has been stopped and goes on.
    FinishWhenPaused,
    /// The process dies.
    Abort,
}

/// What it tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Told {
    /// A handler begins, with the message's id and delivery.
    Began(String, u64),
    /// A handler has ended.
    Ended(String),
    /// Something happened, by the event's name.
    Event(String),
}

/// A running consumer, as a test sees it. Dropping it ends it.
#[derive(Debug)]
pub struct Consuming(Program<Told>);

impl Consuming {
    /// Starts the program `command`, which is `consumer`.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(mut command: Command, settings: &Settings) -> Self {
        let settings = serde_json::to_string(settings).expect("settings can be written");
        Self(Program::start(command.arg(settings)))
    }

    /// Waits until a handler of this message begins; which delivery it is.
    pub fn begins(&mut self, id: &str) -> u64 {
        self.0.hear("a handler begins", |told| match told {
            Told::Began(of, delivery) if of == id => Some(*delivery),
            _ => None,
        })
    }

    /// Waits for an event of this name.
    pub fn hears(&mut self, name: &str) {
        self.0.hear(name, |told| matches!(told, Told::Event(of) if of == name).then_some(()));
    }

    /// Whether a handler of this message has ended, save those waited for.
    pub fn has_ended(&mut self, id: &str) -> bool {
        self.0.has_told(|told| matches!(told, Told::Ended(of) if of == id))
    }

    /// Whether it has told an event of this name, save those waited for.
    pub fn has_heard(&mut self, name: &str) -> bool {
        self.0.has_told(|told| matches!(told, Told::Event(of) if of == name))
    }

    /// Stops it where it is, as SIGSTOP does.
    pub fn pause(&mut self) {
        self.0.pause();
    }

    /// Lets it go on.
    pub fn resume(&mut self) {
        self.0.resume();
    }

    /// Kills it, as SIGKILL does.
    pub fn kill(&mut self) {
        self.0.kill();
    }
}
