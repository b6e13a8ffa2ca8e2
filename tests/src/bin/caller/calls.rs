//! The calls and their actions.

use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, SystemTime};

use idem_runtime::{Error, Idem, Lease};
use idem_tests::Ledger;
use idem_tests::caller::{Call, Ends, OPERATION, Settings, Told};

use crate::asks::Finished;
use crate::tell;

/// Makes the calls of one ask, each as a task of its own.
pub(crate) fn make(idem: &Idem, settings: &Settings, finished: &Finished, call: &Call) {
    let under_way = Arc::new(AtomicUsize::new(0));
    for _ in 0..call.times {
        let action = Action {
            call: call.clone(),
            ledger: settings.ledger.clone(),
            finished: finished.clone(),
        };
        tokio::spawn(one(idem.clone(), action, Arc::clone(&under_way)));
    }
}

async fn one(idem: Idem, action: Action, under_way: Arc<AtomicUsize>) {
    let Call { key, fingerprint, times, .. } = action.call.clone();
    let mut call = idem.call(OPERATION).key(&key);
    if let Some(of) = fingerprint {
        call = call.fingerprint(&of);
    }
    let mut call = pin!(call.run(|lease| action.run(lease)));
    // With its first poll a call has joined those of its key in this process.
    let first = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
    if under_way.fetch_add(1, Ordering::Relaxed) + 1 == times {
        tell(&Told::Called { key: key.clone() });
    }
    let answer = match first {
        Poll::Ready(answer) => answer,
        Poll::Pending => call.await,
    };
    let answer = answer.map(Into::into).map_err(Into::into);
    tell(&Told::Answered { key, answer });
}

/// What runs once for all calls of a key.
struct Action {
    call: Call,
    ledger: PathBuf,
    finished: Finished,
}

impl Action {
    async fn run(self, lease: Lease) -> Result<u64, Error> {
        let Self { call: Call { key, value, ends, .. }, ledger, mut finished } = self;
        let begun =
            Told::Begun { key: key.clone(), attempt: lease.attempt(), at: SystemTime::now() };
        tell(&begun);
        match ends {
            Ends::AtOnce => {}
            Ends::After(time) => tokio::time::sleep(time).await,
            // An error means that the input has ended, and the process with it.
            Ends::WhenTold => drop(finished.wait_for(|finished| finished.contains(&key)).await),
            Ends::WhenToldBlocking => {
                while !finished.borrow().contains(&key) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        }
        effect(&ledger, &key, value);
        tell(&Told::Ran { key });
        Ok(value)
    }
}

fn effect(ledger: &Path, key: &str, value: u64) {
    let written = Ledger::append(ledger, &format!("{key} {value}"));
    written.unwrap_or_else(|error| panic!("no effect at {}: {error}", ledger.display()));
}
