#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order, deadline = "5m")]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
