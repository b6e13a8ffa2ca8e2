#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
