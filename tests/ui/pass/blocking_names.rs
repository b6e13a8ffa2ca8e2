#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    use tokio::time::{Duration, sleep};
    sleep(Duration::from_secs(1)).await;
    {
        use tokio::fs;
        let _ = fs::read("order").await;
    }
    // Runs on a thread of its own.
    let thread = std::thread::spawn(|| std::thread::sleep(Duration::from_secs(1)));
    drop(thread);
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
