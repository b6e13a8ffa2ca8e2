//! What goes wrong with which commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use crate::eventually;

/// Which commands are meant. Cheap to build; nothing is set off by it.
#[derive(Clone, Debug, Default)]
pub struct Aim {
    /// Something that no command has asked for.
    unasked: bool,
    name: Option<String>,
    arguments: Vec<String>,
    nth: Option<usize>,
}

impl Aim {
    /// Everything; among replies also what the server sends unasked.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// What the server sends unasked: messages of subscriptions.
    #[must_use]
    pub fn unasked() -> Self {
        Self { unasked: true, ..Self::default() }
    }

    /// The commands of this name: `SET`.
    #[must_use]
    pub fn command(name: &str) -> Self {
        Self { name: Some(name.to_uppercase()), ..Self::default() }
    }

    /// The calls of the script with this code.
    #[must_use]
    pub fn script(code: &str) -> Self {
        Self::command("EVALSHA").about(redis::Script::new(code).get_hash())
    }

    /// Of these, the ones that have this argument: a record's name.
    #[must_use]
    pub fn about(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Of these, only the n-th (the first is 1) from when the fault is set.
    #[must_use]
    pub const fn nth(mut self, nth: usize) -> Self {
        self.nth = Some(nth);
        self
    }

    /// Whether this command is meant; `None` is something unasked.
    pub(super) fn meets(&self, command: Option<&Command>) -> bool {
        let Some(command) = command else { return self.unasked || self.name.is_none() };
        !self.unasked
            && self.name.as_ref().is_none_or(|name| *name == command.name)
            && self
                .arguments
                .iter()
                .all(|argument| command.arguments.iter().any(|given| given == argument.as_bytes()))
    }
}

/// A command as it came from a client.
#[derive(Debug)]
pub(super) struct Command {
    /// In capitals.
    pub(super) name: String,
    pub(super) arguments: Vec<Vec<u8>>,
}

impl Command {
    /// From its name and its arguments.
    pub(super) fn new(mut texts: Vec<Vec<u8>>) -> Self {
        let name = String::from_utf8_lossy(&texts.remove(0)).to_uppercase();
        Self { name, arguments: texts }
    }

    /// Whether it subscribes to channels, or gives that up.
    pub(super) fn subscribes(&self) -> bool {
        self.name.ends_with("SUBSCRIBE")
    }
}

/// Which way something goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From the client to the server.
    Request,
    /// From the server to the client.
    Reply,
}

/// What goes wrong with a request, or with the reply to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// So many bytes of it go on, then the connection is closed on both sides. What went on before
    /// it is carried out.
    Cut(usize),
    /// It goes on this much later, and what comes after it on this way waits as well.
    Delay(Duration),
    /// It goes on when the fault is lifted, and what comes after it on this way waits as well. The
    /// connection stays open: the peer has vanished without a word.
    Hold,
    /// These bytes go on in its place.
    Instead(Arc<[u8]>),
    /// It is dropped, and whatever comes after it on this way of this connection, which stays open
    /// and never recovers.
    Swallow,
}

/// A fault that was set: whether it has struck, and its end.
#[derive(Clone, Debug)]
pub struct Trap(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    way: Way,
    aim: Aim,
    fault: Fault,
    met: AtomicUsize,
    struck: AtomicUsize,
    lifted: watch::Sender<bool>,
}

impl Trap {
    pub(super) fn new(way: Way, aim: Aim, fault: Fault) -> Self {
        let (met, struck) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self(Arc::new(Inner { way, aim, fault, met, struck, lifted: watch::channel(false).0 }))
    }

    /// How often it has struck.
    #[must_use]
    pub fn struck(&self) -> usize {
        self.0.struck.load(Ordering::SeqCst)
    }

    /// Resolves once it has struck: a request has been kept from the server, or the server has
    /// carried it out and the reply is kept from the client.
    pub async fn strikes(&self) {
        eventually(&format!("{:?} strikes", self.0.aim), || self.struck() > 0).await;
    }

    /// Ends it: it strikes no more, and what it holds goes on.
    pub fn lift(&self) {
        self.0.lifted.send_replace(true);
    }

    /// Whether it is for what goes this way; counts what it could be for.
    pub(super) fn is_for(&self, way: Way, command: Option<&Command>) -> bool {
        let Inner { way: own, aim, met, lifted, .. } = &*self.0;
        if *own != way || *lifted.borrow() || !aim.meets(command) {
            return false;
        }
        let nth = met.fetch_add(1, Ordering::SeqCst) + 1;
        aim.nth.is_none_or(|only| only == nth)
    }

    pub(super) fn strike(&self) -> Fault {
        self.0.struck.fetch_add(1, Ordering::SeqCst);
        self.0.fault.clone()
    }

    pub(super) async fn lifted(&self) {
        // Never fails: this trap has the sender.
        let _ = self.0.lifted.subscribe().wait_for(|lifted| *lifted).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(request: &[&str]) -> Command {
        Command::new(request.iter().map(|text| text.as_bytes().to_vec()).collect())
    }

    #[test]
    fn aims_meet_what_they_name() {
        let set = command(&["set", "key", "value", "NX"]);
        assert!(Aim::all().meets(Some(&set)) && Aim::all().meets(None));
        assert!(Aim::command("Set").meets(Some(&set)) && !Aim::command("SET").meets(None));
        assert!(!Aim::command("GET").meets(Some(&set)));
        assert!(Aim::unasked().meets(None) && !Aim::unasked().meets(Some(&set)));
        assert!(Aim::command("SET").about("key").about("NX").meets(Some(&set)));
        assert!(!Aim::command("SET").about("key").about("XX").meets(Some(&set)));
        // The hash as the server gives it: `SCRIPT LOAD "return 1"`.
        let hash = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
        assert!(Aim::script("return 1").meets(Some(&command(&["EVALSHA", hash, "0"]))));
        assert!(!Aim::script("return 2").meets(Some(&command(&["EVALSHA", hash, "0"]))));
    }

    #[test]
    fn a_trap_is_for_what_it_aims_at_until_it_is_lifted() {
        let set = command(&["SET", "key", "value"]);
        let is_for = |trap: &Trap| trap.is_for(Way::Request, Some(&set));
        let second = Trap::new(Way::Request, Aim::command("SET").nth(2), Fault::Hold);
        assert!(!second.is_for(Way::Reply, Some(&set)));
        assert!(!second.is_for(Way::Request, Some(&command(&["GET", "key"]))));
        assert_eq!([(); 3].map(|()| is_for(&second)), [false, true, false]);
        let each = Trap::new(Way::Request, Aim::all(), Fault::Hold);
        assert!(is_for(&each) && is_for(&each));
        each.lift();
        assert!(!is_for(&each));
    }
}
