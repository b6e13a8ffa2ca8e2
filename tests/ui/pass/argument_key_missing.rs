#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(name = "payments.charge", key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
