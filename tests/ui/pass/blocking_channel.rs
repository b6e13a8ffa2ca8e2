#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<u64>(1);
    drop(sender);
    let _ = receiver.recv().await;
    let (sender, receiver) = std::sync::mpsc::channel::<u64>();
    drop(sender);
    let _ = receiver.try_recv();
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
