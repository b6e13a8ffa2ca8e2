#![deny(warnings)]

use idem_runtime::{Error, idempotent};

const FEE: u64 = 1;

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order + FEE)
}

/// What another language calls.
extern "C" fn charge_from_outside(order: u64) -> bool {
    tokio::runtime::Runtime::new().is_ok_and(|runtime| runtime.block_on(charge(order)).is_ok())
}

#[test]
fn compiles() {
    // No `Idem` is installed.
    assert!(!charge_from_outside(1));
}
