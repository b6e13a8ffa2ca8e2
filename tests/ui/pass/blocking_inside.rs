#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    let nap = || tokio::time::sleep(std::time::Duration::ZERO);
    nap().await;
    tokio::select! {
        biased;
        _ = nap(), if order > 0 => {}
        _ = tokio::task::spawn_blocking(|| std::fs::read("f")) => {}
        else => {}
    }
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
