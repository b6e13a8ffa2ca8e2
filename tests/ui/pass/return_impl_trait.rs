#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn lines(order: u64) -> Result<Vec<u64>, Error> {
    Ok(vec![order])
}

#[test]
fn compiles() {
    drop(lines(1));
}
