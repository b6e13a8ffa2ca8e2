#![deny(warnings)]

use idem_runtime::{Error, idempotent};

type Answer<T> = std::result::Result<T, Error>;

#[idempotent(key = order)]
async fn charge(order: u64) -> Answer<u64> {
    Ok(order)
}

#[idempotent(key = order)]
async fn find(order: u64) -> anyhow::Result<Option<u64>> {
    Ok(Some(order))
}

#[idempotent(key = order)]
async fn boxed(order: u64) -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
    Ok(order)
}

#[test]
fn compiles() {
    drop((charge(1), find(1), boxed(1)));
}
