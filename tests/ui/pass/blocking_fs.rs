#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    let text = tokio::fs::read_to_string("order").await.unwrap_or_default();
    let _ = tokio::task::spawn_blocking(move || std::fs::write("copy", text)).await;
    let _ = tokio::task::spawn_blocking(|| std::fs::read("copy")).await;
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
