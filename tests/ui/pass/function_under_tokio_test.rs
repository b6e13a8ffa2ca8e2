#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = "nightly")]
#[tokio::main]
async fn report() -> Result<(), Error> {
    Ok(())
}

#[test]
fn compiles() {
    let _: fn() -> Result<(), Error> = report;
}
