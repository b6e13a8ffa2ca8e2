#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order, lease = "1m", on_lost = cancel)]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
