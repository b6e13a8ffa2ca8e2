#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    async {}.await;
    let handle = tokio::runtime::Handle::current();
    tokio::task::block_in_place(move || handle.block_on(async {}));
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
