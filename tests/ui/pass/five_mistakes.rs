#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(name = "payments.charge", lease = "30s", ttl = "3h", key = "{order}")]
async fn charge(order: u64) -> Result<u64, Error> {
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
