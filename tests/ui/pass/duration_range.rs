#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order, lease = "100ms", ttl = "100ms", deadline = "100ms", retention = "1ms")]
async fn short(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(key = order, lease = "24h", ttl = "3650d", deadline = "3650d", retention = "3650d", on_duplicate = reject)]
async fn long(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[test]
fn compiles() {
    drop((short(1), long(1)));
}
