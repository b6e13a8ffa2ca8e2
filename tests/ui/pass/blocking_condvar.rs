#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    let changed = tokio::sync::Notify::new();
    changed.notify_one();
    changed.notified().await;
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
