#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<(), Error> {
    println!("{order}");
    Ok(())
}

#[test]
fn compiles() {
    drop(charge(1));
}
