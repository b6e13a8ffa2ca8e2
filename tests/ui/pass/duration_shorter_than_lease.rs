#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order, lease = "30s", deadline = "30s", ttl = "30s")]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
