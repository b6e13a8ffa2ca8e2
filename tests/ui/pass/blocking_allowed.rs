#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order, allow(blocking))]
async fn charge(order: u64) -> Result<u64, Error> {
    std::thread::sleep(std::time::Duration::ZERO);
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
