//! Counts the bytes that a lease takes while it is held, and prints them as JSON.

mod yes;

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use anyhow::{bail, ensure};
use idem_runtime::{Error, Idem, Lease, MemoryBackend, idempotent, lease};
use serde_json::json;

use yes::Yes;

const LEASES: usize = 100_000;

/// A call that is under way.
type Held<'a> = Pin<Box<dyn Future<Output = Result<u64, Error>> + 'a>>;

fn main() -> anyhow::Result<()> {
    let nowhere = count(&Idem::builder().backend(Yes).build()?)?;
    let in_memory = count(&Idem::builder().backend(MemoryBackend::new()).build()?)?;
    let record = in_memory.runtime - nowhere.runtime;
    let each = |bytes: i64| bytes as f64 / LEASES as f64;
    let Bytes { runtime, future } = nowhere;
    let (runtime, future, record) = (each(runtime), each(future), each(record));
    println!("{}", json!({ "runtime": runtime, "future": future, "record": record }));
    Ok(())
}

/// Bytes of all leases that are held.
struct Bytes {
    /// What the runtime (and a store in memory) keeps of them.
    runtime: i64,
    /// What is in the callers' futures.
    future: i64,
}

/// Counts on this thread; the keeper, which renews nothing yet, has its own.
fn count(idem: &Idem) -> anyhow::Result<Bytes> {
    let keys: Vec<String> = (0..LEASES).map(|number| format!("lease-{number:08}")).collect();
    let leases = Leases(Mutex::new(Vec::with_capacity(LEASES + 1)));
    // The keeper starts with the first.
    let first = begun(Box::pin(hold(idem, "the first", &leases)))?;
    let mut calls = Ok(Vec::new());
    let taken = measure(|| {
        calls = keys.iter().map(|key| begun(Box::pin(hold(idem, key, &leases)))).collect();
    });
    let (calls, own) = (calls?, LEASES * size_of::<Held<'_>>());
    // The leases are still in the actions' hands, and with them all that the runtime has of them.
    let given_back = measure(|| drop(calls));
    drop(first);
    let count = leases.0.lock().unwrap_or_else(PoisonError::into_inner).len();
    ensure!(count == LEASES + 1, "{count} leases are held");
    let future = -given_back.bytes_current;
    Ok(Bytes { runtime: taken.bytes_current - future, future: future - own as i64 })
}

/// Polls a call once: both stores answer at once, so that leads to the action.
fn begun(mut call: Held<'_>) -> anyhow::Result<Held<'_>> {
    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Pending => Ok(call),
        Poll::Ready(ended) => bail!("a call ended: {ended:?}"),
    }
}

/// The leases as their actions see them.
struct Leases(Mutex<Vec<Lease>>);

#[idempotent(name = "bench.hold", key = key, runtime = idem)]
async fn hold(idem: &Idem, key: &str, leases: &Leases) -> Result<u64, Error> {
    leases.0.lock().unwrap_or_else(PoisonError::into_inner).extend(lease());
    pending::<()>().await;
    Ok(key.len() as u64)
}
