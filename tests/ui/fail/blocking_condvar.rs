use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64, signal: &std::sync::Condvar) -> Result<u64, Error> {
    use std::sync::{Arc, Condvar, Mutex};
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    drop(changed.wait(ready.lock().unwrap()));
    let shared = Arc::new(Condvar::new());
    drop(shared.wait_while(ready.lock().unwrap(), |ready| !*ready));
    drop(signal.wait_timeout(ready.lock().unwrap(), std::time::Duration::from_secs(1)));
    drop(Condvar::wait(&shared, ready.lock().unwrap()));
    Ok(order)
}

fn main() {}
