//! What the caller is asked, read by a thread of its own, so that an action that holds all others
//! can be finished.

use std::collections::HashSet;

use idem_tests::caller::{Ask, Call};
use tokio::sync::{mpsc, watch};

/// The keys whose actions may end.
pub(crate) type Finished = watch::Receiver<HashSet<String>>;

/// What comes in.
pub(crate) struct Asks {
    /// The calls to make.
    pub(crate) calls: mpsc::UnboundedReceiver<Call>,
    /// The actions that may end.
    pub(crate) finished: Finished,
}

/// Reads the standard input; the process ends with it.
pub(crate) fn read() -> Asks {
    let (make, calls) = mpsc::unbounded_channel();
    let (finish, finished) = watch::channel(HashSet::new());
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Ask::Call(call)) => drop(make.send(call)),
                Ok(Ask::Finish(key)) => finish.send_modify(|finished| {
                    finished.insert(key);
                }),
                Err(error) => {
                    eprintln!("caller: {line}: {error}");
                    std::process::exit(2);
                }
            }
        }
        std::process::exit(0);
    });
    Asks { calls, finished }
}
