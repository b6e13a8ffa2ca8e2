#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    let _ = tokio::process::Command::new("true").arg("x").status().await;
    let mut command = tokio::process::Command::new("true");
    let _ = command.env_clear().output().await;
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
