#![deny(warnings)]

use idem_runtime::{Error, idempotent};

use tokio::io::AsyncBufReadExt as _;

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    let mut line = String::new();
    let _ = tokio::io::BufReader::new(tokio::io::stdin()).read_line(&mut line).await;
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
