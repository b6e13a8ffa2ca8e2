#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order, lease = "500ms", ttl = "1d", deadline = "90s", retention = "24h", on_duplicate = wait("5m"))]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
