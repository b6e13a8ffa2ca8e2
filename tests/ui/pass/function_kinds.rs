#![deny(warnings)]

use idem_runtime::{Error, idempotent};

/// # Safety
/// `order` points to an order.
async unsafe fn dangerous(order: *const u64) -> Result<u64, Error> {
    Ok(unsafe { *order })
}

#[idempotent(key = order)]
async fn safe(order: u64) -> Result<u64, Error> {
    unsafe { dangerous(&order).await }
}

fn main() {
    drop(safe(1));
}
