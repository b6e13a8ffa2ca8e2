#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(name = "v1/Payments.charge_by-card", key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(name = "idempotency.charge", key = order)]
async fn not_reserved(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(key = order)]
async fn r#type(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[test]
fn compiles() {
    drop((charge(1), not_reserved(1), r#type(1)));
}
