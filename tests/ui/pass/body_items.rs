//! What a body declares means nothing outside of it: not in the return type either.
#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[derive(serde::Serialize, serde::Deserialize)]
struct Receipt(u64);

#[idempotent(key = order)]
async fn another_result(order: u64) -> Result<u64, Error> {
    use std::io::Result;
    fn read() -> Result<u64> {
        Ok(1)
    }
    Ok(read().unwrap_or(order))
}

#[idempotent(key = order)]
async fn another_receipt(order: u64) -> Result<Receipt, Error> {
    let receipt = self::Receipt(order);
    #[allow(dead_code)]
    struct Receipt;
    Ok(receipt)
}

#[test]
fn compiles() {
    drop((another_result(1), another_receipt(1)));
}
